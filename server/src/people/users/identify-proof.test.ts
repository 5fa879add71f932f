import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  hashSecret,
  hashVectors,
  tokenExp,
  tokenSecret,
  tokenVectors,
} from '../../../test/fixtures/identify-vectors.ts';
import { signHash, signParts, signToken } from '../../../test/fixtures/sign-proof.ts';
import type { IdentifyRules } from '../../teams/apps/identify-secrets.ts';
import { type IdentityClaim, isProven } from './identify-proof.ts';

const now = tokenExp - 3600;
const deviceId = tokenVectors[1]?.[3] ?? '';
const appId = 'app_02y9GVDsTuJUi2BOoCH5G3';
const token = { form: 'token', secret: tokenSecret } as const;
const hash = { form: 'hash', secret: hashSecret } as const;
const both: IdentifyRules = { secrets: [hash, token], isDeviceRequired: false };
const deviceOnly: IdentifyRules = { ...both, isDeviceRequired: true };

const claim = (proof: Partial<IdentityClaim>, fields: object = {}): IdentityClaim => ({
  appId,
  deviceId,
  externalId: 'u-42',
  userToken: undefined,
  userHash: undefined,
  ...proof,
  ...fields,
});
const isGood = (userToken: string, rules = both, fields: object = {}, at = now): boolean =>
  isProven(claim({ userToken }, fields), rules, at * 1000);
const claims = { sub: 'u-42', exp: now + 3600 };
const signed = (changes: object = {}, header?: object): string =>
  signToken(tokenSecret, { ...claims, ...changes }, header);

describe('R-46 the published vectors', () => {
  it.each(hashVectors)('hash, %s: proves its own external id and no other', (_what, externalId, userHash) => {
    for (const [, other] of hashVectors) {
      expect(isProven(claim({ userHash }, { externalId: other }), both, now * 1000)).toBe(other === externalId);
    }
  });

  it.each(tokenVectors)(
    'token, %s: proves its own external id and no other',
    (_what, externalId, userToken, device) => {
      expect(isGood(userToken, both, { externalId })).toBe(true);
      expect(isGood(userToken, both, { externalId: 'u-43' })).toBe(false);
      expect(isGood(userToken, both, { externalId, deviceId: 'dev_other' })).toBe(device === undefined);
      expect(isGood(userToken, deviceOnly, { externalId })).toBe(device !== undefined);
    },
  );
});

const good = hashVectors[0]?.[2] ?? '';

describe('R-46 a hash', () => {
  it.each<[what: string, userHash: string | null | undefined]>([
    ['missing', undefined],
    ['null', null],
    ['empty', ''],
    ['one digit short', good.slice(1)],
    ['one digit long', `${good}0`],
    ['in upper case', good.toUpperCase()],
    ['with a digit that is none', `${good.slice(0, -1)}g`],
    ['with a digit changed', good.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))],
    ['with white space', ` ${good}`],
    ['with a line break', `${good}\n`],
    ['of 64 characters and more bytes', 'ä'.repeat(64)],
    ['in base64', createHmac('sha256', hashSecret).update('u-42').digest('base64')],
    ['of another secret', signHash(`${hashSecret}x`, 'u-42')],
    ['of the secret of tokens', signHash(tokenSecret, 'u-42')],
    ['in the bound form of earlier versions', `t=${now},v1=${signHash(hashSecret, `${now}.${deviceId}.u-42`)}`],
    ['of a megabyte', '0'.repeat(1_048_576)],
  ])('that is %s proves nothing, and is no fault', (_what, userHash) => {
    expect(isProven(claim({ userHash }), both, now * 1000)).toBe(false);
  });

  it('is good at any time, and proves nothing where the device is required', () => {
    for (const at of [0, now * 2000]) expect(isProven(claim({ userHash: good }), both, at)).toBe(true);
    expect(isProven(claim({ userHash: good }), deviceOnly, now * 1000)).toBe(false);
  });
});

const [head = '', body = '', mac = ''] = signed().split('.');
/** Replaces the last letter by one that differs only in unused bits of the last byte. */
const respelled = (part: string): string => {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return part.slice(0, -1) + letters.charAt(letters.indexOf(part.slice(-1)) ^ 1);
};
const rsaKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const under = (algorithm: string, signature: (text: string) => Buffer): string => {
  const text = `${Buffer.from(JSON.stringify({ alg: algorithm })).toString('base64url')}.${body}`;
  return `${text}.${signature(text).toString('base64url')}`;
};

