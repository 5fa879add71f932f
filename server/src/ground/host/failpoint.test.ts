import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { armFailpoints, failpoint, failpointAfterCommitSent } from './failpoint.ts';

const src = fileURLToPath(new URL('../../', import.meta.url));
const sources = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
  .map((path) => ({ path, text: readFileSync(src + path, 'utf8') }));

describe('a failpoint', () => {
  let disarm = (): void => undefined;
  afterEach(() => disarm());

  it('does nothing while nobody has armed it, not even schedule something', () => {
    expect(failpoint('push.before_write')).toBeUndefined();
    const passed: string[] = [];
    failpointAfterCommitSent('message.after_commit_sent');
    disarm = armFailpoints((name) => void passed.push(name));
    expect(passed).toEqual([]);
  });

  it('holds its caller, and can make it fail', async () => {
    disarm = armFailpoints(async (name) => {
      await Promise.resolve();
      throw new Error(`failed at ${name}`);
    });
    await expect(failpoint('outcomes.before_commit')).rejects.toThrow('failed at outcomes.before_commit');
    disarm();
    expect(failpoint('outcomes.before_commit')).toBeUndefined();
  });

  it('is armed by nothing in the service, whatever the environment says', () => {
    const arming = sources.filter(({ text }) => /armFailpoints/.test(text));
    expect(arming.map(({ path }) => path)).toEqual(['ground/host/failpoint.ts']);
    const itself = arming[0]?.text ?? '';
    expect(itself).not.toMatch(/process\.\w|globalThis|^import/m);
  });

  it('has a name, and each name is passed somewhere', () => {
    const [declaration = ''] =
      /export type Failpoint =.*?';/s.exec(readFileSync(`${src}ground/host/failpoint.ts`, 'utf8')) ?? [];
    const names = [...declaration.matchAll(/'([a-z_.]+)'/g)].map(([, name]) => name);
    const passed = sources.flatMap(({ text }) =>
      [...text.matchAll(/\bfailpoint(?:AfterCommitSent)?\('([^']+)'\)/g)].map(([, name]) => name),
    );
    expect(names.length).toBeGreaterThan(0);
    expect([...new Set(passed)].sort()).toEqual(names.sort());
  });
});
