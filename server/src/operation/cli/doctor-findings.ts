// Judges what the doctor found: each check gets a verdict and one sentence that says what to do.
// Pure.

import type { NotedStep } from '../../ground/database/instance.ts';
import { describePause, type Pause } from '../../ground/database/restore-guard.ts';
import type { OpenFile } from '../../ground/host/file-modes.ts';
import { programName } from '../../ground/host/program-name.ts';
import { openIdentityRisk, warnOfUnprovable } from '../../teams/apps/open-identity.ts';
import { describeOpenFile } from '../process/secret-files.ts';

export type Verdict = 'ok' | 'warn' | 'fail';

export interface Finding {
  readonly check: string;
  readonly verdict: Verdict;
  readonly message: string;
  /** The facts behind the verdict, for `--json`. */
  readonly details?: object;
}

/** Findings of one check, with the facts behind them. */
function about(check: string, facts?: object) {
  const say =
    (verdict: Verdict) =>
    (message: string, details = facts): Finding => ({ check, verdict, ...(details && { details }), message });
  return { ok: say('ok'), warn: say('warn'), fail: say('fail') };
}

/** Judges the settings that decide whether the server keeps what it acknowledged. */
export function judgeSettings(settings: ReadonlyMap<string, string>, allowUnsafe: boolean): Finding {
  const version = Number(settings.get('server_version_num'));
  const say = about('database', Object.fromEntries(settings));
  if (!(version >= 150_000)) return say.fail('PostgreSQL 15 or newer is needed: upgrade the server.');
  const off = ['fsync', 'full_page_writes'].filter((name) => settings.get(name) === 'off');
  if (off.length > 0) {
    const message = `${off.join(' and ')} is off, and a crash of the database can lose acknowledged messages: turn it on.`;
    return say[allowUnsafe ? 'warn' : 'fail'](message);
  }
  if (settings.get('synchronous_commit') === 'off') {
    const message = 'synchronous_commit is off, and a crash can lose the last acknowledged messages: turn it on.';
    return say.warn(message);
  }
  return say.ok(`PostgreSQL ${settings.get('server_version')}, and it keeps what it acknowledges.`);
}

/** Judges the service's role at the database. */
export function judgeRole(isSuperuser: boolean): Finding {
  const say = about('role');
  if (!isSuperuser) return say.ok('The role of the service is no superuser of the database.');
  const message =
    'The service is a superuser of the database, so a fault in it could reach files and other databases of the server: give it a role that owns its database and nothing else (docs/self-hosting.md).';
  return say.warn(message);
}

/**
 * Judges the connection's way to the database. `fault` says what is wrong with it; undefined:
 * nothing is.
 */
export function judgeWay(fault: string | undefined): Finding {
  const say = about('way to the database');
  if (fault !== undefined) return say.warn(fault);
  return say.ok('Nobody on the way to the database can read or change the traffic.');
}

/** Judges files with secrets that other users of this machine can read or write. */
export function judgeFiles(open: readonly OpenFile[]): Finding {
  const say = about('files');
  if (open.length === 0) return say.ok('Files with secrets are readable by their owner alone.');
  return say.warn(`${open.map(describeOpenFile).join('; ')}.`, { open });
}

/**
 * Judges the number of connections in use against the number that the server gives to ordinary
 * users.
 */
export function judgeConnections({ used, most }: { readonly used: number; readonly most: number }): Finding {
  const say = about('connections', { used, most });
  const inUse = `${used} of ${most} connections are in use`;
  if (used >= most * 0.95) return say.fail(`${inUse}: raise max_connections, or run fewer processes.`);
  if (used >= most * 0.8) return say.warn(`${inUse}: raise max_connections before more processes start.`);
  return say.ok(`${inUse}.`);
}

/**
 * Judges how far this machine's clock is ahead of the database's, and reports the last noticed
 * step. Push services refuse signatures with a wrong time.
 */
export function judgeClock(aheadMs: number, step: NotedStep | null): Finding {
  const seconds = Math.abs(aheadMs) / 1000;
  const say = about('clock', { ahead_ms: Math.round(aheadMs) });
  const apart = `This machine's clock is ${seconds.toFixed(1)} s ${aheadMs < 0 ? 'behind' : 'ahead of'} the database's`;
  const stepped = step === null ? '' : ` ${describeStep(step)}`;
  if (seconds < 2) {
    const verdict = step === null || step.clock === 'both' ? 'ok' : 'warn';
    return say[verdict](`${apart}.${stepped}`);
  }
  const verdict = seconds < 60 ? 'warn' : 'fail';
  return say[verdict](`${apart}: let both follow a time server, such as chrony.${stepped}`);
}

