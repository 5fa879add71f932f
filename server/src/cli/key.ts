// `key …`: API keys. The text of a new key is printed once, by the command that makes it, and
// stored nowhere.

import { type Command, Option } from 'commander';
import type { KeyScope } from '../apps/caller.ts';
import { findNameIssue } from '../apps/create-app.ts';
import { findKey, type KeyRecord, listKeys } from '../apps/key-queries.ts';
import {
  createKey,
  isEnded,
  type NewKey,
  overlapHoursDefault,
  overlapHoursMax,
  revokeKey,
  rotateKey,
} from '../apps/manage-keys.ts';
import { presentKey } from '../apps/present-key.ts';
import type { Clock } from '../database/clock.ts';
import type { Sql } from '../database/db.ts';
import { decodeId, encodeId, type Uuid } from '../ground/ids.ts';
import { programName } from '../ground/program-name.ts';
import { invalid } from '../http/api-error.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { type Answer, type AnswerOptions, answer, printable, table, withJson } from './answer.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './context.ts';
import { getApp } from './find-app.ts';
import { wholeNumber } from './whole-number.ts';

export function addKeyCommands(program: Command): void {
  const key = program.command('key').description('API keys');
  withJson(key.command('create <APP>'))
    .description('make a key')
    .addOption(new Option('--scope <SCOPE>', 'what it may do').choices(['server', 'client']).makeOptionMandatory())
    .option('--name <NAME>', 'for people')
    .action((app: string, options: AnswerOptions & { scope: KeyScope; name?: string }) =>
      answer(options, () => create(app, options.scope, options.name)),
    );
  withJson(key.command('list <APP>'))
    .description('list the keys of an app')
    .action((app: string, options: AnswerOptions) => answer(options, () => list(app)));
  withJson(key.command('rotate <KEY>'))
    .description('make a new key in place of one, which ends later')
    .option(
      '--overlap <HOURS>',
      `how long the old one goes on, 0 to ${overlapHoursMax}`,
      wholeNumber('--overlap', 0, overlapHoursMax),
      overlapHoursDefault,
    )
    .action((id: string, options: AnswerOptions & { overlap: number }) =>
      answer(options, () => rotate(id, options.overlap)),
    );
  withJson(key.command('revoke <KEY>'))
    .description('end a key now')
    .action((id: string, options: AnswerOptions) => answer(options, () => revoke(id)));
}

async function create(appName: string, scope: KeyScope, name: string | undefined): Promise<Answer> {
  const keyName = name ?? (scope === 'server' ? 'Server key' : 'Client key');
  const issue = findNameIssue(keyName);
  if (issue) throw invalid([issue]);
  return withDatabase(loadCommandConfig(), async (context) => {
    const app = await getApp(context.sql, appName);
    const made = await createKey(context, { appId: app.id, scope, name: keyName });
    return presentNew(await getKey(context.sql, made.id), made);
  });
}

async function rotate(text: string, overlapHours: number): Promise<Answer> {
  const id = readKeyId(text);
  return withDatabase(loadCommandConfig(), async (context) => {
    const { sql, clock } = context;
    await getKey(sql, id);
    const { key, former } = await rotateKey(context, { id, overlapHours });
    const { document, text: shown } = presentNew(await getKey(sql, key.id), key);
    const endsAt = former.expiresAt?.toISOString() ?? '';
    return {
      document: { ...document, replaces: presentKey(former) },
      text: `${shown}\n${encodeId('key', former.id)} ${isEnded(former, clock) ? 'has ended' : `ends at ${endsAt}`}.`,
    };
  });
}

async function revoke(text: string): Promise<Answer> {
  const id = readKeyId(text);
  return withDatabase(loadCommandConfig(), async (context) => {
    await getKey(context.sql, id);
    const key = await revokeKey(context, id);
    const at = key.revokedAt?.toISOString() ?? '';
    return { document: presentKey(key), text: `${encodeId('key', key.id)} was revoked at ${at}.` };
  });
}

async function list(appName: string): Promise<Answer> {
  return withDatabase(loadCommandConfig(), async ({ sql, clock }) => {
    const app = await getApp(sql, appName);
    const keys = await listKeys(sql, app.id);
    const rows = keys.map((key) => [
      encodeId('key', key.id),
      key.scope,
      key.name,
      `${key.start}…${key.last4}`,
      stateOf(key, clock),
      key.createdAt.toISOString(),
      key.lastUsedAt?.toISOString() ?? 'never',
    ]);
    const headings = ['ID', 'SCOPE', 'NAME', 'KEY', 'STATE', 'CREATED', 'LAST USED'];
    return {
      document: { keys: keys.map(presentKey) },
      text: keys.length === 0 ? 'The app has no key.' : table(headings, rows),
    };
  });
}

function presentNew(record: KeyRecord, made: NewKey): Answer {
  const { id, scope, name } = record;
  return {
    document: { ...presentKey(record), key: made.text },
    text: `${printable(name)}  ${encodeId('key', id)}  ${scope}\n\n  ${made.text}\n\nThe key is shown this once.`,
  };
}

function stateOf(key: KeyRecord, clock: Clock): string {
  if (key.revokedAt) return `revoked ${key.revokedAt.toISOString()}`;
  if (!key.expiresAt) return 'active';
  return `${isEnded(key, clock) ? 'ended' : 'ends'} ${key.expiresAt.toISOString()}`;
}

// Accepts a key's id only, never the key itself, because a command line stays in the shell's
// history and is seen by `ps`.
function readKeyId(text: string): Uuid {
  const id = decodeId('key', text);
  if (id) return id;
  throw new CommandError(`A key is named by its id, key_…; see them with: ${programName} key list APP`);
}

async function getKey(sql: Sql, id: Uuid): Promise<KeyRecord> {
  const key = await findKey(sql, id);
  if (key) return key;
  throw new CommandError(`There is no key ${encodeId('key', id)}; see them with: ${programName} key list APP`);
}
