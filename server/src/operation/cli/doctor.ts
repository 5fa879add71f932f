// `doctor`: checks everything that an operator is responsible for, and says what to do. Changes
// nothing. A check that fails to run is a finding and hides no other check.
import { statfs } from 'node:fs/promises';
import { describeUnsafeWay, isDatabaseDown, type Sql } from '@carillon/postgres';
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { readServerMs } from '../../ground/database/clock.ts';
import { describeDatabaseError } from '../../ground/database/describe-database-error.ts';
import { findClockStep, findIgnoredForwarder, isInstanceMade } from '../../ground/database/instance.ts';
import { missingMigrations } from '../../ground/database/migrations.ts';
import { findPause } from '../../ground/database/restore-guard.ts';
import { clientAddressFinder } from '../../ground/http/client-address.ts';
import { createSeal } from '../../ground/secrets/seal.ts';
import { encodeId, uuidFloorOf } from '../../ground/values/ids.ts';
import { listSpans, partitionedTables } from '../../insight/events/partitions.ts';
import { monthOf, monthsAround } from '../../insight/events/spans.ts';
import { createAppSizes, keysAmong, previewsMin } from '../../people/audience/column-uses.ts';
import { readIndexPlan } from '../../people/audience/follow-use.ts';
import { listFieldsInUse, listFollowingIndexes } from '../../people/audience/index-queries.ts';
import { indexLimits } from '../../people/audience/plan-indexes.ts';
import { countUnreached } from '../../people/devices/reach-queries.ts';
import { slotColumn, slotsOfType } from '../../people/properties/slots.ts';
import { listPartitions, partitionsAround } from '../../sending/delivery/partitions.ts';
import { listCredentials } from '../../teams/apps/credential-queries.ts';
import { createCredentials } from '../../teams/apps/credentials.ts';
import { listUnprovableApps } from '../../teams/apps/identify-queries.ts';
import { listApps } from '../../teams/apps/queries.ts';
import { loadMasterKey } from '../process/master-key.ts';
import { listOpenSecretFiles } from '../process/secret-files.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import type { Answer } from './answer.ts';
import { command } from './command.ts';
import { withAnySchema } from './context.ts';
import {
  type Finding,
  judgeClock,
  judgeCluster,
  judgeConnections,
  judgeCredentials,
  judgeDisk,
  judgeFiles,
  judgeForwarding,
  judgeIdentity,
  judgePartitions,
  judgePause,
  judgeProofs,
  judgePublicUrl,
  judgeReach,
  judgeRole,
  judgeSchema,
  judgeSettings,
  judgeSlots,
  judgeStrangers,
  judgeWay,
} from './doctor-findings.ts';
import {
  countConnections,
  countDevicesOfApp,
  isIndexBeingBuilt,
  isSuperuser,
  listAppsWithoutSecret,
  listAssignedKeys,
  listPrepared,
  readDataDirectory,
  readSettings,
  readTransactionFacts,
} from './doctor-queries.ts';
import { reachHosts } from './doctor-reach.ts';
import { printable, table } from './render.ts';

export const commands = [
  command({
    form: 'doctor',
    help: 'look at database, clock, credentials, outbound reach, disk, partitions, slots, devices, users and cluster; say what to do',
    input: z.strictObject({}),
    run: () => examine(loadCommandConfig()),
  }),
];

/** Milliseconds that one statement of the doctor may take, because a person waits. */
const statementMsMax = 20_000;

async function examine(config: Config): Promise<Answer> {
  const findings: Finding[] = [
    judgePublicUrl(config.publicUrl),
    judgeWay(config.databaseUrl === null ? undefined : describeUnsafeWay(config.databaseUrl)),
    judgeFiles(await listOpenSecretFiles(config)),
  ];
  try {
    await withAnySchema(config, { limitMs: statementMsMax }, async (sql) => {
      for (const finding of await examineDatabase(config, sql)) findings.push(finding);
    });
  } catch (error) {
    if (!isDatabaseDown(error)) throw error;
    const message = `${describeDatabaseError(error, config)}.`;
    findings.push({ check: 'database', verdict: 'fail', message });
  }
  return present(findings);
}