describe('R-46 a token', () => {
  it('is good with other members in its header, and with other claims', () => {
    for (const header of [{ alg: 'HS256' }, { alg: 'HS256', typ: 'at+jwt', kid: '1', jku: 'https://evil.example' }]) {
      expect(isGood(signed({ iss: 'shop', iat: now, jti: '1', admin: { exp: 0, exp2: 1 } }, header))).toBe(true);
    }
    expect(isGood(signToken(tokenSecret, { exp: claims.exp, __proto__x: 1, sub: 'u-42' }))).toBe(true);
  });

  it.each<[what: string, userToken: string]>([
    ['empty', ''],
    ['no token', 'u-42'],
    ['without a signature', `${head}.${body}.`],
    ['of two parts', `${head}.${body}`],
    ['of four parts', `${signed()}.${mac}`],
    ['with white space', ` ${signed()}`],
    ['with a line break', `${signed()}\n`],
    ['padded', `${signed()}=`],
    ['in base64', signed().replaceAll('-', '+').replaceAll('_', '/').concat('=')],
    ['with a signature of another spelling', `${head}.${body}.${respelled(mac)}`],
    ['with a signature in hex', `${head}.${body}.${Buffer.from(mac, 'base64url').toString('hex')}`],
    [
      'with a signature cut short',
      `${head}.${body}.${Buffer.from(mac, 'base64url').subarray(0, 16).toString('base64url')}`,
    ],
    ['with a changed body', `${head}.${signed({ sub: 'u-43' }).split('.')[1]}.${mac}`],
    ['alg none', under('none', () => Buffer.alloc(0))],
    ['alg none, signed', signed({}, { alg: 'none' })],
    ['alg HS512', under('HS512', (text) => createHmac('sha512', tokenSecret).update(text).digest())],
    ['alg HS512, with our signature', signed({}, { alg: 'HS512' })],
    ['alg RS256', under('RS256', (text) => sign('sha256', Buffer.from(text), rsaKey))],
    ['alg RS256, with our signature', signed({}, { alg: 'RS256' })],
    ['alg in lower case', signed({}, { alg: 'hs256' })],
    ['alg with white space', signed({}, { alg: 'HS256 ' })],
    ['alg in a list', signed({}, { alg: ['HS256'] })],
    ['without alg', signed({}, { typ: 'JWT' })],
    ['alg twice', signToken(tokenSecret, claims, '{"alg":"none","alg":"HS256"}')],
    ['with crit', signed({}, { alg: 'HS256', crit: ['exp'] })],
    ['with an empty crit', signed({}, { alg: 'HS256', crit: null })],
    ['with b64', signed({}, { alg: 'HS256', b64: true })],
    ['with a header that is a list', signed({}, ['HS256'])],
    ['with a header that is no JSON', signToken(tokenSecret, claims, '{alg:HS256}')],
    ['with a header that is no base64url', signParts(tokenSecret, `{"alg":"HS256"}.${body}`)],
    ['with a header of another spelling', signParts(tokenSecret, `${respelled(encoded('{"alg":"HS256"} '))}.${body}`)],
    ['with claims that are a list', signToken(tokenSecret, [claims])],
    ['with claims that are null', signToken(tokenSecret, 'null')],
    ['with claims that are text', signToken(tokenSecret, '"u-42"')],
    ['with claims that are no JSON', signToken(tokenSecret, `${JSON.stringify(claims)},`)],
    ['with a byte order mark', signToken(tokenSecret, `\ufeff${JSON.stringify(claims)}`)],
    [
      'with claims that are not UTF-8',
      signToken(tokenSecret, Buffer.from(`{"a":"\xff",${JSON.stringify(claims).slice(1)}`, 'latin1')),
    ],
    ['with a repeated sub', signToken(tokenSecret, `{"sub":"x","sub":"u-42","exp":${claims.exp}}`)],
    ['with a repeated sub, escaped', signToken(tokenSecret, `{"s\\u0075b":"x","sub":"u-42","exp":${claims.exp}}`)],
    ['without sub', signToken(tokenSecret, { exp: claims.exp })],
    ['with a sub in a list', signed({ sub: ['u-42'] })],
    ['for another user', signed({ sub: 'u-43' })],
    ['for a user in another letter case', signed({ sub: 'U-42' })],
    ['without exp', signToken(tokenSecret, { sub: 'u-42' })],
    ['with an exp that is null', signed({ exp: null })],
    ['with an exp that is text', signed({ exp: String(claims.exp) })],
    ['with an exp in milliseconds', signed({ exp: claims.exp * 1000 })],
    ['with an endless exp', signToken(tokenSecret, '{"sub":"u-42","exp":1e999}')],
    ['with an nbf that is text', signed({ nbf: String(now) })],
    ['with an nbf that is null', signed({ nbf: null })],
    ['for another app', signed({ aud: 'app_other' })],
    ['for other apps', signed({ aud: ['app_other', 'app_third'] })],
    ['for no app', signed({ aud: [] })],
    ['for an app that is null', signed({ aud: null })],
    ['for an app in an object', signed({ aud: { [appId]: true } })],
    ['for another device', signed({ device_id: 'dev_other' })],
    ['for a device that is null', signed({ device_id: null })],
    ['of another secret', signToken(`${tokenSecret}x`, claims)],
    ['of the secret of hashes', signToken(hashSecret, claims)],
    ['of too many characters', signed({ more: 'x'.repeat(1500) })],
    ['of a megabyte', '.'.repeat(1_048_576)],
  ])('that is %s proves nothing, and is no fault', (_what, userToken) => {
    expect(isGood(userToken)).toBe(false);
  });

  it('may have 2,048 characters and no more', () => {
    const bare = JSON.stringify({ ...claims, more: '' }).length;
    const ofBytes = (bytes: number) => signed({ more: 'x'.repeat(bytes - bare) });
    expect([ofBytes(1475).length, isGood(ofBytes(1475))]).toEqual([2048, true]);
    expect([ofBytes(1476).length, isGood(ofBytes(1476))]).toEqual([2049, false]);
  });

  it.each<[what: string, changes: object]>([
    ['its app', { aud: appId }],
    ['its app among others', { aud: ['app_other', appId] }],
    ['its device', { device_id: deviceId }],
  ])('that names %s is good', (_what, changes) => {
    expect(isGood(signed(changes))).toBe(true);
  });

  it('has to name the device where that is required', () => {
    expect(isGood(signed(), deviceOnly)).toBe(false);
    expect(isGood(signed({ device_id: deviceId }), deviceOnly)).toBe(true);
    expect(isGood(signed({ device_id: deviceId }), deviceOnly, { deviceId: 'dev_other' })).toBe(false);
  });

  it.each([
    [{ exp: now - 59 }, true],
    [{ exp: now - 60 }, false],
    [{ exp: now + 86_460 }, true],
    [{ exp: now + 86_461 }, false],
    [{ exp: now + 0.5 }, true],
    [{ nbf: now + 60 }, true],
    [{ nbf: now + 61 }, false],
    [{ nbf: now - 1e6 }, true],
  ])('with %j is good: %s', (times, expected) => {
    expect(isGood(signed(times))).toBe(expected);
  });

  it('is good by either secret of a rotation, and never without a secret', () => {
    const other = { form: 'token', secret: `${tokenSecret}2` } as const;
    for (const secrets of [
      [token, other],
      [other, token],
    ]) {
      const rules = { ...both, secrets };
      for (const { secret } of secrets) expect(isGood(signToken(secret, claims), rules)).toBe(true);
    }
    expect(isGood(signToken(other.secret, claims))).toBe(false);
    expect(isGood(signed(), { ...both, secrets: [] })).toBe(false);
  });
});

