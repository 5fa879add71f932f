// The rows of an app that `export` writes, in the order of a key, so that an interrupted export can
// continue after its last row. The column names are those that `import` reads.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { decodeId, encodeId, type Uuid } from '../../ground/values/ids.ts';
import { presentFacts } from '../../people/devices/list-devices.ts';
import { listWholeDevices } from '../../people/devices/listed-queries.ts';
import { type Property, presentProperties, propertiesPerAppMax } from '../../people/properties/property.ts';
import { listProperties } from '../../people/properties/queries.ts';
import { listUsers } from '../../people/users/queries.ts';
import { createAnswerForms } from '../../sending/delivery/answer-forms.ts';
import { allDeliveries, listMessageDeliveries, presentDeliveries } from '../../sending/delivery/list-timeline.ts';
import { findBatchOfDevice } from '../../sending/delivery/timeline-queries.ts';
import { findMessageCounts, listMessageIds } from '../../sending/messages/queries.ts';
import { listCredentials } from '../../teams/apps/credential-queries.ts';
import { CommandError } from './answer.ts';

export const tableNames = ['devices', 'users', 'deliveries'] as const;
export type TableName = (typeof tableNames)[number];

export type Row = Readonly<Record<string, unknown>>;

export interface Table {
  /**
   * The columns that identify a row. Rows are written in their order, and they come first in each
   * row.
   */
  readonly key: readonly string[];
  /**
   * The columns of a CSV. NDJSON has all fields of a row. `properties.KEY:TYPE` is a value of
   * `properties`.
   */
  readonly columns: readonly string[];
  /**
   * Reads all rows, or the rows after the row with the key `after`. Throws a `CommandError` for a
   * key that cannot be a key of this table.
   */
  pages(after: readonly string[] | null): AsyncGenerator<Row[]>;
}

interface TableDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly appId: Uuid;
  /** For deliveries: only those of this message. Null: those of all messages. */
  readonly messageId: Uuid | null;
}

const rowsAtOnce = 1_000;
const namesOf = (words: string): string[] => words.split(' ');
const columnsOf = {
  devices: namesOf(
    'id platform token vapid_public_key locale timezone app_version sdk os os_version model environment status status_reason external_id created_at last_seen_at',
  ),
  users: namesOf('external_id id first_name country language timezone created_at updated_at'),
  deliveries: namesOf(
    'message_id device_id external_id platform channel status error_code attempts queued_at sent_at failed_at displayed_at clicked_at dismissed_at action provider_message_id',
  ),
};

export async function openTable(name: TableName, deps: TableDeps): Promise<Table> {
  if (name === 'deliveries') return deliveriesTable(deps);
  const catalog = await listProperties(deps.sql, deps.appId, null, propertiesPerAppMax);
  return name === 'devices' ? devicesTable(deps, catalog) : usersTable(deps, catalog);
}

const propertyColumns = (catalog: readonly Property[]): string[] =>
  catalog.map(({ key, type }) => `properties.${key}:${type}`);
const byNumber = (catalog: readonly Property[]): Map<number, Property> => new Map(catalog.map((one) => [one.id, one]));

function devicesTable({ sql, appId }: TableDeps, catalog: readonly Property[]): Table {
  return {
    key: ['id'],
    columns: [...columnsOf.devices, ...propertyColumns(catalog)],
    async *pages(after) {
      const credentials = await listCredentials(sql, appId);
      const keys = new Map(credentials.map((each) => [each.id, each.public['publicKey'] ?? null]));
      const read = (afterId: Uuid | null) => listWholeDevices(sql, appId, afterId, rowsAtOnce);
      for await (const devices of inPages(after && readId('dev', after[0]), read, ({ id }) => id)) {
        yield devices.map((device) => ({
          id: encodeId('dev', device.id),
          platform: device.platform,
          token: device.token,
          vapid_public_key: device.platform === 'web' ? (keys.get(device.credentialId ?? 0) ?? null) : null,
          ...presentFacts(device),
          environment: device.environment,
          status: device.status,
          status_reason: device.statusReason,
          external_id: device.externalId,
          created_at: device.createdAt,
          last_seen_at: device.lastSeenAt,
          properties: presentProperties(device.properties, byNumber(catalog)),
        }));
      }
    },
  };
}

