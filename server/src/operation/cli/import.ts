// `import`: stores users and devices from a file, in our format or in another service's. At the end
// it reports the result of every line. Rejected lines are listed in a file beside the input, each
// with the reason.
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { presentListed } from '../../console/operations/app-routes.ts';
import { loadTimeZones } from '../../ground/database/load-time-zones.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { CellTypes } from '../../people/imports/cells.ts';
import { type Detected, detectFormat, headBytes } from '../../people/imports/detect.ts';
import { importFile } from '../../people/imports/import-file.ts';
import { chain, type Input, openInput, readHead } from '../../people/imports/input.ts';
import { type CredentialsToBind, createJudge } from '../../people/imports/judge.ts';
import type { ImportProgress } from '../../people/imports/progress.ts';
import { RejectFile } from '../../people/imports/reject-file.ts';
import { propertiesPerAppMax } from '../../people/properties/property.ts';
import { listProperties } from '../../people/properties/queries.ts';
import type { ChannelId } from '../../sending/channels/channel.ts';
import { parseVapidKeys } from '../../sending/channels/webpush/vapid.ts';
import { type CredentialRecord, listCredentials } from '../../teams/apps/credential-queries.ts';
import { addFormerCredential } from '../../teams/apps/credentials.ts';
import type { App } from '../../teams/apps/queries.ts';
import { recordAudit } from '../../teams/audit/record-audit.ts';
import { defaultVapidSubject } from '../process/first-start.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { type Answer, CommandError, note } from './answer.ts';
import { describe } from './app.ts';
import { command } from './command.ts';
import { type CommandContext, withDatabaseOrNew } from './context.ts';
import { endpointRulesOf } from './endpoint-rules.ts';
import { getApp } from './find-app.ts';
import { printable, table } from './render.ts';
import { readVapidPairs, type VapidPair } from './vapid-file.ts';

const noteEvery = 25_000;

export const commands = [
  command({
    form: 'import <APP> <FILE>',
    help: 'users and devices from a CSV or NDJSON file, ours or of another service; - reads standard input',
    input: z.strictObject({ app: z.string(), file: z.string(), vapid_file: z.array(z.string()).default([]) }),
    writes: {
      vapid_file:
        '--vapid-file <FILE>  VAPID keys that browsers in the file subscribed with; may be given several times',
    },
    run: ({ app, file, vapid_file: vapidFiles }) => importInto(app, file, vapidFiles),
  }),
];

async function importInto(appName: string, file: string, vapidFiles: readonly string[]): Promise<Answer> {
  const config = loadCommandConfig();
  const pairs = vapidFiles.flatMap(readVapidPairs);
  const input = await openInput(file);
  try {
    // The format is detected before the database is opened, because a file of an unknown format
    // needs no database.
    const pieces = input.bytes[Symbol.asyncIterator]();
    const head = await readHead(pieces, headBytes);
    const format = detectFormat(head);
    return await withDatabaseOrNew(config, async (context) => {
      const app = await getApp(context.sql, appName);
      const given = await addVapidKeys(context, app.id, pairs);
      return run(context, config, { app, file, format, given, input: { ...input, bytes: chain(head, pieces) } });
    });
  } finally {
    await input.close();
  }
}

interface Run {
  readonly app: App;
  readonly file: string;
  readonly format: Detected;
  readonly given: readonly number[];
  readonly input: Input;
}