describe('R-46 no proof says more than its server meant', () => {
  // People may choose their own ids. These are ids that an attacker would choose.
  const name = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
    fc.stringMatching(/^[ .,:"{}a-z0-9=_]{1,40}$/),
    fc.constantFrom('u-42', `${now}.${deviceId}.u-42`, 'u-42","exp":9', `${head}.${body}`),
  );
  const statement = fc.record({ sub: name, device_id: fc.option(name, { nil: undefined }) });

  it('a token is good for the user and the device that it names, and for no others', () => {
    fc.assert(
      fc.property(statement, statement, (meant, claimed) => {
        const userToken = signToken(tokenSecret, { exp: claims.exp, ...meant });
        const isMeant =
          meant.sub === claimed.sub &&
          (meant.device_id === undefined || meant.device_id === (claimed.device_id ?? deviceId));
        const fields = { externalId: claimed.sub, deviceId: claimed.device_id ?? deviceId };
        expect(isGood(userToken, both, fields)).toBe(isMeant && userToken.length <= 2048);
        expect(isGood(userToken, both, { externalId: meant.sub, deviceId: meant.device_id ?? deviceId })).toBe(true);
      }),
    );
  });

  it('a hash is good for its user alone, whatever is made of it', () => {
    fc.assert(
      fc.property(name, name, (meant, claimed) => {
        const userHash = signHash(hashSecret, meant);
        const remade = [userHash, `t=${now},v1=${userHash}`, Buffer.from(userHash, 'hex').toString('base64url')];
        for (const [i, text] of remade.entries()) {
          const byHash = isProven(claim({ userHash: text }, { externalId: claimed }), both, now * 1000);
          expect(byHash).toBe(i === 0 && meant === claimed);
          expect(isGood(`${meant}.${text}`, both, { externalId: claimed })).toBe(false);
        }
      }),
    );
  });

  it('a text that is signed as one form is no proof of the other', () => {
    // If both used one key, the first text would be a token for the victim and the second its hash.
    const text = `${head}.${body}`;
    const asToken = `${text}.${Buffer.from(signHash(hashSecret, text), 'hex').toString('base64url')}`;
    // The answer is no, and not an error.
    const answer = (ask: () => boolean): unknown => {
      try {
        return ask();
      } catch (error) {
        return error;
      }
    };
    expect(answer(() => isGood(asToken))).toBe(false);
    const asHash = Buffer.from(mac, 'base64url').toString('hex');
    expect(answer(() => isProven(claim({ userHash: asHash }, { externalId: text }), both, now * 1000))).toBe(false);
  });
});

function encoded(text: string): string {
  return Buffer.from(text).toString('base64url');
}
