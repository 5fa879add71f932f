// All data about one person as one JSON document. The text is made while it is read, so that no
// person's history has to fit into memory.
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import { presentProperties } from '../../people/properties/property.ts';
import { findUserWithDevices } from '../../people/users/find-user.ts';
import { attributionsOf, deliveriesOf, devicesOf, eventsOf, type RecordDeps } from './person-record.ts';

export interface Person {
  readonly appId: Uuid;
  readonly externalId: string;
  readonly userId: Uuid;
}

/** Runs each read of a page, for example when its turn has come. */
export type EachRead = <Result>(read: () => Promise<Result>) => Promise<Result>;

const atOnce: EachRead = (read) => read();

/**
 * Yields the text of the document, piece by piece: a piece has at most one page of rows. Each item
 * of a list stands on its own line. A caller who wants no more ends the generator, and nothing is
 * read after that.
 */
export async function* writePerson(
  deps: RecordDeps,
  { appId, externalId, userId }: Person,
  eachRead: EachRead = atOnce,
): AsyncGenerator<string> {
  const facts = {
    exported_at: deps.clock.date(),
    app_id: encodeId('app', appId),
    external_id: externalId,
    user_id: encodeId('usr', userId),
    profile: await eachRead(() => readProfile(deps, appId, externalId)),
  };
  const members = Object.entries(facts).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  yield `{\n${members.join(',\n')}`;
  const deviceIds: Uuid[] = [];
  yield* writeList('devices', devicesOf(deps, appId, externalId, deviceIds), eachRead);
  // Rows of the user come first, then rows of the user's devices from the time when they had no
  // user.
  const subjects = [userId, ...deviceIds];
  yield* writeList('events', eventsOf(deps, appId, subjects), eachRead);
  yield* writeList('deliveries', deliveriesOf(deps, appId, subjects), eachRead);
  yield* writeList('attributions', attributionsOf(deps, appId, userId), eachRead);
  yield '\n}\n';
}

async function* writeList(
  name: string,
  pages: AsyncGenerator<readonly object[]>,
  eachRead: EachRead,
): AsyncGenerator<string> {
  yield `,\n${JSON.stringify(name)}: [`;
  let items = 0;
  for (;;) {
    const { done, value: page } = await eachRead(() => pages.next());
    if (done) break;
    yield page.map((item) => `${items++ === 0 ? '' : ','}\n  ${JSON.stringify(item)}`).join('');
  }
  yield items === 0 ? ']' : '\n]';
}

/** Returns null for a person who has events and no profile. */
async function readProfile({ sql }: RecordDeps, appId: Uuid, externalId: string): Promise<object | null> {
  const found = await findUserWithDevices(sql, appId, externalId);
  if (!found) return null;
  const { user, catalog } = found;
  return {
    first_name: user.firstName,
    country: user.country,
    language: user.language,
    timezone: user.timezone,
    properties: presentProperties(user.properties, catalog),
    created_at: user.createdAt,
    updated_at: user.updatedAt,
  };
}