function describeStep({ clock, byMs, at }: NotedStep): string {
  const by = `${Math.abs(byMs / 1000).toFixed(1)} s`;
  const when = `at ${at.toISOString()}`;
  if (clock === 'both') return `A host slept for ${by}, or its clock and the database's were set together, ${when}.`;
  const whose = clock === 'database' ? "The database's clock" : 'The clock of a process';
  return `${whose} was set ${byMs < 0 ? 'back' : 'forward'} by ${by} ${when}.`;
}

export function judgePause(pause: Pause | null): Finding {
  const say = about('pause');
  if (pause === null) return say.ok('Nothing is paused.');
  return say.warn(`${describePause(pause)}. They go on with: ${programName} resume`);
}

export function judgeSchema(missing: readonly string[]): Finding {
  const say = about('schema');
  if (missing.length === 0) return say.ok('The schema is up to date.');
  const message = `The schema lacks ${missing.join(', ')}: bring it up to date with: ${programName} migrate`;
  return say.fail(message, { missing });
}

/** The partitions that should exist, in order of time, and the partitions that do exist. */
export interface PartitionFacts {
  /**
   * Partitions of deliveries by week: last week, this week and the weeks ahead. Without this week's
   * partition every flush fails.
   */
  readonly weeks: readonly string[];
  /**
   * Partitions of events by month: this month and the months ahead. Events of a month without a
   * partition go into the default partition and stay there.
   */
  readonly months: readonly string[];
  readonly existing: ReadonlySet<string>;
}

export function judgePartitions({ weeks, months, existing }: PartitionFacts): Finding {
  const lacks = (name: string): boolean => !existing.has(name);
  const missing = [...weeks.slice(1), ...months].filter(lacks);
  const say = about('partitions', { missing });
  if (missing.length === 0) {
    const message = `Partitions are made ${weeks.length - 2} weeks ahead for deliveries, and for months of events.`;
    return say.ok(message);
  }
  const message = `Partitions are missing (${some(missing)}): start a worker, which makes them within the hour and at its start.`;
  return say[weeks.slice(1, 3).some(lacks) ? 'fail' : 'warn'](message);
}

export interface SlotFacts {
  /** The numbers of keys with a slot, of keys without one, and of keys that are moving. */
  readonly inSlots: number;
  readonly beyond: number;
  readonly moving: number;
  /** Keys that have been in one phase of a move for over an hour: `KEY of app_…`. */
  readonly stuck: readonly string[];
  /** Keys that filters use and that a worker moves into a free slot: `KEY of app_…`. */
  readonly wanting: readonly string[];
  /** Keys that filters use and that find no free slot: `KEY of app_…`. */
  readonly lacking: readonly string[];
  /** Types of an app without a free slot: `TYPE of app_…`. */
  readonly full: readonly string[];
  readonly indexes: readonly { readonly name: string; readonly isValid: boolean }[];
  readonly isBuilding: boolean;
  readonly indexesMax: number;
  /** Fields that filters compare and that get no index, each with the reason. */
  readonly without: readonly {
    readonly app_id: string;
    readonly field: string;
    readonly reason: 'few_devices' | 'no_index_left';
  }[];
  readonly assignment: readonly object[];
}

export function judgeSlots(facts: SlotFacts): Finding {
  const {
    inSlots,
    beyond,
    moving,
    stuck,
    wanting,
    lacking,
    full,
    indexes,
    isBuilding,
    indexesMax,
    without,
    assignment,
  } = facts;
  const say = about('slots', {
    in_slots: inSlots,
    beyond,
    moving,
    full,
    indexes,
    indexes_max: indexesMax,
    without_index: without,
    assignment,
  });
  const broken = indexes.filter(({ isValid }) => !isValid);
  if (broken.length > 0 && !isBuilding) {
    const names = broken.map(({ name }) => name).join(', ');
    return say.warn(`Indexes are broken (${names}): start a worker, which builds them again within minutes.`);
  }
  if (stuck.length > 0) {
    return say.warn(
      `Keys have been on their way for over an hour (${some(stuck)}): look for a transaction that does not end.`,
    );
  }
  if (lacking.length > 0) {
    return say.warn(
      `Slots have run out, so filters on some keys are slow (${some(lacking)}): delete keys of the same type that nobody needs.`,
    );
  }
  if (wanting.length > 0) {
    return say.warn(
      `Filters use keys that have no slot yet (${some(wanting)}): a worker moves them in within minutes.`,
    );
  }
  const left = without.flatMap(({ reason, field, app_id: app }) =>
    reason === 'no_index_left' ? [`${field} of ${app}`] : [],
  );
  const besides = [
    ...(full.length === 0 ? [] : [` No slot is free for keys of these types: ${some(full)}.`]),
    ...(left.length === 0 ? [] : [` Filters read all devices for fields without an index: ${some(left)}.`]),
  ].join('');
  const message = `${inSlots} keys stand in slots, ${beyond} beyond them, ${moving} are on their way; ${indexes.length} indexes of at most ${indexesMax} follow use.${besides}`;
  return say.ok(message);
}

