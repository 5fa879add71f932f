import { describe, expect, it } from 'vitest';
import { loadInstance } from '../../src/ground/database/instance.ts';
import { findPause } from '../../src/ground/database/restore-guard.ts';
import { createSeal, parseMasterKey } from '../../src/ground/secrets/seal.ts';
import { refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();

/** Creates the row that the first start of a service creates. */
async function makeInstance(): Promise<void> {
  await loadInstance(cli.sql, createSeal(parseMasterKey(cli.environment['MASTER_KEY'] ?? '', 'MASTER_KEY')));
}

describe('pause and resume', () => {
  it('explain what to do when no service has run yet', async () => {
    await cli.sql`DELETE FROM instance`;
    expect(await cli.run('pause')).toMatchObject(refusal(/No service has run.*START_PAUSED=1/));
  });

  it('R-92 set and end the pause in the database, and report it', async () => {
    await makeInstance();
    const paused = await cli.json('pause');
    expect(paused).toMatchObject({ paused: true, since: expect.stringMatching(/Z$/), reason: 'operator' });
    expect((await findPause(cli.sql))?.at.toISOString()).toBe(paused.since);
    expect(await cli.json('pause')).toEqual(paused);
    expect((await cli.run('pause')).stdout).toMatch(/reason +operator\n[\s\S]*carillon resume\n$/);
    expect(await cli.json('resume')).toEqual({ paused: false, since: null, reason: null, waiting: null });
    expect(await findPause(cli.sql)).toBeNull();
    expect((await cli.run('resume')).stdout).toMatch(/^paused +no\n/);
  });

  it('R-92 channel test sends nothing while paused, and makes no message', async () => {
    await makeInstance();
    const { publicId } = await cli.newApp('Paused');
    await cli.run('pause');
    const refused = await cli.run('channel', 'test', publicId, 'webpush', '--device', 'dev_0000000000000000000000');
    expect(refused).toMatchObject(refusal(/paused since.*carillon resume/));
    expect(await cli.sql`SELECT FROM messages`).toHaveLength(0);
    await cli.run('resume');
  });
});

describe('START_PAUSED=1', () => {
  it('R-92 starts paused with a clear message, and a process that is restarted does not pause again', async () => {
    const service = cli.start({ START_PAUSED: '1' });
    const started = await service.document();
    expect(started).toMatchObject({ paused_at: expect.stringMatching(/Z$/), pause_reason: 'start' });
    expect((await fetch(`${started.address}/readyz`)).status).toBe(200);
    await cli.run('resume');
    const before = await listenersOf();
    expect(before).toHaveLength(2);
    for (const pid of service.children()) process.kill(pid, 'SIGKILL');
    // A process listens last; by then it has read whether it may send.
    for (let renewed: number[] = []; renewed.length < 2; ) {
      renewed = (await listenersOf()).filter((pid) => !before.includes(pid));
    }
    expect(await findPause(cli.sql)).toBeNull();
    service.signal('SIGINT');
    expect(await service.ended).toEqual({ code: 0, signal: null });
  });
});

/** The connections on which the service's processes hear NOTIFY, one each. */
async function listenersOf(): Promise<number[]> {
  const rows = await cli.sql<{ pid: number }[]>`
    SELECT pid FROM pg_stat_activity WHERE application_name = 'carillon listen' AND datname = current_database()`;
  return rows.map(({ pid }) => pid);
}
