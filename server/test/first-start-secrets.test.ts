// The banner of a first start prints a secret. It must say so, and how to replace the secret.
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createTestDatabase } from '../../packages/postgres/test/database.ts';
import { whenDone } from '../../rig/src/when-done.ts';
import { loadConfig } from '../src/config.ts';
import { createClock } from '../src/ground/database/clock.ts';
import { createSeal } from '../src/ground/secrets/seal.ts';
import { firstStart } from '../src/operation/process/first-start.ts';
import { findLink } from '../src/teams/accounts/link-queries.ts';
import { hashSecret } from '../src/teams/accounts/session.ts';
import { builtInPlans } from '../src/teams/quotas/plan.ts';

const { sql, url } = await createTestDatabase();
const dataDir = mkdtempSync(join(tmpdir(), 'carillon-first-'));
whenDone(async () => rmSync(dataDir, { recursive: true, force: true }));

it('R-53 the banner of the first start, and its file, say that they contain a secret and how to replace it', async () => {
  const config = loadConfig({ DATA_DIR: dataDir }, dataDir);
  const embedded = {
    url,
    adminUrl: url,
    clusterDir: dataDir,
    isNew: true,
    stop: async () => undefined,
  };
  const deps = { sql, seal: createSeal(Buffer.alloc(32, 1)), config, plans: builtInPlans, embedded, paused: null };
  const address = 'http://127.0.0.1:8080';
  const notice = await firstStart(deps);
  const banner = notice.text(address);
  await notice.keep(address);
  await notice.wasShown(address);
  const file = join(dataDir, 'first-run.txt');
  const [key] = /sk_live_\w{49}/.exec(banner) ?? [];
  expect(key).toBeDefined();
  for (const text of [banner, readFileSync(file, 'utf8')]) {
    expect(text).toContain(key);
    expect(text).toMatch(/The server key is a secret/);
    expect(text).toMatch(/log of a\s+container keeps this text/);
    expect(text).toMatch(/carillon key rotate KEY --overlap 0/);
  }
  const [link] = /http:\/\/127\.0\.0\.1:8080\/console\/setup#[\w-]{43}/.exec(banner) ?? [];
  expect(link).toBeDefined();
  expect(readFileSync(file, 'utf8')).toContain(link);
  const clock = await createClock(sql);
  const found = await findLink(sql, clock, hashSecret(link?.split('#')[1] ?? ''));
  expect(found).toMatchObject({ kind: 'setup', role: 'owner', expiresAt: null });
  expect(statSync(file).mode & 0o777).toBe(0o600);

  const second = (await firstStart(deps)).text(address);
  expect(second).not.toMatch(/sk_live_|ck_live_|is a secret|console\/setup/);
});
