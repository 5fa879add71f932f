import { describe, expect, it } from 'vitest';
import {
  type ClusterFacts,
  type Finding,
  judgeClock,
  judgeCluster,
  judgeConnections,
  judgeCredentials,
  judgeDisk,
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
  type SlotFacts,
} from './doctor-findings.ts';

const settings = (changes: Record<string, string>) =>
  new Map(
    Object.entries({
      server_version: '18.1',
      server_version_num: '180001',
      fsync: 'on',
      full_page_writes: 'on',
      synchronous_commit: 'on',
      ...changes,
    }),
  );
const slots = (changes: Partial<SlotFacts>): SlotFacts => ({
  inSlots: 3,
  beyond: 0,
  moving: 0,
  stuck: [],
  wanting: [],
  indexes: [{ name: 'audience_by_text_01', isValid: true }],
  isBuilding: false,
  assignment: [],
  indexesMax: 24,
  without: [],
  ...changes,
});
const cluster = (changes: Partial<ClusterFacts>): ClusterFacts => ({
  citus: null,
  preparedMax: 0,
  connectionsMax: 100,
  prepared: [],
  oldestSeconds: 1,
  ...changes,
});
const broken = [{ name: 'audience_by_text_01', isValid: false }];
const weeks = ['last', 'this', 'next', 'third', 'fourth', 'fifth'];
const months = ['events_this', 'events_next'];
const partitions = (...gone: string[]) => ({
  weeks,
  months,
  existing: new Set([...weeks, ...months].filter((name) => !gone.includes(name))),
});
const GiB = 1024 ** 3;
const at = new Date('2026-11-21T10:15:30.123Z');

