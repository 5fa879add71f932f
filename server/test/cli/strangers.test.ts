// The commands that limit and undo what strangers do with a client key: `device purge` and
// `event delete`.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { mintUuid, type Uuid } from '../../src/ground/values/ids.ts';
import { createTrack } from '../../src/insight/events/track-events.ts';
import { clientEventsDefault } from '../../src/teams/apps/caller.ts';
import { type MadeApp, refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();
const dayMs = 24 * 3_600_000;

describe('device purge', () => {
  /** A device registered this many days ago. Only the fields that decide about a purge differ. */
  const addDevice = async (
    app: MadeApp,
    { daysAgo = 0, byClient = true, isReached = false }: { daysAgo?: number; byClient?: boolean; isReached?: boolean },
  ): Promise<void> => {
    const id = mintUuid(cli.clock.nowMs() - daysAgo * dayMs);
    const hash = createHash('sha256').update(id).digest();
    await cli.sql`
      INSERT INTO devices (app_id, id, platform, token, token_hint, token_hash, status, registered_at, properties, by_client, is_reached)
      VALUES (${app.id}, ${id}, 'ios', ${id}, ${id.slice(-4)}, ${hash}, 'active', now(), '{}', ${byClient}, ${isReached})`;
    await cli.sql`
      INSERT INTO device_tokens (app_id, platform, token_hash, device_id) VALUES (${app.id}, 'ios', ${hash}, ${id})`;
  };
  const devicesOf = async (app: MadeApp): Promise<number> =>
    (await cli.sql`SELECT 1 FROM devices WHERE app_id = ${app.id}`).length;

  it('counts with --dry-run, deletes without, and leaves younger, reached and server-registered devices', async () => {
    const app = await cli.newApp('Purged');
    await addDevice(app, { daysAgo: 10 });
    await addDevice(app, { daysAgo: 10 });
    await addDevice(app, { daysAgo: 1 });
    await addDevice(app, { daysAgo: 10, isReached: true });
    await addDevice(app, { daysAgo: 10, byClient: false });
    const purge = ['device', 'purge', 'Purged', '--never-reached', '--older-than'];
    expect(await cli.json(...purge, '7', '--dry-run')).toEqual({ found: 2, deleted: 0, dry_run: true });
    expect(await devicesOf(app)).toBe(5);
    const { status, stdout } = await cli.run(...purge, '7');
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: '2 devices of Purged that were registered by client key and never reached are deleted.\n',
    });
    expect(await cli.json(...purge, '0')).toEqual({ found: 1, deleted: 1, dry_run: false });
    expect(await devicesOf(app)).toBe(2);
  });

  it.concurrent.each([
    ['without --never-reached', ['purge', 'Demo', '--older-than', '7'], /Say --never-reached/],
    ['without an age', ['purge', 'Demo', '--never-reached'], /--older-than DAYS \(0: all\)/],
    [
      'for an age that is no number',
      ['purge', 'Demo', '--never-reached', '--older-than', 'old'],
      /--older-than is a whole number/,
    ],
    ['for an unknown app', ['purge', 'Nobody', '--never-reached', '--older-than', '7'], /No app has/],
  ])('is refused in one line %s', async (_case, parameters, line) => {
    expect(await cli.run('device', ...parameters)).toMatchObject(refusal(line));
  });
});

describe('event delete', () => {
  const track = createTrack({ sql: cli.sql, txSql: cli.sql, clock: cli.clock, waitMs: 30_000 });
  const trackMany = (appId: Uuid, name: string, count: number) =>
    track({
      appId,
      isServer: true,
      clientEvents: clientEventsDefault,
      pathOf: (index: number) => ['events', index],
      events: Array.from({ length: count }, () => ({
        name,
        properties: {},
        propertiesText: '{}',
        deviceId: null,
        externalId: null,
        id: null,
        occurredAtMs: null,
        purchase: null,
      })),
    });

  it('prints the number of events before it deletes them, and the number deleted', async () => {
    const app = await cli.newApp('Tracked');
    await trackMany(app.id, 'junk', 3);
    await trackMany(app.id, 'kept', 2);
    expect(await cli.run('event', 'delete', 'Tracked', 'junk')).toMatchObject({
      status: 0,
      stderr: "Deleting the 3 events 'junk' of Tracked\n",
      stdout: "3 events 'junk' of Tracked are deleted.\n",
    });
    expect(await cli.sql`SELECT name, count(*)::int FROM events WHERE app_id = ${app.id} GROUP BY name`).toEqual([
      { name: 'kept', count: 2 },
    ]);
    expect(await cli.json('event', 'delete', 'Tracked', 'kept')).toEqual({ name: 'kept', deleted: 2 });
    expect(await cli.run('event', 'delete', 'Tracked', 'kept')).toMatchObject(
      refusal(/No event was ever tracked as 'kept' of Tracked/),
    );
  });

  it('is refused for an unknown app and without a name', async () => {
    expect(await cli.run('event', 'delete', 'Nobody', 'junk')).toMatchObject(refusal(/No app has/));
    expect(await cli.run('event', 'delete', 'Tracked')).toMatchObject(refusal(/missing required argument 'NAME'/));
  });
});