export interface ClusterFacts {
  /** The version of Citus; null: one server. */
  readonly citus: string | null;
  readonly preparedMax: number;
  readonly connectionsMax: number;
  /** Transactions that were prepared and not ended. */
  readonly prepared: readonly { readonly gid: string; readonly ageSeconds: number }[];
  /** Seconds since the oldest open transaction of this database began; null: there is none. */
  readonly oldestSeconds: number | null;
}

/** A commit over several nodes takes seconds at the most. */
const preparedSecondsMax = 300;
const openSecondsMax = 3_600;

export function judgeCluster(facts: ClusterFacts): Finding {
  const { citus, preparedMax, connectionsMax, prepared, oldestSeconds } = facts;
  const say = about('cluster', {
    citus,
    max_prepared_transactions: preparedMax,
    prepared,
    oldest_transaction_seconds: oldestSeconds,
  });
  const left = prepared.filter(({ ageSeconds }) => ageSeconds > preparedSecondsMax);
  if (left.length > 0) {
    const gids = some(left.map(({ gid }) => `'${gid}'`));
    const message = `Transactions were left prepared and hold their locks (${gids}): end each with COMMIT PREPARED or ROLLBACK PREPARED.`;
    return say.fail(message);
  }
  if (citus !== null && preparedMax < connectionsMax) {
    const message = `max_prepared_transactions is ${preparedMax}: set it to at least ${connectionsMax} on every node, since commits over several nodes need it.`;
    return say[preparedMax === 0 ? 'fail' : 'warn'](message);
  }
  if (oldestSeconds !== null && oldestSeconds > openSecondsMax) {
    const hours = (oldestSeconds / 3_600).toFixed(1);
    const message = `A transaction has been open for ${hours} hours, and nothing is cleaned up behind it: see pg_stat_activity, and end it.`;
    return say.warn(message);
  }
  const where = citus === null ? 'One server' : `Citus ${citus}`;
  return say.ok(`${where}, and no transaction is left over.`);
}

const gibibyte = 1024 ** 3;

/** Judges the disk that holds the embedded database. `free` and `size` are in bytes. */
export function judgeDisk({ free, size, directory }: { free: number; size: number; directory: string }): Finding {
  const say = about('disk', { free_bytes: free, size_bytes: size, directory });
  const left = `${(free / gibibyte).toFixed(1)} GiB of ${(size / gibibyte).toFixed(1)} are free for ${directory}`;
  if (free < gibibyte) return say.fail(`${left}: make room, or the database stops.`);
  if (free < Math.min(5 * gibibyte, size / 10)) return say.warn(`${left}: make room before it is needed.`);
  return say.ok(`${left}.`);
}

/**
 * Judges ignored X-Forwarded-For headers. `ignored`: the last peer that sent one without being
 * trusted; null: there was none.
 */
export function judgeForwarding(
  ignored: { readonly peer: string; readonly at: Date } | null,
  isTrustedNow: boolean,
): Finding {
  const say = about('proxies');
  if (ignored === null || isTrustedNow) {
    return say.ok('No X-Forwarded-For came from a peer that TRUSTED_PROXIES does not name.');
  }
  const { peer, at } = ignored;
  const message = `X-Forwarded-For came from ${peer} and was ignored (last at ${at.toISOString()}): if that is your proxy, name it in TRUSTED_PROXIES; else all its clients count as one.`;
  return say.warn(message, { peer, at });
}

export function judgePublicUrl(publicUrl: string | null): Finding {
  const say = about('public address');
  if (publicUrl === null) {
    const message = 'PUBLIC_URL is not set: no click links are made; set it to the address that devices reach.';
    return say.warn(message);
  }
  return say.ok(`Devices are sent to ${publicUrl}.`);
}

export interface StrangerFacts {
  /** The app's id as callers write it: `app_…`. */
  readonly app_id: string;
  /**
   * `unreached`: devices that were registered by client key and never reached by a push or a
   * receipt. `old`: the ones among them that are older than a week.
   */
  readonly unreached: number;
  readonly old: number;
  /** All devices of the app. */
  readonly devices: number;
}