async function run(
  { sql, clock, by }: CommandContext,
  config: Config,
  { app, file, format, given, input }: Run,
): Promise<Answer> {
  const credentials = await listCredentials(sql, app.id);
  const catalog = await listProperties(sql, app.id, null, propertiesPerAppMax);
  const types = new CellTypes(new Map(catalog.map(({ key, type }) => [key, type])));
  const judge = createJudge({
    endpointRules: endpointRulesOf(config),
    timeZones: await loadTimeZones(sql),
    credentials: credentialsToBind(credentials, given),
    types,
  });
  const rejects = new RejectFile(`${file === '-' ? 'stdin' : file}.rejected.${format.kind}`, format);
  if (format.ignored.length > 0) note(`Columns that are ignored: ${format.ignored.map(printable).join(', ')}`);
  const audited = { tx: sql, clock, by };
  // The lines are stored in many transactions. The audit log therefore has one entry for the
  // beginning, also if the command fails later, and one for the end.
  const about = { appId: app.id, target: file === '-' ? 'standard input' : basename(file) };
  await recordAudit(audited, { ...about, action: 'import.begin', after: { format: format.name } });
  const startedAt = performance.now();
  let noted = 0;
  const done = await importFile(
    { sql, clock },
    {
      appId: app.id,
      fingerprint: input.fingerprint && fingerprintWith(input.fingerprint, credentials),
      bytes: input.bytes,
      format,
      judge,
      types,
      rejects,
      onProgress: ({ records }) => {
        if (records - noted < noteEvery) return;
        noted = records;
        note(`${records.toLocaleString('en-US')} lines`);
      },
    },
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const { records, rejected, counts } = done;
  const after = {
    lines: records,
    rejected,
    devices_created: counts.devicesCreated,
    devices_updated: counts.devicesUpdated,
    users_created: counts.usersCreated,
    users_updated: counts.usersUpdated,
  };
  await recordAudit(audited, { ...about, action: 'import.end', after });
  return present(app, format, rejects.path, done, seconds);
}

/**
 * Adds the pairs as former credentials, and returns their numbers. Adds nothing if one of the pairs
 * is invalid.
 */
async function addVapidKeys(
  { sql, clock, by, loadSeal }: CommandContext,
  appId: Uuid,
  pairs: readonly VapidPair[],
): Promise<number[]> {
  if (pairs.length === 0) return [];
  const credentials = pairs.map((pair) => {
    const subject = pair.subject ?? defaultVapidSubject;
    const parsed = parseVapidKeys({ ...pair, subject, id: pair.publicKey });
    if ('credential' in parsed) {
      const { publicKey } = parsed.credential;
      return { appId, channel: 'webpush', public: { publicKey, subject }, secret: pair.privateKey };
    }
    const [issue] = parsed.issues;
    throw new CommandError(`--vapid-file: ${issue?.path.join('.')}: ${issue?.message}`);
  });
  const seal = await loadSeal();
  const ids: number[] = [];
  for (const credential of credentials) {
    const isSame = (known: Readonly<Record<string, unknown>>) => known['publicKey'] === credential.public.publicKey;
    ids.push(await addFormerCredential({ sql, clock, by, seal }, credential, isSame));
  }
  return [...new Set(ids)];
}

function credentialsToBind(credentials: readonly CredentialRecord[], given: readonly number[]): CredentialsToBind {
  const current = (channel: ChannelId): number | null =>
    credentials.find((each) => each.channel === channel && each.replacedAt === null)?.id ?? null;
  const [only = null, ...others] = given;
  return {
    ios: current('apns'),
    android: current('fcm'),
    web: new Map(
      credentials.flatMap(({ id, channel, public: { publicKey } }) =>
        channel === 'webpush' && typeof publicKey === 'string' ? [[publicKey, id]] : [],
      ),
    ),
    webOtherwise: others.length === 0 ? only : null,
  };
}

// The credentials are part of the fingerprint, so that rows that were rejected because a key was
// missing are tried again when the key is there.
function fingerprintWith(fingerprint: Buffer, credentials: readonly CredentialRecord[]): Buffer {
  const keys = credentials.map(({ id, channel }) => `${channel} ${id}`);
  return createHash('sha256').update(fingerprint).update(keys.join()).digest();
}

function present(app: App, format: Detected, rejectedFile: string, done: ImportProgress, seconds: number): Answer {
  const { records, counts, rejected, reasons } = done;
  const dropped = Object.entries(done.dropped).sort(([, one], [, other]) => other.values - one.values);
  const valuesDropped = dropped.reduce((sum, [, { values }]) => sum + values, 0);
  const count = (value: number): string => value.toLocaleString('en-US');
  const rows = [
    ['devices', counts.devicesCreated, counts.devicesUpdated, counts.devicesUnchanged],
    ['users', counts.usersCreated, counts.usersUpdated, counts.usersUnchanged],
  ].map((row) => row.map((cell) => (typeof cell === 'number' ? count(cell) : cell)));
  const lines = [
    describe(app),
    '',
    `${count(records)} lines (${format.name}) in ${seconds.toFixed(1)} s.`,
    '',
    table(['', 'NEW', 'CHANGED', 'AS BEFORE'], rows),
  ];
  if (counts.devicesOptedOut > 0)
    lines.push('', `${count(counts.devicesOptedOut)} devices have opted out here and stay so.`);
  if (valuesDropped > 0) {
    const cells = dropped.map(([reason, { values, firstLines }]) => [count(values), reason, firstLines.join(', ')]);
    lines.push('', `${count(valuesDropped)} values were left out, and their lines were taken without them.`);
    lines.push('', table(['LEFT OUT', 'WHY', 'FIRST LINES'], cells));
  }
  const byCount = Object.entries(reasons).sort(([, one], [, other]) => other - one);
  if (rejected > 0) {
    lines.push(
      '',
      table(
        ['REJECTED', 'WHY'],
        byCount.map(([sentence, times]) => [count(times), sentence]),
      ),
    );
  }
  return {
    document: {
      app: presentListed(app),
      format: format.name,
      lines: records,
      devices: {
        created: counts.devicesCreated,
        updated: counts.devicesUpdated,
        unchanged: counts.devicesUnchanged,
        opted_out: counts.devicesOptedOut,
      },
      users: { created: counts.usersCreated, updated: counts.usersUpdated, unchanged: counts.usersUnchanged },
      property_conflicts: counts.propertyConflicts,
      dropped: dropped.map(([reason, { values, firstLines }]) => ({ reason, values, first_lines: firstLines })),
      ignored_columns: format.ignored,
      rejected,
      rejected_file: rejected > 0 ? rejectedFile : null,
      reasons: byCount.map(([reason, times]) => ({ reason, lines: times })),
      seconds: Number(seconds.toFixed(3)),
    },
    text: lines.join('\n'),
    ...(rejected > 0 && { problem: `${count(rejected)} of ${count(records)} lines were rejected: ${rejectedFile}` }),
  };
}
