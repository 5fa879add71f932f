import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  boundVectors,
  simpleVectors,
  vectorDevice,
  vectorSeconds,
  vectorSecret,
} from '../../test/fixtures/identify-vectors.ts';
import { type IdentityClaim, isProven, type ProofRules } from './identify-proof.ts';

const nowMs = vectorSeconds * 1000;
const rules: ProofRules = { secrets: [vectorSecret], isBoundRequired: false };
const boundOnly: ProofRules = { ...rules, isBoundRequired: true };
const simple = simpleVectors[0]?.[2] ?? '';
const bound = boundVectors[0]?.[2] ?? '';

const claim = (fields: Partial<IdentityClaim> = {}): IdentityClaim => ({
  deviceId: vectorDevice,
  externalId: 'u-42',
  userHash: simple,
  ...fields,
});

describe('R-46 the published vectors', () => {
  it.each(simpleVectors)('simple, %s: proves its own external id and no other', (_what, externalId, userHash) => {
    expect(isProven(claim({ externalId, userHash }), rules, nowMs)).toBe(true);
    for (const [, other] of simpleVectors) {
      if (other !== externalId) expect(isProven(claim({ externalId: other, userHash }), rules, nowMs)).toBe(false);
    }
  });

  it.each(boundVectors)('bound, %s: proves it for this device alone', (_what, externalId, userHash) => {
    for (const each of [rules, boundOnly]) {
      expect(isProven(claim({ externalId, userHash }), each, nowMs)).toBe(true);
      expect(isProven(claim({ externalId, userHash, deviceId: 'dev_other' }), each, nowMs)).toBe(false);
      expect(isProven(claim({ externalId: 'u-43', userHash }), each, nowMs)).toBe(false);
    }
  });
});

describe('R-46 a proof', () => {
  it.each<[what: string, userHash: string | null | undefined]>([
    ['missing', undefined],
    ['null', null],
    ['empty', ''],
    ['one digit short', simple.slice(1)],
    ['one digit long', `${simple}0`],
    ['in upper case', simple.toUpperCase()],
    ['with a digit that is none', `${simple.slice(0, -1)}g`],
    ['with a digit changed', simple.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))],
    ['with white space', ` ${simple}`],
    ['with a line break', `${simple}\n`],
    ['of 64 characters and more bytes', 'ä'.repeat(64)],
    ['in base64', createHmac('sha256', vectorSecret).update('u-42').digest('base64')],
    ['of another secret', createHmac('sha256', `${vectorSecret}x`).update('u-42').digest('hex')],
    [
      "of the secret's bytes in place of its text",
      createHmac('sha256', Buffer.from(vectorSecret.slice(6), 'base64url'))
        .update('u-42')
        .digest('hex'),
    ],
    ['bound, without its time', bound.replace(/^t=\d+,/, '')],
    ['bound, with another time', bound.replace('1795256130', '1795256131')],
    ['bound, with its time spelled otherwise', bound.replace('t=', 't=0')],
    ['bound, with a fraction', bound.replace('1795256130', '1795256130.0')],
    ['bound, with a sign', bound.replace('t=', 't=+')],
    ['bound, with no digits', bound.replace('1795256130', '')],
    ['bound, with more behind it', `${bound},v2=00`],
    ['bound, the other way round', bound.split(',').reverse().join(',')],
    ['bound, in upper case', bound.replace(/[0-9a-f]{64}/, (mac) => mac.toUpperCase())],
    ['of a megabyte', '0'.repeat(1_048_576)],
  ])('that is %s proves nothing, and is no fault', (_what, userHash) => {
    expect(isProven(claim({ userHash }), rules, nowMs)).toBe(false);
  });

  it('in the simple form proves nothing where the bound form is required', () => {
    expect(isProven(claim(), rules, nowMs)).toBe(true);
    expect(isProven(claim(), boundOnly, nowMs)).toBe(false);
  });

  it.each([
    [-86_400_000, true],
    [-86_400_001, false],
    [0, true],
    [86_400_000, true],
    [86_400_001, false],
  ])('in the bound form, seen %d ms after its instant, is good: %s', (differenceMs, isGood) => {
    expect(isProven(claim({ userHash: bound }), boundOnly, nowMs + differenceMs)).toBe(isGood);
  });

  it('in the simple form is good at any time', () => {
    for (const at of [0, nowMs * 2]) expect(isProven(claim(), rules, at)).toBe(true);
  });

  it('is good by either secret of a rotation, and never without a secret', () => {
    const other = 'idsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8';
    const byOther = claim({ userHash: createHmac('sha256', other).update('u-42').digest('hex') });
    for (const secrets of [
      [vectorSecret, other],
      [other, vectorSecret],
    ]) {
      for (const each of [claim(), byOther]) expect(isProven(each, { ...rules, secrets }, nowMs)).toBe(true);
    }
    expect(isProven(byOther, rules, nowMs)).toBe(false);
    expect(isProven(claim(), { ...rules, secrets: [] }, nowMs)).toBe(false);
  });
});