/**
 * Below this number an app gets no warning, because its devices may simply have got no message yet.
 */
const strangersFew = 100;
const strangersShareMost = 0.1;

/** Judges devices that may be made up: a client key is public, and anybody can register with it. */
export function judgeStrangers(apps: readonly StrangerFacts[]): Finding {
  const say = about('devices', { apps });
  const share = ({ unreached, devices }: StrangerFacts): string =>
    `${((100 * unreached) / Math.max(1, devices)).toFixed(0)} % of its devices`;
  const many = apps.filter(({ old, devices }) => old >= strangersFew && old >= strangersShareMost * devices);
  if (many.length > 0) {
    const named = some(many.map((app) => `${app.app_id}: ${app.unreached}, ${share(app)}`));
    const message = `Devices registered by client key were never reached, and may be made up (${named}): see how many would go with: ${programName} device purge APP --never-reached --older-than 7 --dry-run`;
    return say.warn(message);
  }
  const unreached = apps.reduce((sum, app) => sum + app.unreached, 0);
  const devices = apps.reduce((sum, app) => sum + app.devices, 0);
  const message =
    unreached === 0
      ? 'Every device that was registered by client key has been reached.'
      : `${unreached} of ${devices} devices were registered by client key and have not been reached yet.`;
  return say.ok(message);
}

/** Judges apps without an identify secret. Anybody can claim to be a user of such an app. */
export function judgeIdentity(apps: readonly { readonly name: string; readonly users: boolean }[]): Finding {
  const open = apps.filter(({ users }) => users).map(({ name }) => name);
  const names = apps.map(({ name }) => name);
  const say = about('identity', { without_secret: names });
  if (open.length > 0) {
    const message = `Apps have users and no identify secret (${some(open)}): ${openIdentityRisk}. Set one with: ${programName} identify-secret rotate APP`;
    return say.warn(message);
  }
  const message =
    apps.length === 0
      ? 'Every app has an identify secret.'
      : `Apps without users have no identify secret (${some(names)}): set one with: ${programName} identify-secret rotate APP`;
  return say.ok(message);
}

/**
 * Judges whether a proof can be made for every app that demands one. `unprovable`: the apps without
 * a possible proof.
 */
export function judgeProofs(unprovable: readonly string[]): Finding {
  const say = about('identity proofs', { unprovable });
  if (unprovable.length > 0) return say.warn(warnOfUnprovable(some(unprovable)));
  return say.ok('Every app that demands a proof of identity has a secret for it.');
}

export interface CredentialFacts {
  /** The channel and its app: `webpush of Shop`. */
  readonly name: string;
  readonly canBeOpened: boolean;
  readonly state: string;
}

export function judgeCredentials(credentials: readonly CredentialFacts[]): Finding {
  const say = about('credentials', { credentials });
  const sealed = credentials.filter(({ canBeOpened }) => !canBeOpened).map(({ name }) => name);
  if (sealed.length > 0) {
    const message = `Credentials cannot be opened with this MASTER_KEY (${some(sealed)}): set the key they were sealed with, or set them again with: ${programName} channel set`;
    return say.fail(message);
  }
  const refused = credentials.filter(({ state }) => state !== 'ok').map(({ name, state }) => `${name} is ${state}`);
  if (refused.length > 0) {
    const message = `Push services refuse credentials (${some(refused)}): see why with: ${programName} channel list APP`;
    return say.warn(message);
  }
  const message =
    credentials.length === 0 ? 'No channel is set yet.' : `Every credential is in order: ${credentials.length}.`;
  return say.ok(message);
}

/**
 * Judges the hosts that the channels in use must reach. `error`: why a host was not reached; null:
 * it was.
 */
export function judgeReach(hosts: readonly { readonly host: string; readonly error: string | null }[]): Finding {
  const say = about('outbound', { hosts });
  const lost = hosts.filter(({ error }) => error !== null).map(({ host, error }) => `${host}: ${error}`);
  if (lost.length > 0) {
    const message = `Push services are not reached (${some(lost)}): let this machine open TLS connections to them.`;
    return say.fail(message);
  }
  const message =
    hosts.length === 0
      ? 'No channel is set yet, so nothing need be reached.'
      : `${hosts.length} push services are reached.`;
  return say.ok(message);
}

const namedMax = 5;

function some(names: readonly string[]): string {
  const more = names.length - namedMax;
  return names.slice(0, namedMax).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