async function examineDatabase(config: Config, sql: Sql): Promise<Finding[]> {
  const findings: Finding[] = [];
  const look = async (check: string, work: () => Promise<Finding>): Promise<Finding> => {
    const finding = await work().catch((error: unknown): Finding => {
      if (isDatabaseDown(error)) throw error;
      const why = error instanceof Error ? error.message : String(error);
      return { check, verdict: 'fail', message: `This cannot be checked: ${why}` };
    });
    findings.push(finding);
    return finding;
  };
  await look('database', async () => judgeSettings(await readSettings(sql), config.allowUnsafePostgres));
  await look('role', async () => judgeRole(await isSuperuser(sql)));
  await look('connections', async () => judgeConnections(await countConnections(sql)));
  await look('clock', () => checkClock(sql));
  await look('disk', () => checkDisk(config, sql));
  await look('cluster', async () =>
    judgeCluster({ ...(await readTransactionFacts(sql)), prepared: await listPrepared(sql) }),
  );
  const schema = await look('schema', async () => judgeSchema(await missingMigrations(sql)));
  // The checks below read tables that may be missing from an old schema.
  if (schema.verdict === 'fail') return findings;
  await look('partitions', () => checkPartitions(sql));
  await look('pause', async () => judgePause(await findPause(sql)));
  await look('slots', () => checkSlots(sql));
  await look('devices', () => checkStrangers(sql));
  await look('identity', async () => {
    const apps = await listAppsWithoutSecret(sql);
    return judgeIdentity(apps.map(({ name, users }) => ({ name: printable(name), users })));
  });
  await look('identity proofs', async () => judgeProofs((await listUnprovableApps(sql)).map(printable)));
  await look('proxies', () => checkForwarding(config, sql));
  await look('credentials', () => checkCredentials(config, sql));
  await look('outbound', async () => judgeReach(await reachHosts(config, sql)));
  return findings;
}

async function checkClock(sql: Sql): Promise<Finding> {
  const askedAt = Date.now();
  const serverMs = await readServerMs(sql);
  // The server read its clock at some moment between both readings of ours; the middle is the best
  // estimate.
  const aheadMs = (askedAt + Date.now()) / 2 - serverMs;
  return judgeClock(aheadMs, await findClockStep(sql));
}

async function checkDisk({ databaseUrl, dataDir }: Config, sql: Sql): Promise<Finding> {
  if (databaseUrl !== null) {
    return { check: 'disk', verdict: 'ok', message: "The database's disk is its server's: watch it there." };
  }
  const directory = (await readDataDirectory(sql)) ?? dataDir;
  const { bavail, blocks, bsize } = await statfs(directory);
  return judgeDisk({ free: bavail * bsize, size: blocks * bsize, directory });
}

async function checkPartitions(sql: Sql): Promise<Finding> {
  const nowMs = await readServerMs(sql);
  const months = monthsAround(nowMs, null).filter(({ to }) => to.getTime() > nowMs);
  const existing = await listPartitions(sql);
  const monthly = await Promise.all(partitionedTables.map((table) => listSpans(sql, table)));
  return judgePartitions({
    weeks: partitionsAround(nowMs).map(({ name }) => name),
    months: partitionedTables.flatMap((table) => months.map(({ name }) => `${table}_${name}`)),
    existing: new Set([
      ...existing.map(({ name }) => name),
      ...partitionedTables.flatMap((table, i) =>
        (monthly[i] ?? []).map(({ from }) => `${table}_${monthOf(from.getTime()).name}`),
      ),
    ]),
  });
}

