// Shared by the tests of phones: a sandbox with a team's key and a service account, and raw HTTP/2
// requests built after the vendors' documents, in which a test can make any one thing wrong.
import { createPrivateKey, type KeyObject, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import { onTestFinished } from 'vitest';
import type { Sandbox, SandboxOptions } from '../src/sandbox.ts';
import { type Sent, start } from './setup.ts';

export const bundleId = 'com.example.shop';
export const projectId = 'sandbox-shop';
export const messagingScope = 'https://www.googleapis.com/auth/firebase.messaging';

/** A JWT of these parts, signed with ES256 or RS256 depending on the key. */
export function jwt(header: object, claims: object, key: KeyObject): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const input = `${part(header)}.${part(claims)}`;
  const isEc = key.asymmetricKeyType === 'ec';
  const signature = sign('sha256', Buffer.from(input), isEc ? { key, dsaEncoding: 'ieee-p1363' } : key);
  return `${input}.${signature.toString('base64url')}`;
}

/**
 * One HTTP/2 connection to a provider of phones. A request rejects when its stream ends without an
 * answer.
 */
export class Connection {
  readonly session: ClientHttp2Session;

  constructor(sandbox: Sandbox, url: string) {
    this.session = connect(url, { ca: sandbox.certificate });
    this.session.on('error', () => {});
    onTestFinished(() => this.session.destroy());
  }

  async request(headers: OutgoingHttpHeaders, body: string | Buffer): Promise<Sent> {
    const stream = this.session.request(headers);
    stream.end(body);
    const closed = once(stream, 'close').then(() => {
      throw new Error(`the stream ended without an answer, code ${stream.rstCode}`);
    });
    closed.catch(() => {});
    stream.on('error', () => {});
    const [head] = (await Promise.race([once(stream, 'response'), closed])) as [
      IncomingHttpHeaders & { ':status'?: number },
    ];
    let text = '';
    stream.setEncoding('utf8');
    for await (const chunk of stream) text += chunk;
    return { status: head[':status'] ?? 0, headers: head, body: text };
  }
}

/** A sender for an Apple team. */
export class AppleTeam {
  readonly keyId: string;
  readonly teamId: string;
  readonly key: KeyObject;

  constructor(sandbox: Sandbox, request: object = {}) {
    const { keyId, teamId, p8 } = sandbox.registerTeamKey(request);
    this.keyId = keyId;
    this.teamId = teamId;
    this.key = createPrivateKey(p8 ?? '');
  }

  token({ header = {}, claims = {} }: { header?: object; claims?: object } = {}): string {
    const issued = Math.floor(Date.now() / 1000);
    return jwt({ alg: 'ES256', kid: this.keyId, ...header }, { iss: this.teamId, iat: issued, ...claims }, this.key);
  }
}

export const alertPayload = { aps: { alert: { title: 'Hello', body: 'World' }, sound: 'default' } };

/** A request that APNs accepts, with the given overrides; undefined leaves a header out. */
export function apnsRequest(
  device: string,
  token: string,
  overrides: Record<string, string | string[] | undefined> = {},
): OutgoingHttpHeaders {
  const headers: Record<string, string | string[] | undefined> = {
    ':method': 'POST',
    ':path': `/3/device/${device}`,
    authorization: `bearer ${token}`,
    'apns-id': randomUUID(),
    'apns-topic': bundleId,
    'apns-push-type': 'alert',
    'apns-priority': '10',
    'apns-expiration': String(Math.floor(Date.now() / 1000) + 3600),
    'apns-collapse-id': 'msg_1',
    ...overrides,
  };
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
}

/** A sandbox with an iPhone, a team and a connection to APNs. */
export async function startApns(options: SandboxOptions = {}, device: object = {}) {
  const sandbox = await start(options);
  const team = new AppleTeam(sandbox);
  const [phone = ''] = sandbox.install({ platform: 'ios', ...device });
  const connection = new Connection(sandbox, sandbox.phoneUrls.apns);
  const token = team.token();
  return {
    sandbox,
    team,
    phone,
    connection,
    token,
    push: (overrides: Parameters<typeof apnsRequest>[2] = {}, payload: unknown = alertPayload) =>
      connection.request(
        apnsRequest(phone, token, overrides),
        typeof payload === 'string' ? payload : JSON.stringify(payload),
      ),
  };
}

/** The file of a service account, as Google's console gives it. */
export type AccountFile = Record<string, string>;

/** The form that requests an access token, with claims that override the usual ones. */
export function assertion(file: AccountFile, claims: object = {}, header: object = {}): string {
  const issued = Math.floor(Date.now() / 1000);
  const usual = {
    iss: file['client_email'],
    scope: messagingScope,
    aud: file['token_uri'],
    iat: issued,
    exp: issued + 3600,
  };
  const key = createPrivateKey(file['private_key'] ?? '');
  return new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion: jwt({ alg: 'RS256', typ: 'JWT', kid: file['private_key_id'], ...header }, { ...usual, ...claims }, key),
  }).toString();
}

/** A sandbox with an Android phone, a service account and a connection to FCM. */
export async function startFcm(options: SandboxOptions = {}, account: object = {}) {
  const sandbox = await start(options);
  const file = sandbox.createServiceAccount(account);
  const [phone = ''] = sandbox.install({ platform: 'android' });
  const connection = new Connection(sandbox, sandbox.phoneUrls.fcm);
  const ask = (form: string, method = 'POST'): Promise<Sent> =>
    connection.request(
      { ':method': method, ':path': '/token', 'content-type': 'application/x-www-form-urlencoded' },
      form,
    );
  const accessToken = async (claims: object = {}): Promise<string> =>
    JSON.parse((await ask(assertion(file, claims))).body).access_token;
  const send = (token: string | undefined, body: unknown, path = `/v1/projects/${projectId}/messages:send`) =>
    connection.request(
      {
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      typeof body === 'string' ? body : JSON.stringify(body),
    );
  return {
    sandbox,
    file,
    phone,
    connection,
    ask,
    accessToken,
    send,
    message: (message: object = {}) => ({ message: { token: phone, notification: { title: 'Hello' }, ...message } }),
  };
}

/** The parts of an FCM error that a client decides by. */
export function errorOf(sent: Sent): { status: number; name: string; message: string; code: string | undefined } {
  const { error } = JSON.parse(sent.body) as {
    error: { code: number; status: string; message: string; details?: { errorCode?: string }[] };
  };
  return {
    status: sent.status,
    name: error.status,
    message: error.message,
    code: error.details?.map(({ errorCode }) => errorCode).find((each) => each !== undefined),
  };
}
