import { createHmac, hkdfSync } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSignedBy, listForms, type PresentName, sign, signingKey, streamSigner, textOf } from './signed-text.ts';

type Statement = readonly [name: PresentName, parts: readonly (string | Buffer)[]];

const all = listForms();
const present = all.filter(({ isFormer }) => !isFormer);
const text = ([name, parts]: Statement): Buffer => textOf(name, parts as never);
const masterKey = Buffer.alloc(32, 7);

// Parts of few letters, the borders among them. If a form had no borders, its texts would often be
// equal.
const word = fc.array(fc.constantFrom('a', '1', '.', ':', '|', '\n', '\u0000\u0000\u0000\u0001', 'é'), {
  maxLength: 3,
});
const anyPart = word.map((letters) => letters.join(''));
const digits = fc.nat(20).map(String);
const base64url = fc.constantFrom('', 'a', 'b', 'ab', 'a1');
const bytes = (length: number) => fc.constantFrom(0, 1, 97).map((byte) => Buffer.alloc(length, byte));

/** The parts that each form accepts. The other forms accept any text. */
const domains: Partial<Record<PresentName, readonly fc.Arbitrary<string | Buffer>[]>> = {
  receipt: [bytes(16), bytes(2)],
  receiptOfVersion1: [bytes(16), bytes(16), bytes(16)],
  webhook: [digits, anyPart.map((part) => Buffer.from(part))],
  userToken: [base64url, base64url],
};

const statement: fc.Arbitrary<Statement> = fc.constantFrom(...present).chain((form) => {
  const name = form.name as PresentName;
  const parts = domains[name] ?? form.names.map(() => anyPart);
  return fc.tuple(fc.constant(name), fc.tuple(...parts));
});

/** Secrets of apps begin differently. All other texts differ in themselves. */
const secretOf = (name: PresentName): string => {
  const source = all.find((form) => form.name === name)?.source ?? '';
  return source.endsWith('_') ? source : 'ours';
};

