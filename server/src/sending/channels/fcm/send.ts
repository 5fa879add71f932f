// Android push: one push is one POST to FCM's HTTP v1 API over warm HTTP/2 connections. `send`
// never rejects and changes no argument; a failure before any request is a refusal without a
// provider's answer.

import type { OutboundResult } from '../../../ground/outbound/http.ts';
import type { OutboundOrigin } from '../../../ground/outbound/socket.ts';
import type { OutboundTransport } from '../../../ground/outbound/transport.ts';
import type { Channel, ChannelClock, Outcome, Rate, SentPush } from '../channel.ts';
import { fcm } from '../channels.ts';
import { refuseLocally } from '../provider-answer.ts';
import { beginPush, PushRequest } from '../push-request.ts';
import { type Access, createAccessTokens } from './access-token.ts';
import { isTokenRefused, readAnswer } from './answer.ts';
import type { FcmCredential } from './credential.ts';
import { buildMessage, payloadBytesOf } from './payload.ts';

export interface FcmOptions {
  /** Used by this channel alone, which closes it. Made with `transportSettings`. */
  readonly transport: OutboundTransport;
  readonly origin: OutboundOrigin;
  /** The endpoint of access tokens, whatever a service account says. */
  readonly tokenEndpoint: OutboundOrigin & { readonly path: string };
  readonly clock: ChannelClock;
  /** The rate of each credential over all processes. Null: as fast as the provider takes it. */
  readonly rate: Rate | null;
  /** Default 10 s (contract 7.5). */
  readonly timeoutMs?: number;
  readonly random?: () => number;
}

/**
 * The transport settings of this channel. FCM ends a connection that has more than 100 streams, and
 * one that is pinged at rest (`too_many_pings`), so connections at rest are closed instead. Another
 * connection is opened only while all streams of the open ones are taken. Thirty connections carry
 * 60,000 pushes a second when FCM answers in 50 ms.
 */
export const transportSettings = { http2: { sessionsMax: 30, streamsMax: 100, idleMs: 90_000 } };

/**
 * Google counts 600,000 messages a minute and asks for a slow start
 * (https://firebase.google.com/docs/cloud-messaging/scale-fcm). This is half of the default quota,
 * reached after one minute.
 */
export const googleRate: Rate = {
  perSecondLeast: 500,
  perSecondMost: 5_000,
  rampMs: 60_000,
  savedMost: 500,
  usableMs: 1_000,
};

// Contract 8, R-37: visible ASCII, at most 4,096 characters.
const tokenForm = /^[\x21-\x7e]{1,4096}$/;

type FcmPush = SentPush<FcmCredential>;

/** Everything that a request is made with. */
interface Made {
  readonly push: FcmPush;
  readonly token: string;
}

export function createFcm(options: FcmOptions): Channel<FcmCredential> {
  const { transport, origin, tokenEndpoint, clock, rate, timeoutMs = 10_000, random = Math.random } = options;
  const { host, port, path } = tokenEndpoint;
  const tokens = createAccessTokens({ transport, origin: { host, port }, path, clock, timeoutMs, random });
  // The same string object as the last time, which lets the header table find it without comparing
  // texts.
  let last = { token: '', authorization: '' };
  const authorizationOf = (token: string): string => {
    if (last.token !== token) last = { token, authorization: `Bearer ${token}` };
    return last.authorization;
  };

  const requestOf = (made: Made, body: Buffer) => {
    const { pool, path } = addressOf(made.push.credential);
    const headers = { authorization: authorizationOf(made.token), 'content-type': 'application/json' };
    return new PushRequest(made, origin, { path, pool, headers, body, timeoutMs }, conclude);
  };

  /** The outcome of a first request. Nearly every one is accepted. */
  const conclude = (request: PushRequest<Made>, answer: OutboundResult): Outcome | Promise<Outcome> => {
    const outcome = readAnswer(answer, clock.nowMs());
    return isTokenRefused(outcome) ? followUp(request.made, request.body, outcome) : outcome;
  };

  /** Makes a second request, because Google refused the access token. */
  const followUp = async ({ push, token }: Made, body: Buffer, outcome: Outcome): Promise<Outcome> => {
    const other = await tokens.replace(push.credential, token);
    if (other === undefined) return outcome;
    if ('refusal' in other) return other.refusal;
    await push.again?.();
    return readAnswer(await transport.request(requestOf({ push, token: other.token }, body)), clock.nowMs());
  };

  const ask = (push: FcmPush, body: Buffer, access: Access): Outcome | undefined => {
    if ('refusal' in access) return access.refusal;
    transport.ask(requestOf({ push, token: access.token }, body));
    return undefined;
  };

  const begin = (push: FcmPush): Outcome | undefined | Promise<Outcome | undefined> => {
    const body = prepare(push);
    if (!Buffer.isBuffer(body)) return body;
    const access = tokens.held(push.credential);
    if (access) return ask(push, body, access);
    return tokens.tokenFor(push.credential).then((later) => ask(push, body, later));
  };

  return {
    send: (push) => beginPush(push, begin),
    ...(rate && { pace: { rate, accountOf: (credential) => addressOf(credential).pool } }),
    close: () => transport.close(),
  };
}

/** The body of the request, or the refusal by a local check. */
function prepare(push: FcmPush): Buffer | Outcome {
  if (!tokenForm.test(push.token)) return refuseLocally('invalid_token', 'The token is not visible ASCII.');
  const text = buildMessage(push);
  const body = Buffer.from(text);
  // FCM counts only a part of the JSON. So that part can exceed the limit only when the whole JSON
  // does.
  const mayExceed = body.length > fcm.payloadBytesMax;
  if (mayExceed && payloadBytesOf(text) > fcm.payloadBytesMax) return refuseLocally('payload_too_large');
  return body;
}

interface Address {
  readonly pool: string;
  readonly path: string;
}

const addresses = new WeakMap<FcmCredential, Address>();

/**
 * The address and connection pool of a credential's pushes. Each credential has connections and a
 * pace of its own. So a credential that spoils its connections, or names another customer's
 * project, harms no other. Remembered per credential object, because every push asks with the same
 * object.
 */
function addressOf(credential: FcmCredential): Address {
  const known = addresses.get(credential);
  if (known !== undefined) return known;
  const { projectId, fingerprint } = credential;
  const path = `/v1/projects/${encodeURIComponent(projectId)}/messages:send`;
  const address = { pool: `${projectId} ${fingerprint}`, path };
  addresses.set(credential, address);
  return address;
}
