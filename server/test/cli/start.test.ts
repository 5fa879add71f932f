// The service as processes: what it refuses to start on, and how it stops.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createTestDatabase, durable, reportSettings } from '../../../packages/postgres/test/database.ts';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { rotateIdentifySecret } from '../../src/teams/apps/identify-secrets.ts';
import { refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();

/** A database whose server reports the given value of one setting. */
async function databaseWith(name: string, setting: string): Promise<string> {
  const database = await createTestDatabase();
  await reportSettings(database, { ...durable, [name]: setting });
  return database.url;
}

const readyz = async (address: string): Promise<number> => (await fetch(`${address}/readyz`)).status;

describe('R-19 durable settings', () => {
  it.each(['fsync', 'full_page_writes'])(
    'a server with %s off is refused, unless the operator insists',
    async (name) => {
      const url = await databaseWith(name, 'off');
      const refused = await cli.runWith({ DATABASE_URL: url, ALLOW_UNSAFE_POSTGRES: '0' }, 'start');
      expect(refused).toMatchObject(refusal(new RegExp(`${name} off.*ALLOW_UNSAFE_POSTGRES=1`)));

      const service = cli.start({ DATABASE_URL: url, ALLOW_UNSAFE_POSTGRES: '1' });
      expect(await readyz((await service.document()).address)).toBe(200);
      expect(service.log).toContainEqual(
        expect.objectContaining({ level: 40, msg: expect.stringMatching(new RegExp(`^${name} is off`)) }),
      );
    },
  );

  it('a server with synchronous_commit off is used, and each start warns of it', async () => {
    const service = cli.start({ DATABASE_URL: await databaseWith('synchronous_commit', 'off') });
    expect(await readyz((await service.document()).address)).toBe(200);
    expect(service.log).toContainEqual(
      expect.objectContaining({ level: 40, msg: expect.stringMatching(/^synchronous_commit is off/) }),
    );
  });
});

describe('a start warns of open access', () => {
  it('to a database that is reached over a network without verification, and never shows the password', async () => {
    const service = cli.start({ DATABASE_URL: 'postgres://carillon:a-canary@db.invalid/carillon?sslmode=require' });
    await service.ended;
    expect(service.log).toContainEqual(
      expect.objectContaining({ level: 40, msg: expect.stringMatching(/db\.invalid is encrypted.*not verified/) }),
    );
    expect(JSON.stringify(service.log)).not.toContain('a-canary');
  });

  it('that nobody gets: an app that required the bound form of before, and has no token secret', async () => {
    const { id } = await cli.newApp('Formerly bound');
    const seal = createSeal(Buffer.from(cli.environment['MASTER_KEY'] ?? '', 'base64'));
    await rotateIdentifySecret({ ...cli, seal }, id, { form: 'hash' });
    await cli.sql`UPDATE apps SET identify_bound_required = true WHERE id = ${id}`;
    const service = cli.start();
    await service.document();
    expect(service.log).toContainEqual(
      expect.objectContaining({
        level: 40,
        msg: expect.stringMatching(/no token secret, so POST \/v1\/identify answers 403 \(Formerly bound\)/),
      }),
    );
    const { checks } = await cli.json('doctor');
    expect(checks).toContainEqual(
      expect.objectContaining({
        check: 'identity proofs',
        verdict: 'warn',
        details: { unprovable: ['Formerly bound'] },
      }),
    );
  });

  it('to files with secrets', async () => {
    const file = join(cli.directory, '.env');
    writeFileSync(file, `METRICS_TOKEN=${'m'.repeat(32)}\n`, { mode: 0o640 });
    const service = cli.start();
    await service.document();
    rmSync(file);
    expect(service.log).toContainEqual(
      expect.objectContaining({ level: 40, msg: expect.stringMatching(/\.env holds secrets.*mode 0640.*chmod 600/) }),
    );
  });
});

describe('R-87 SIGTERM', () => {
  it('reports not ready first and still serves; then everything ends in order, although the signal came twice', async () => {
    const { serverKey } = await cli.newApp('Stopping');
    const service = cli.start();
    const { address } = await service.document();
    expect(await readyz(address)).toBe(200);
    // Two signals, as a process group and npm deliver them.
    service.signal('SIGTERM');
    service.signal('SIGTERM');
    while ((await readyz(address)) !== 503);
    const messages = await fetch(`${address}/v1/messages`, { headers: { authorization: `Bearer ${serverKey}` } });
    expect(messages.status).toBe(200);
    expect((await fetch(`${address}/healthz`)).status).toBe(200);
    expect(await service.ended).toEqual({ code: 0, signal: null });
    expect(service.children()).toEqual([]);
    await expect(fetch(address)).rejects.toThrow();
  });

  it('R-05 a second signal later ends everything at once', async () => {
    const service = cli.start();
    const { address } = await service.document();
    const children = service.children();
    expect(children).toHaveLength(2);
    service.signal('SIGTERM');
    while ((await readyz(address)) !== 503);
    // The service goes on for seconds; only a signal that counts ends it earlier.
    while (!service.hasEnded()) {
      service.signal('SIGTERM');
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await service.ended).toEqual({ code: 1, signal: null });
    await expect(fetch(address)).rejects.toThrow();
  });
});

describe('R-87 an unforeseen error', () => {
  it('ends the process, which is restarted', async () => {
    const service = cli.start();
    await service.document();
    const before = service.children();
    expect(before).toHaveLength(2);
    for (const pid of before) process.kill(pid, 'SIGKILL');
    const deaths = () =>
      service.log.filter(({ level, msg }) => level === 50 && msg === 'process died, starting another');
    const isAnew = () => service.children().filter((pid) => !before.includes(pid)).length === 2;
    while (deaths().length < 2 || !isAnew()) await new Promise((resolve) => setImmediate(resolve));
    expect(service.hasEnded()).toBe(false);
  });
});
