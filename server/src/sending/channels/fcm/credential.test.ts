import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { parseServiceAccount } from './credential.ts';

const google = 'https://oauth2.googleapis.com/token';
const rsaPem = (modulusLength: number) =>
  generateKeyPairSync('rsa', { modulusLength }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const pem = rsaPem(2_048);
/**
 * A key that anybody can make who has seen the public half of `pem`: its modulus, with the secrets
 * of another key.
 */
function stolenPem(): string {
  const [victim, own] = [pem, rsaPem(2_048)].map((each) => createPrivateKey(each).export({ format: 'jwk' }));
  const key = { ...own, n: victim?.n ?? '', e: victim?.e ?? '' };
  return createPrivateKey({ key, format: 'jwk' }).export({ type: 'pkcs8', format: 'pem' }).toString();
}
const ecPem = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();

const account = {
  type: 'service_account',
  project_id: 'shop-4711',
  private_key_id: '0a1b2c',
  private_key: pem,
  client_email: 'push@shop-4711.iam.gserviceaccount.com',
  token_uri: google,
  universe_domain: 'googleapis.com',
};

function problemsOf(file: unknown, tokenUrl = google): string[] {
  const parsed = parseServiceAccount(typeof file === 'string' ? file : JSON.stringify(file), tokenUrl);
  return 'issues' in parsed ? parsed.issues.map(({ path, message }) => [...path, message].join(': ')) : [];
}

test('a file from Google is accepted', () => {
  expect(parseServiceAccount(JSON.stringify(account, null, 2), google)).toMatchObject({
    credential: { projectId: 'shop-4711', clientEmail: account.client_email, privateKeyId: '0a1b2c', tokenUri: google },
  });
});

describe('a file that cannot work is refused with the reason', () => {
  test.each([
    ['text', 'hello', ['It is not JSON: a service account is a JSON file.']],
    ['a list', [], ['It is not a JSON object.']],
    ["the app's file", { project_info: {}, client: [] }, [expect.stringMatching(/google-services\.json/)]],
    ['an OAuth client', { installed: {} }, ['type: It must be "service_account".']],
    ['a user', { ...account, type: 'authorized_user' }, ['type: It must be "service_account".']],
    ['no project', { ...account, project_id: undefined }, ['project_id: It is missing or malformed.']],
    ['a path for a project', { ...account, project_id: '../x' }, ['project_id: It is missing or malformed.']],
    [
      'several missing',
      { type: 'service_account', project_id: 'a', token_uri: google, private_key_id: 'a' },
      ['client_email: It is missing or malformed.', 'private_key: It is missing or malformed.'],
    ],
    ['a line break', { ...account, private_key_id: 'a\nb' }, ['private_key_id: It is missing or malformed.']],
    [
      'a damaged key',
      { ...account, private_key: pem.replaceAll('\n', '') },
      ['private_key: The private key cannot be read: it is damaged, or its line breaks were lost.'],
    ],
    [
      "another's public half before a private one of one's own",
      { ...account, private_key: stolenPem() },
      ['private_key: It cannot sign: the private key is damaged.'],
    ],
    ['an EC key', { ...account, private_key: ecPem }, [expect.stringMatching(/kind ec/)]],
    ['a short key', { ...account, private_key: rsaPem(1_024) }, [expect.stringMatching(/shorter than 2,048/)]],
  ])('%s', (_what, file, problems) => {
    expect(problemsOf(file)).toEqual(problems);
  });
});

describe('R-39 the file cannot choose the address that issues access tokens', () => {
  test.each(['https://evil.example/token', 'http://oauth2.googleapis.com/token', `${google}/`, ''])(
    'token_uri %j is refused',
    (token_uri) => expect(problemsOf({ ...account, token_uri })).toEqual([`token_uri: It must be ${google}.`]),
  );

  test("the operator's own address is taken, and only that one beside Google's", () => {
    const own = 'https://127.0.0.1:8443/token';
    expect(problemsOf({ ...account, token_uri: own }, own)).toEqual([]);
    expect(problemsOf(account, own)).toEqual([]);
    expect(problemsOf({ ...account, token_uri: 'https://127.0.0.1:9/token' }, own)).toHaveLength(1);
  });
});

test('R-44 no text about the key contains a part of the key', () => {
  const said = JSON.stringify(problemsOf({ ...account, private_key: pem.replaceAll('\n', '') }));
  expect(said).not.toContain(pem.split('\n')[3]?.slice(10, 40));
});

test('R-62 two keys under the same names differ, and one key is the same in every spelling', () => {
  const fingerprintOf = (private_key: string): string => {
    const parsed = parseServiceAccount(JSON.stringify({ ...account, private_key }), google);
    return 'credential' in parsed ? parsed.credential.fingerprint : expect.unreachable();
  };
  const pkcs1 = createPrivateKey(pem).export({ type: 'pkcs1', format: 'pem' }).toString();
  expect(fingerprintOf(pkcs1)).toBe(fingerprintOf(pem));
  expect(fingerprintOf(rsaPem(2_048))).not.toBe(fingerprintOf(pem));
});