function usersTable({ sql, appId }: TableDeps, catalog: readonly Property[]): Table {
  return {
    key: ['external_id'],
    columns: [...columnsOf.users, ...propertyColumns(catalog)],
    async *pages(after) {
      const read = (afterId: string) => listUsers(sql, appId, afterId, rowsAtOnce);
      for await (const users of inPages(after?.[0] ?? '', read, ({ externalId }) => externalId)) {
        yield users.map((user) => ({
          external_id: user.externalId,
          id: encodeId('usr', user.id),
          first_name: user.firstName,
          country: user.country,
          language: user.language,
          timezone: user.timezone,
          created_at: user.createdAt,
          updated_at: user.updatedAt,
          properties: presentProperties(user.properties, byNumber(catalog)),
        }));
      }
    },
  };
}

function deliveriesTable({ sql, clock, appId, messageId: onlyId }: TableDeps): Table {
  const deps = { sql, clock, forms: createAnswerForms({ sql }) };
  async function* ofMessage(messageId: Uuid, afterDevice: Uuid | null): AsyncGenerator<Row[]> {
    const batchId = afterDevice && (await findBatchOfDevice(sql, appId, messageId, afterDevice));
    if (afterDevice !== null && !batchId) throw cannotGoOn('does not exist any more');
    const first = afterDevice && batchId ? { batchId, deviceId: afterDevice } : null;
    const read = async (after: typeof first) =>
      (await listMessageDeliveries(deps, messageId, allDeliveries, after, rowsAtOnce)).placed;
    for await (const placed of inPages(first, read, ({ row: { batchId, deviceId } }) => ({ batchId, deviceId }))) {
      const shown = await presentDeliveries(deps, appId, placed);
      yield shown.map((delivery) => ({ message_id: encodeId('msg', messageId), ...delivery }));
    }
  }
  return {
    key: ['message_id', 'device_id'],
    columns: columnsOf.deliveries,
    async *pages(after) {
      const from = after && { messageId: readId('msg', after[0]), deviceId: readId('dev', after[1]) };
      if (onlyId !== null) {
        if (!(await findMessageCounts(sql, appId, onlyId)))
          throw new CommandError('There is no such message in this app.');
        if (from && from.messageId !== onlyId) throw cannotGoOn('is of another message');
        yield* ofMessage(onlyId, from?.deviceId ?? null);
        return;
      }
      let fromId = from?.messageId ?? null;
      for (;;) {
        const ids = await listMessageIds(sql, appId, fromId, rowsAtOnce + 1);
        for (const id of ids.slice(0, rowsAtOnce)) {
          yield* ofMessage(id, id === from?.messageId ? from.deviceId : null);
        }
        const next = ids[rowsAtOnce];
        if (next === undefined) return;
        fromId = next;
      }
    },
  };
}

function readId(prefix: 'dev' | 'msg', text: string | undefined): Uuid {
  const id = text === undefined ? undefined : decodeId(prefix, text);
  if (id === undefined) throw cannotGoOn(`has no id ${prefix}_…`);
  return id;
}

const cannotGoOn = (why: string): CommandError =>
  new CommandError(`The last row of the interrupted file ${why}: delete the .part file, and export again.`);

/** Reads page after page, each after the last row of the one before. */
async function* inPages<Found, After>(
  first: After,
  read: (after: After) => Promise<readonly Found[]>,
  placeOf: (last: Found) => After,
): AsyncGenerator<readonly Found[]> {
  for (let after = first; ; ) {
    const rows = await read(after);
    yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsAtOnce) return;
    after = placeOf(last);
  }
}
