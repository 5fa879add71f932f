// Finds the app that a command calls APP, by its id or by a unique name.

import type { Sql } from '@carillon/postgres';
import { programName } from '../../ground/host/program-name.ts';
import { decodeId, encodeId } from '../../ground/values/ids.ts';
import { type App, findApp, findAppsByName } from '../../teams/apps/queries.ts';
import { CommandError } from './answer.ts';
import { printable } from './render.ts';

export async function getApp(sql: Sql, text: string): Promise<App> {
  const id = decodeId('app', text);
  const byId = id && (await findApp(sql, id));
  if (byId) return byId;
  const named = await findAppsByName(sql, text);
  const [app, ...others] = named;
  if (!app) {
    throw new CommandError(
      `No app has the id or the name '${printable(text)}'; see them with: ${programName} app list`,
    );
  }
  if (others.length > 0) {
    const ids = named.map((each) => encodeId('app', each.id)).join(', ');
    throw new CommandError(`${named.length} apps are named '${printable(text)}'; name one by its id: ${ids}`);
  }
  return app;
}