async function checkSlots(sql: Sql): Promise<Finding> {
  const keys = await listAssignedKeys(sql);
  const indexes = await listFollowingIndexes(sql, 'audience_by_');
  const plan = await readIndexPlan({
    sql,
    sizes: createAppSizes({ sql, clock: { steadyMs: () => performance.now() } }),
  });
  const used = new Set(keysAmong(await listFieldsInUse(sql, previewsMin)).map(({ appId, key }) => `${appId} ${key}`));
  const nameOf = ({ appId, key }: (typeof keys)[number]): string => `${key} of ${encodeId('app', appId)}`;
  const isIndexed = new Set(indexes.filter(({ isValid }) => isValid).map(({ name }) => name));
  const typeOf = ({ appId, type }: (typeof keys)[number]): string => `${type} of ${encodeId('app', appId)}`;
  const taken = new Map<string, number>();
  for (const key of keys) {
    if ((key.slot ?? key.moveSlot) !== null) taken.set(typeOf(key), (taken.get(typeOf(key)) ?? 0) + 1);
  }
  const isFull = (key: (typeof keys)[number]): boolean => (taken.get(typeOf(key)) ?? 0) >= slotsOfType[key.type].count;
  const wanting = keys.filter(
    (one) => one.slot === null && one.movePhase === null && used.has(`${one.appId} ${one.key}`),
  );
  return judgeSlots({
    inSlots: keys.filter(({ slot }) => slot !== null).length,
    beyond: keys.filter(({ slot }) => slot === null).length,
    moving: keys.filter(({ movePhase }) => movePhase !== null).length,
    stuck: keys.filter(({ isStuck }) => isStuck === true).map(nameOf),
    wanting: wanting.filter((one) => !isFull(one)).map(nameOf),
    lacking: wanting.filter(isFull).map(nameOf),
    full: [...new Set(keys.filter(isFull).map(typeOf))],
    indexes,
    isBuilding: await isIndexBeingBuilt(sql),
    indexesMax: indexLimits.indexesMax,
    without: plan.without.map(({ appId, field, reason }) => ({ app_id: encodeId('app', appId), field, reason })),
    assignment: keys.map(({ appId, key, type, slot, movePhase }) => ({
      app_id: encodeId('app', appId),
      key,
      type,
      slot,
      indexed: slot !== null && isIndexed.has(`audience_by_${slotColumn(type, slot)}`),
      move: movePhase,
    })),
  });
}

const weekMs = 7 * 24 * 3_600_000;

async function checkStrangers(sql: Sql): Promise<Finding> {
  const nowMs = await readServerMs(sql);
  const counted = await countUnreached(sql, uuidFloorOf(new Date(nowMs - weekMs)));
  const facts = [];
  for (const { appId, unreached, old } of counted) {
    facts.push({ app_id: encodeId('app', appId), unreached, old, devices: await countDevicesOfApp(sql, appId) });
  }
  return judgeStrangers(facts);
}

async function checkForwarding({ trustedProxies }: Config, sql: Sql): Promise<Finding> {
  const ignored = await findIgnoredForwarder(sql);
  const find = clientAddressFinder(trustedProxies);
  const request = { socket: { remoteAddress: ignored?.peer }, headers: { 'x-forwarded-for': '' } };
  return judgeForwarding(ignored, !find(request).isForwardingIgnored);
}

async function checkCredentials(config: Config, sql: Sql): Promise<Finding> {
  const apps = await listApps(sql);
  const records = await Promise.all(apps.map(async (app) => ({ app, records: await listCredentials(sql, app.id) })));
  if (records.every((each) => each.records.length === 0)) return judgeCredentials([]);
  const keys = await loadMasterKey(config, await isInstanceMade(sql));
  const credentials = createCredentials({ sql, seal: createSeal(keys.key, keys.previous) });
  const facts = [];
  for (const { app, records: ofApp } of records) {
    const opened = await credentials.open(app.id);
    for (const { id, channel, state, replacedAt } of ofApp) {
      const former = replacedAt === null ? '' : 'a former ';
      const name = `${former}${channel} of ${printable(app.name)}`;
      facts.push({ name, canBeOpened: opened.get(id)?.secret != null, state });
    }
  }
  return judgeCredentials(facts);
}

function present(findings: readonly Finding[]): Answer {
  const failed = findings.filter(({ verdict }) => verdict === 'fail').map(({ check }) => check);
  const hasWarning = findings.some(({ verdict }) => verdict === 'warn');
  const verdict = failed.length > 0 ? 'fail' : hasWarning ? 'warn' : 'ok';
  const rows = findings.map((finding) => [finding.check, finding.verdict, finding.message]);
  return {
    document: { verdict, checks: findings },
    text: table(['CHECK', 'VERDICT', 'WHAT TO DO'], rows),
    ...(failed.length > 0 && { problem: `Not in order: ${failed.join(', ')}` }),
  };
}
