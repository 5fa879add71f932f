// the master key changes while messages are sent, and the command that seals every secret
// again is killed on its way. Nothing may fail because of it. A million seals must have a million
// nonces.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { runCommand } from '../../../rig/src/command.ts';
import { armedWith, listFired } from '../../../rig/src/failpoints.ts';
import { createRandom } from '../../../rig/src/random.ts';
import { createClock } from '../../../server/src/ground/database/clock.ts';
import { noExceptions } from '../../../server/src/ground/outbound/address-guard.ts';
import { createSeal, parseMasterKey } from '../../../server/src/ground/secrets/seal.ts';
import { createWebhook } from '../../../server/src/sending/webhooks/manage-webhooks.ts';
import { createApp } from '../../../server/src/teams/apps/create-app.ts';
import { saveCredential } from '../../../server/src/teams/apps/credentials.ts';
import { rotateIdentifySecret } from '../../../server/src/teams/apps/identify-secrets.ts';
import { serviceActor } from '../../../server/src/teams/audit/actor.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';
import { Stage } from '../stage.ts';

const place = { table: 'credentials', column: 'secret', rowId: '1', appId: 'a' };

function countRepeatedNonces(seals: number): number {
  const seal = createSeal(randomBytes(32));
  const nonces = new Set<string>();
  for (let i = 0; i < seals; i++) nonces.add(seal.seal('x', place).slice(seal.prefix.length, seal.prefix.length + 16));
  return seals - nonces.size;
}

/** Makes apps that send nothing, each with one secret of every kind. */
async function fill(stage: Stage, masterKey: Buffer, apps: number): Promise<void> {
  const { sql } = stage.database;
  const deps = { sql, clock: await createClock(sql), by: serviceActor('proof'), seal: createSeal(masterKey) };
  const rules = { exceptions: noExceptions, ownHosts: [] };
  const endpoint = 'https://hooks.shop.example/push';
  for (let i = 0; i < apps; i++) {
    const { id: appId } = await createApp(deps, { name: `Other ${i}`, plan: 'free' });
    await saveCredential(deps, { appId, channel: 'apns', public: {}, secret: 'p8' });
    await rotateIdentifySecret(deps, appId);
    await createWebhook(deps, rules, { appId, endpoint, events: [] });
  }
}

/** Counts all sealed records, and the records that do not begin with a key's prefix. */
async function countUnder(stage: Stage, prefix: string): Promise<{ all: number; others: number }> {
  const [row] = await stage.database.sql<{ all: number; others: number }[]>`
    SELECT count(*)::int AS all, count(*) FILTER (WHERE NOT starts_with(record, ${prefix}))::int AS others FROM (
      SELECT unnest(receipt_keys) AS record FROM instance UNION ALL SELECT secret FROM credentials
      UNION ALL SELECT identify_secret FROM apps UNION ALL SELECT identify_secret_next FROM apps
      UNION ALL SELECT secret FROM webhooks UNION ALL SELECT pending_secret FROM webhooks) records
    WHERE record IS NOT NULL`;
  return row ?? { all: 0, others: 0 };
}

async function run({ isQuick, seed, report, workbench }: ProofOptions): Promise<void> {
  const seals = isQuick ? 20_000 : 1_000_000;
  const repeated = countRepeatedNonces(seals);
  report.claim(
    'no nonce repeats',
    `${seals.toLocaleString('en')} seals`,
    repeated === 0 ? [] : [`${repeated} nonces repeated`],
  );

  const [apps, kills] = isQuick ? [10, 2] : [200, 20];
  const random = createRandom(seed);
  const stage = await Stage.set({ workbench, purpose: 'sealing', devices: 60, seed });
  const former = parseMasterKey(stage.database.environment['MASTER_KEY'] ?? '', 'MASTER_KEY');
  const current = randomBytes(32);
  await fill(stage, former, apps);
  const newKey = { MASTER_KEY: current.toString('base64') };
  const bothKeys = { ...newKey, MASTER_KEY_PREVIOUS: former.toString('base64') };
  const api = await stage.startApi({ environment: bothKeys });
  const worker = await stage.startWorker({ environment: bothKeys });

  const complaints: string[] = [];
  let sends = 0;
  const send = async (to: { readonly url: string }): Promise<void> => {
    const number = sends++;
    const content = { title: `Message ${number}`, url: 'https://shop.example/' };
    // The accepting process sends to 5 devices, a worker sends to 60.
    const devices = stage.devices.slice(0, number % 2 === 0 ? 5 : 60).map(({ id }) => id);
    const answer = await stage.send(to, `r45-${number}`, { audience: { device_ids: devices }, content });
    const sent = (answer?.body['report'] as { sent?: number } | undefined)?.sent;
    if (sent !== devices.length) complaints.push(`message ${number}: ${JSON.stringify(answer)}`);
  };
  let isRotating = true;
  const sending = (async () => {
    while (isRotating) await send(api);
  })();

  const prefix = createSeal(current).prefix;
  const before = await countUnder(stage, prefix);
  const killed: string[] = [];
  const environment = { ...stage.database.environment, ...bothKeys };
  for (let kill = 0; kill < kills; kill++) {
    const { others } = await countUnder(stage, prefix);
    // At a random place in the remaining records, but never at their end.
    const hit = 1 + random.below(Math.max(1, Math.floor(others / (kills - kill + 1))));
    const directory = join(stage.directory, `reseal-${kill}`);
    const armed = await armedWith({ directory, rules: [{ name: 'reseal.mid', hit, action: 'kill' }] });
    const told = { ...environment, ...armed.environment, NODE_OPTIONS: armed.nodeOptions.join(' ') };
    await runCommand(told, stage.directory, 'seal', 'rotate').catch(() => undefined);
    if ((await listFired({ directory })).length !== 1) killed.push(`kill ${kill} did not take place`);
  }
  const halfway = await countUnder(stage, prefix);
  if (halfway.others === 0 || halfway.others === before.others)
    killed.push(`${halfway.others} of ${halfway.all} were left`);
  const answer = await runCommand<{ unreadable: string[] }>(environment, stage.directory, 'seal', 'rotate');
  const after = await countUnder(stage, prefix);
  if (after.others > 0 || answer.unreadable.length > 0)
    killed.push(`${after.others} left, ${answer.unreadable.join()}`);
  report.claim(
    'killed on its way it goes on where it was, and leaves nothing under the former key',
    `${kills} kills, ${after.all} secrets`,
    killed,
  );

  isRotating = false;
  await sending;
  report.claim('meanwhile every delivery succeeds', `${sends} messages`, [...complaints]);

  complaints.length = 0;
  await Promise.all([api.node.terminate(), worker.terminate()]);
  const renewed = await stage.startApi({ environment: newKey });
  await stage.startWorker({ environment: newKey });
  for (let i = 0; i < 4; i++) await send(renewed);
  await stage.startApi({ environment: { MASTER_KEY: former.toString('base64') } }).then(
    () => complaints.push('a service with the former key alone starts'),
    (error: unknown) => {
      if (!/neither MASTER_KEY nor MASTER_KEY_PREVIOUS/.test(String(error))) complaints.push(String(error));
    },
  );
  report.claim(
    'afterwards the new key alone opens everything, and the former one alone does not start',
    '4 messages',
    complaints,
  );
}

export const requirement: Requirement = {
  number: 'R-45',
  title: 'Sealed secrets, and a new master key',
  leftOut: 'expects the whole report of each send in its answer, which a busy machine gives later',
  run,
};
