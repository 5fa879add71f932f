// `export user`: all that is held of one person, as one JSON document that is written while it is read.
import type { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { encodeId, type Uuid } from '../platform/ids.ts';
import { presentProperties } from '../properties/property.ts';
import { findUserWithDevices } from '../users/find-user.ts';
import { findPersonId } from '../users/queries.ts';
import { printable, withJson } from './answer.ts';
import { CommandError } from './command-error.ts';
import { type CommandContext, withDatabase } from './context.ts';
import { getApp } from './find-app.ts';
import { untilReaderIsGone, writeJsonObject } from './output-stream.ts';
import { deliveriesOf, devicesOf, eventsOf } from './person-record.ts';

export function addExportCommands(program: Command): void {
  const exporting = program.command('export').description('write what is held, as it is read');
  withJson(exporting.command('user <APP> <EXTERNAL_ID>'))
    .description('all that is held of one user, as one JSON document')
    .action((app: string, externalId: string) => untilReaderIsGone(() => exportUser(app, externalId)));
}

async function exportUser(name: string, externalId: string): Promise<void> {
  await withDatabase(loadConfig(), async (context) => {
    const { sql, clock } = context;
    const app = await getApp(sql, name);
    const userId = await findPersonId(sql, app.id, externalId);
    if (userId === undefined) throw new CommandError(`There is no user '${printable(externalId)}' in this app.`);
    const document = writeJsonObject(process.stdout);
    await document.member('exported_at', clock.date());
    await document.member('app_id', encodeId('app', app.id));
    await document.member('external_id', externalId);
    await document.member('user_id', encodeId('usr', userId));
    await document.member('profile', await profileOf(context, app.id, externalId));
    const deviceIds: Uuid[] = [];
    await document.list('devices', devicesOf(context, app.id, externalId, deviceIds));
    // What names the user comes first, then what a device did and was sent while it was nobody's.
    const subjects = [userId, ...deviceIds];
    await document.list('events', eventsOf(context, app.id, subjects));
    await document.list('deliveries', deliveriesOf(context, app.id, subjects));
    await document.end();
  });
}

/** Null: only events have named them. */
async function profileOf({ sql }: CommandContext, appId: Uuid, externalId: string): Promise<object | null> {
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