describe('R-106 signed texts', () => {
  it('are different for different statements of all forms', () => {
    fc.assert(
      fc.property(fc.array(statement, { minLength: 100, maxLength: 100 }), (statements) => {
        const said = new Map<string, string>();
        for (const one of statements) {
          const [key, meaning] = [`${secretOf(one[0])} ${text(one).toString('hex')}`, JSON.stringify(one)];
          expect(said.get(key) ?? meaning).toBe(meaning);
          said.set(key, meaning);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('differ wherever the borders of the same letters stand', () => {
    const several = present.filter(({ name, names }) => names.length > 1 && !domains[name as PresentName]);
    expect(several.map(({ name }) => name)).toEqual(['browser', 'cursor']);
    fc.assert(
      fc.property(
        fc.constantFrom(...several),
        fc.string(),
        fc.array(fc.nat(), { minLength: 4 }),
        (form, letters, at) => {
          const cut = (places: readonly number[]) => {
            const borders = places.map((place) => place % (letters.length + 1)).sort((one, other) => one - other);
            return form.names.map((_, i) => letters.slice(borders[i - 1] ?? 0, borders[i] ?? letters.length));
          };
          const borders = form.names.length - 1;
          const [one, other] = [cut(at.slice(0, borders)), cut(at.slice(2, 2 + borders))];
          const areEqual = text([form.name as PresentName, one]).equals(text([form.name as PresentName, other]));
          expect(areEqual).toBe(one.join('\u0001') === other.join('\u0001'));
        },
      ),
    );
  });

  it('are refused where a form could not tell the parts apart', () => {
    expect(() => textOf('userToken', ['a.b', 'c'])).toThrow(RangeError);
    expect(() => textOf('webhook', ['1.5', 'body'])).toThrow(RangeError);
    expect(() => textOf('receipt', [Buffer.alloc(17), Buffer.alloc(1)])).toThrow(RangeError);
    expect(() => textOf('session', ['\ud800'])).toThrow(RangeError);
    expect(() => textOf('browser', ['person', 'id'] as never)).toThrow(RangeError);
  });

  it.each([
    ['session', 'carillon session cookie', 32, ['token']],
    ['step', 'carillon sign-in step cookie', 32, ['token']],
    ['browser', 'carillon known browser cookie', 32, ['person', 'id', '7']],
    ['oidcState', 'carillon OpenID Connect state', 32, ['cookie']],
    ['oidcNonce', 'carillon OpenID Connect nonce', 32, ['cookie']],
    ['oidcVerifier', 'carillon OpenID Connect verifier', 32, ['cookie']],
    ['oidcIdentity', 'carillon OpenID Connect identity cookie', 32, ['identity']],
    ['cursor', 'carillon list cursor', 16, ['["é"]', 'position']],
  ] as const)('of the form %s have this label, and stay as they are', (name, label, kept, parts) => {
    const key = Buffer.from(hkdfSync('sha256', masterKey, '', label, 32));
    const mac = createHmac('sha256', key);
    for (const part of [label, ...parts]) {
      const length = Buffer.byteLength(part);
      mac.update(Buffer.from([0, 0, length >> 8, length & 255])).update(part);
    }
    const signature = (sign as (...given: unknown[]) => string)(signingKey(name, masterKey), ...parts);
    expect(signature).toBe(mac.digest().subarray(0, kept).toString('base64url'));
  });

  it('of backups are signed piece by piece, behind their label', () => {
    const label = 'carillon backup';
    const key = Buffer.from(hkdfSync('sha256', masterKey, '', label, 32));
    const wanted = createHmac('sha256', key).update(`\u0000\u0000\u0000\u000f${label}two pieces`).digest('hex');
    const signer = streamSigner(signingKey('backup', masterKey));
    for (const piece of ['two ', 'pieces']) signer.update(Buffer.from(piece));
    expect(Buffer.from(signer.end(), 'latin1').toString('hex')).toBe(wanted);
  });
});

describe('R-106 keys', () => {
  it('have a label for each purpose', () => {
    const labels = present.flatMap(({ source, label }) => (source === 'master key' ? [label] : []));
    expect(labels).not.toContain(null);
    const formerLabels = all.filter(({ isFormer }) => isFormer).map(({ label }) => label);
    expect(new Set([...labels, ...formerLabels]).size).toBe(labels.length + new Set(formerLabels).size);
  });

  it('of one master key are different for each purpose', () => {
    const names = present.filter(({ source }) => source === 'master key').map(({ name }) => name);
    const keys = names.map((name) => Buffer.from(signingKey(name, masterKey).bytes).toString('hex'));
    expect(new Set([...keys, masterKey.toString('hex')]).size).toBe(names.length + 1);
  });

  it('are made from no secret of another form', () => {
    const secrets = { whsec_: 'whsec_1', idjwt_: 'idjwt_1', idsec_: 'idsec_1', '32 bytes': masterKey };
    for (const { name, source } of all) {
      const isMade = Object.values(secrets).filter((secret) => {
        try {
          return signingKey(name, secret);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
          return false;
        }
      });
      expect(isMade).toEqual([source.endsWith('_') ? secrets[source as 'whsec_'] : masterKey]);
    }
  });

  it('verify what one of them signed, in its one spelling', () => {
    const [key, other] = [signingKey('session', masterKey), signingKey('session', Buffer.alloc(32, 8))];
    const signature = sign(key, 'token');
    expect([isSignedBy([other, key], signature, 'token'), isSignedBy([key, other], signature, 'token')]).toEqual([
      true,
      true,
    ]);
    expect([isSignedBy([other], signature, 'token'), isSignedBy([], signature, 'token')]).toEqual([false, false]);
    expect(isSignedBy([key], signature, 'token2')).toBe(false);
    for (const spelling of [`${signature}=`, signature.slice(1), signature.replaceAll('-', '+').concat('='), '', 'é']) {
      expect(isSignedBy([key], spelling, 'token')).toBe(false);
    }
  });
});