describe('the doctor', () => {
  it.each<[string, Finding, Finding['verdict'], RegExp]>([
    ['an ordinary role', judgeRole(false), 'ok', /no superuser/],
    ['a superuser', judgeRole(true), 'warn', /give it a role/],
    ['a server in order', judgeSettings(settings({}), false), 'ok', /PostgreSQL 18\.1/],
    ['an old server', judgeSettings(settings({ server_version_num: '140009' }), false), 'fail', /upgrade/],
    ['fsync off', judgeSettings(settings({ fsync: 'off' }), false), 'fail', /fsync is off.*turn it on/],
    ['fsync off by intent', judgeSettings(settings({ fsync: 'off' }), true), 'warn', /turn it on/],
    ['asynchronous commits', judgeSettings(settings({ synchronous_commit: 'off' }), false), 'warn', /turn it on/],
    ['free connections', judgeConnections({ used: 10, most: 97 }), 'ok', /10 of 97/],
    ['few free connections', judgeConnections({ used: 80, most: 97 }), 'warn', /raise max_connections/],
    ['hardly any', judgeConnections({ used: 95, most: 97 }), 'fail', /raise max_connections, or run fewer/],
    ['clocks that agree', judgeClock(-900, null), 'ok', /0\.9 s behind/],
    ['clocks seconds apart', judgeClock(5_000, null), 'warn', /5\.0 s ahead of.*time server/],
    ['clocks minutes apart', judgeClock(-600_000, null), 'fail', /600\.0 s behind.*time server/],
    ['a host that slept', judgeClock(10, { clock: 'both', byMs: 7_200_000, at }), 'ok', /slept for 7200\.0 s.*2026/],
    [
      "the database's clock set back",
      judgeClock(10, { clock: 'database', byMs: -600_000, at }),
      'warn',
      /database's clock was set back by 600\.0 s/,
    ],
    [
      "a process' clock set",
      judgeClock(10, { clock: 'host', byMs: 600_000, at }),
      'warn',
      /process was set forward by 600/,
    ],
    ['no pause', judgePause(null), 'ok', /Nothing is paused/],
    ['a pause', judgePause({ at, reason: 'restore' }), 'warn', /restored from a backup.*carillon resume/],
    ['a schema up to date', judgeSchema([]), 'ok', /up to date/],
    ['an old schema', judgeSchema(['0021_slot_moves.sql']), 'fail', /carillon migrate/],
    ['all partitions', judgePartitions(partitions()), 'ok', /4 weeks ahead/],
    ['no partition of last week', judgePartitions(partitions('last')), 'ok', /4 weeks ahead/],
    ['no partition in four weeks', judgePartitions(partitions('fifth')), 'warn', /fifth.*start a worker/],
    ['no partition of next month', judgePartitions(partitions('events_next')), 'warn', /events_next.*start a worker/],
    ['no partition next week', judgePartitions(partitions('next')), 'fail', /start a worker/],
    ['slots in order', judgeSlots(slots({})), 'ok', /3 keys stand in slots.*1 indexes of at most 24/],
    ['a broken index', judgeSlots(slots({ indexes: broken })), 'warn', /audience_by_text_01.*start a worker/],
    ['an index being built', judgeSlots(slots({ indexes: broken, isBuilding: true })), 'ok', /follow use/],
    [
      'a key that does not arrive',
      judgeSlots(slots({ stuck: ['plan of app_1'] })),
      'warn',
      /plan of app_1.*transaction/,
    ],
    [
      'more columns in use than there are indexes',
      judgeSlots(slots({ without: [{ app_id: 'app_1', field: 'country', reason: 'no_index_left' }] })),
      'ok',
      /read all devices.*country of app_1/,
    ],
    ['a used key beyond the slots', judgeSlots(slots({ wanting: ['far of app_1'] })), 'warn', /far of app_1.*deleted/],
    ['one server', judgeCluster(cluster({})), 'ok', /One server/],
    [
      'an app with users and no identify secret',
      judgeIdentity([
        { name: 'Shop', users: true },
        { name: 'Empty', users: false },
      ]),
      'warn',
      /\(Shop\): any visitor who guesses an external_id can link a browser.*receive that user's pushes.*identify-secret rotate APP/,
    ],
    [
      'apps without users',
      judgeIdentity([{ name: 'Empty', users: false }]),
      'ok',
      /Apps without users have no identify secret \(Empty\)/,
    ],
    ['a secret in every app', judgeIdentity([]), 'ok', /Every app has/],
    [
      'apps that no proof can be made for',
      judgeProofs(['Shop', 'News']),
      'warn',
      /no token secret, so POST \/v1\/identify answers 403 \(Shop, News\).*identify-secret rotate APP/,
    ],
    ['a secret for every proof', judgeProofs([]), 'ok', /Every app that demands a proof/],
    [
      'a tenth of the devices never reached for a week',
      judgeStrangers([{ app_id: 'app_1', unreached: 120, old: 100, devices: 1_000 }]),
      'warn',
      /app_1: 120, 12 % of its devices.*device purge APP --never-reached --older-than 7 --dry-run/,
    ],
    [
      'a smaller share of them',
      judgeStrangers([{ app_id: 'app_1', unreached: 120, old: 99, devices: 990 }]),
      'ok',
      /120 of 990 devices were registered by client key and have not been reached yet/,
    ],
    [
      'many of them that are new',
      judgeStrangers([{ app_id: 'app_1', unreached: 900, old: 0, devices: 1_000 }]),
      'ok',
      /900 of 1000 devices/,
    ],
    ['devices that were all reached', judgeStrangers([]), 'ok', /Every device .* has been reached/],
    ['a cluster', judgeCluster(cluster({ citus: '13.0', preparedMax: 200 })), 'ok', /Citus 13\.0/],
    ['a cluster that cannot prepare', judgeCluster(cluster({ citus: '13.0' })), 'fail', /at least 100/],
    ['one that prepares little', judgeCluster(cluster({ citus: '13.0', preparedMax: 10 })), 'warn', /at least 100/],
    [
      'a transaction left prepared',
      judgeCluster(cluster({ prepared: [{ gid: 'citus_0_1', ageSeconds: 900 }] })),
      'fail',
      /'citus_0_1'.*ROLLBACK PREPARED/,
    ],
    ['one just prepared', judgeCluster(cluster({ prepared: [{ gid: 'a', ageSeconds: 1 }] })), 'ok', /One server/],
    ['a transaction open for hours', judgeCluster(cluster({ oldestSeconds: 7_200 })), 'warn', /2\.0 hours.*end it/],
    ['room on the disk', judgeDisk({ free: 50 * GiB, size: 100 * GiB, directory: '/d' }), 'ok', /50\.0 GiB of 100\.0/],
    ['little room', judgeDisk({ free: 2 * GiB, size: 100 * GiB, directory: '/d' }), 'warn', /make room/],
    ['a small disk that is half empty', judgeDisk({ free: 4 * GiB, size: 8 * GiB, directory: '/d' }), 'ok', /free/],
    ['a full disk', judgeDisk({ free: GiB / 2, size: 100 * GiB, directory: '/d' }), 'fail', /make room, or/],
    ['no proxy', judgeForwarding(null, false), 'ok', /No X-Forwarded-For/],
    [
      'a proxy that is not trusted',
      judgeForwarding({ peer: '10.0.0.7', at }, false),
      'warn',
      /10\.0\.0\.7.*TRUSTED_PROXIES/,
    ],
    ['one that is by now', judgeForwarding({ peer: '10.0.0.7', at }, true), 'ok', /No X-Forwarded-For/],
    ['an address', judgePublicUrl('https://push.example'), 'ok', /push\.example/],
    ['no address', judgePublicUrl(null), 'warn', /set it/],
    ['no channel', judgeCredentials([]), 'ok', /No channel/],
    [
      'good credentials',
      judgeCredentials([{ name: 'apns of Shop', canBeOpened: true, state: 'ok' }]),
      'ok',
      /Every credential is in order/,
    ],
    [
      'another master key',
      judgeCredentials([{ name: 'apns of Shop', canBeOpened: false, state: 'ok' }]),
      'fail',
      /apns of Shop.*carillon channel set/,
    ],
    [
      'a refused credential',
      judgeCredentials([{ name: 'fcm of Shop', canBeOpened: true, state: 'failing' }]),
      'warn',
      /fcm of Shop is failing.*carillon channel list/,
    ],
    ['reach', judgeReach([{ host: 'a:443', error: null }]), 'ok', /1 push services are reached/],
    ['no reach', judgeReach([{ host: 'a:443', error: 'timeout' }]), 'fail', /a:443: timeout.*TLS/],
  ])('of %s', (_what, finding, verdict, message) => {
    expect([finding.verdict, finding.message]).toEqual([verdict, expect.stringMatching(message)]);
  });
});
