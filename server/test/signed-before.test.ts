// What releases before the present forms have signed verifies for 90 days. The fixture was
// written by the code of that time; receipts, webhooks and identities have vectors in the contract.
import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createCursors } from '../src/ground/http/page.ts';
import { formerFormsEndMs, formerSecretOf } from '../src/ground/secrets/signed-text.ts';
import { judgeSignature, signed } from '../src/operation/backup/backup-signature.ts';
import { restoreCluster } from '../src/operation/backup/restore.ts';
import { readBrowser, writeBrowser } from '../src/teams/accounts/known-browser.ts';
import { beginProof, readProof, readWaiting, writeWaiting } from '../src/teams/accounts/oidc-proof.ts';
import { consoleKeysOf, isSigned, signToken, tokenOf } from '../src/teams/accounts/signed-token.ts';
import before from './fixtures/signed-before.json' with { type: 'json' };

const masterKey = Buffer.from(before.masterKey, 'base64');
const atMs = Date.parse(before.at);
const lastMs = formerFormsEndMs - 1;
const [keys] = consoleKeysOf({ key: masterKey });
const strangers = consoleKeysOf({ key: Buffer.alloc(32, 9) });
const backup = Buffer.from(before.backup, 'base64');

async function* piecesOf(content: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size);
}

it('former forms end 90 days after the day of the present ones', () => {
  expect(new Date(formerFormsEndMs).toISOString()).toBe('2027-02-26T00:00:00.000Z');
  expect((formerFormsEndMs - Date.UTC(2026, 10, 28)) / 86_400_000).toBe(90);
});

describe('R-106 what former releases signed verifies until then, and is not made', () => {
  it('a session', () => {
    const { cookie, token } = before.session;
    const verdicts = [atMs, lastMs, formerFormsEndMs].map((nowMs) => isSigned([keys], cookie, nowMs));
    expect(verdicts).toEqual([true, true, false]);
    expect(isSigned(strangers, cookie, atMs)).toBe(false);
    expect(isSigned([keys], cookie.replace('W', 'X'), atMs)).toBe(false);
    expect(tokenOf(cookie)).toBe(token);
    expect(isSigned([keys], signToken(keys.session, token), formerFormsEndMs)).toBe(true);
    // The present form has a key for each kind of cookie.
    expect(isSigned([keys], signToken(keys.step, token), atMs)).toBe(false);
  });

  it('a known browser', () => {
    const { cookie, email, id } = before.browser;
    const idAt = (nowMs: number) => readBrowser([keys], cookie, email, nowMs);
    expect([atMs, lastMs, formerFormsEndMs].map(idAt)).toEqual([id, id, null]);
    expect(readBrowser([keys], cookie, 'bob@shop.example', atMs)).toBeNull();
    expect(readBrowser(strangers, cookie, email, atMs)).toBeNull();
    const renewed = writeBrowser(keys.browser, email, formerFormsEndMs, id);
    expect(readBrowser([keys], renewed, email, formerFormsEndMs)).toBe(id);
    expect(readBrowser([keys], signToken(keys.session, tokenOf(renewed)), email, formerFormsEndMs)).toBeNull();
  });

  it('an attempt at OpenID Connect', () => {
    const { cookie, link, proof } = before.oidc;
    expect(readProof(keys, cookie, atMs)).toEqual({ link, proof });
    const begunAt = (nowMs: number) => Buffer.from(JSON.stringify([nowMs, 'chance', null])).toString('base64url');
    expect(readProof(keys, begunAt(lastMs), lastMs)?.link).toBeNull();
    expect(readProof(keys, begunAt(formerFormsEndMs), formerFormsEndMs)).toBeUndefined();
    const begun = beginProof(keys, formerFormsEndMs, link);
    expect(readProof(keys, begun.cookie, formerFormsEndMs)).toEqual({ link, proof: begun.proof });
    expect(new Set(Object.values(begun.proof)).size).toBe(3);
  });

  it('an identity that waits', () => {
    const { cookie, identity } = before.waiting;
    expect(readWaiting(keys, cookie, atMs)).toEqual(identity);
    expect(readWaiting(strangers[0], cookie, atMs)).toBeUndefined();
    const madeAt = (nowMs: number) => {
      const payload = Buffer.from(JSON.stringify({ ...identity, atMs: nowMs })).toString('base64url');
      const mac = createHmac('sha256', formerSecretOf(masterKey)).update(`oidc waiting:${payload}`).digest('base64url');
      return readWaiting(keys, `${payload}.${mac}`, nowMs);
    };
    expect([madeAt(lastMs)?.subject, madeAt(formerFormsEndMs)]).toEqual([identity.subject, undefined]);
    const late = { ...identity, atMs: formerFormsEndMs };
    expect(readWaiting(keys, writeWaiting(keys, late), formerFormsEndMs)).toEqual(late);
  });

  it('a cursor', () => {
    const { scope, position, text } = before.cursor;
    const cursorsAt = (nowMs: number) => createCursors(masterKey, { nowMs: () => nowMs });
    for (const nowMs of [atMs, lastMs]) expect(cursorsAt(nowMs).read(text, scope)).toEqual(position);
    expect(() => cursorsAt(formerFormsEndMs).read(text, scope)).toThrow();
    expect(() => cursorsAt(atMs).read(text, scope.slice(1))).toThrow();
    const fresh = cursorsAt(atMs).write(position, scope);
    expect(fresh).not.toBe(text);
    expect(cursorsAt(formerFormsEndMs).read(fresh, scope)).toEqual(position);
  });

  it('a backup', async () => {
    const judge = (nowMs: number, content = backup) => judgeSignature(piecesOf(content, 7), [masterKey], nowMs);
    expect(await Promise.all([atMs, lastMs, formerFormsEndMs].map((nowMs) => judge(nowMs)))).toEqual([
      { is: 'signed' },
      { is: 'signed' },
      { is: 'ended' },
    ]);
    const altered = Buffer.from(backup);
    altered.write('b');
    expect(await judge(atMs, altered)).toEqual({ is: 'altered' });
    const pieces: Buffer[] = [];
    for await (const piece of signed(piecesOf(Buffer.from('any tar, compressed'), 7), masterKey)) pieces.push(piece);
    const fresh = Buffer.concat(pieces);
    expect(fresh.length).toBe(backup.length);
    expect(fresh.equals(backup)).toBe(false);
    expect(await judge(formerFormsEndMs, fresh)).toEqual({ is: 'signed' });
  });
});

describe('a restore of a backup of former releases', () => {
  const home = mkdtempSync(join(tmpdir(), 'carillon-signed-before-'));
  afterEach(() => {
    vi.useRealTimers();
    rmSync(home, { recursive: true, force: true });
  });

  it('says after the end which release restores it', async () => {
    vi.useFakeTimers({ now: formerFormsEndMs, toFake: ['Date'] });
    const file = join(home, 'old.tgz');
    writeFileSync(file, backup);
    const options = { masterKeys: [masterKey], identityFile: undefined, acceptsUnsigned: true };
    await expect(restoreCluster(file, join(home, 'data'), options)).rejects.toThrow(
      'counted until 2027-02-26: restore it with the release that made it',
    );
  });
});
