// Apple push: one push is one stream of a warm HTTP/2 connection. `send` never rejects and changes
// no argument; a failure before any request is a refusal without a provider's answer. No push opens
// a connection of its own, because Apple takes that for an attack.

import type { Log } from '../../../ground/host/log.ts';
import type { OutboundResult } from '../../../ground/outbound/http.ts';
import type { OutboundOrigin } from '../../../ground/outbound/socket.ts';
import type { OutboundTransport } from '../../../ground/outbound/transport.ts';
import { isHex } from '../../../ground/values/ids.ts';
import type { Channel, ChannelClock, Environment, Outcome, SentPush } from '../channel.ts';
import { apns } from '../channels.ts';
import { headerText, refuseLocally } from '../provider-answer.ts';
import { beginPush, PushRequest } from '../push-request.ts';
import { readAnswer } from './answer.ts';
import { type Connection, createConnections } from './connections.ts';
import type { ApnsCredential } from './credential.ts';
import { buildHeaders, buildPayload, uniqueHeaders } from './payload.ts';
import { createProviderTokens } from './provider-token.ts';

export interface ApnsOptions {
  /** Used by this channel alone, which closes it. Made with `transportSettings`. */
  readonly transport: OutboundTransport;
  readonly origins: Readonly<Record<Environment, OutboundOrigin>>;
  readonly clock: ChannelClock;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** Default 10 s (contract 7.5). */
  readonly timeoutMs?: number;
}

/**
 * The transport settings of this channel. Connections stay open, and pings test them, because a
 * network between may drop a connection without a word. The number of streams is Apple's limit,
 * which is one until Apple accepted the first token.
 */
export const transportSettings = {
  http2: { streamsMax: 1_000, idleMs: 3_600_000, ping: { afterMs: 30_000, timeoutMs: 5_000 } },
};

// A token goes into the path, so only hexadecimal digits may be in it. Contract 8: whole
// bytes, 32 to 100 of them.
const [tokenLengthMin, tokenLengthMax] = [64, 200];

function isToken(text: string): boolean {
  const { length } = text;
  return length >= tokenLengthMin && length <= tokenLengthMax && length % 2 === 0 && isHex(text);
}

type ApnsPush = SentPush<ApnsCredential>;

/** All parts of a request. */
interface Made {
  readonly push: ApnsPush;
  readonly environment: Environment;
  readonly connection: Connection;
  readonly token: string;
}

export function createApns(options: ApnsOptions): Channel<ApnsCredential> {
  const { transport, origins, clock, log, timeoutMs = 10_000 } = options;
  const tokens = createProviderTokens(clock);
  const connections = createConnections(transport, origins, () => clock.steadyMs());
  // The same string object as the last time, which lets the header table find it without comparing
  // texts.
  let last = { token: '', authorization: '' };
  const authorizationOf = (token: string): string => {
    if (last.token !== token) last = { token, authorization: `bearer ${token}` };
    return last.authorization;
  };

  const requestOf = (made: Made, body: Buffer) => {
    const { push, connection, token } = made;
    const path = `/3/device/${push.token.toLowerCase()}`;
    const headers = buildHeaders(push, clock.nowMs(), authorizationOf(token));
    const parts = { path, pool: connection.pool, headers, body, timeoutMs, unindexed: uniqueHeaders };
    return new PushRequest(made, connection.origin, parts, conclude);
  };

  const postAgain = async (made: Made, body: Buffer): Promise<Outcome> => {
    await made.push.again?.();
    return readAnswer(await transport.request(requestOf(made, body)), clock.nowMs());
  };

  /** The outcome of a first request. Nearly every one is accepted. */
  const conclude = (request: PushRequest<Made>, answer: OutboundResult): Outcome | Promise<Outcome> => {
    const outcome = readAnswer(answer, clock.nowMs());
    return outcome.kind === 'sent' ? outcome : followUp(request.made, request.body, answer);
  };

  /**
   * The outcome in one environment, after repeating for every fault that can be corrected at once.
   */
  const putRight = async (made: Made, body: Buffer, answer: OutboundResult): Promise<Outcome> => {
    const { push, environment, connection, token } = made;
    const outcome = readAnswer(answer, clock.nowMs());
    if (outcome.kind === 'sent') return outcome;
    const { credential } = push;
    const ids = { team_id: credential.teamId, key_id: credential.keyId };
    if (outcome.reason === 'ExpiredProviderToken') {
      const renewed = tokens.renew(credential, token, 'expired');
      if (renewed !== undefined) return postAgain({ ...made, token: renewed }, body);
      const date = 'status' in answer ? headerText(answer.headers, 'date') : undefined;
      const behindMs = date === undefined ? null : Date.parse(date) - clock.nowMs();
      log.warn({ ...ids, clock_behind_ms: behindMs }, 'Apple calls a token expired that is not: are the clocks right?');
    } else if (outcome.reason === 'InvalidProviderToken') {
      const renewed = tokens.renew(credential, token, 'invalid');
      if (renewed !== undefined) return postAgain({ ...made, token: renewed }, body);
    } else if (outcome.reason === 'UnrelatedKeyIdInToken') {
      if (!connections.renew(connection)) return outcome;
      return postAgain({ ...made, connection: connections.of(environment, credential) }, body);
    } else if (outcome.reason === 'TooManyProviderTokenUpdates') {
      // The token is kept. Only the connection is replaced, because it saw too many tokens.
      connections.renew(connection);
      log.error(ids, 'Apple says that the token is renewed too often');
    } else if ((outcome.provider?.httpStatus ?? 0) >= 500) {
      connections.renew(connection);
    }
    return outcome;
  };

  /** The outcome of a push whose first request was not accepted. */
  const followUp = async (made: Made, body: Buffer, answer: OutboundResult): Promise<Outcome> => {
    const { push } = made;
    const { credential, environment: known = null, again } = push;
    const first = await putRight(made, body, answer);
    if (known !== null || !isBadDeviceToken(first)) return first;
    // In this environment, a token of the other one looks like a token that was never valid. Only
    // the other environment can decide (contract 8).
    const environment = credential.environment === 'production' ? 'sandbox' : 'production';
    await again?.();
    const other = madeIn(environment, push);
    const second = await putRight(other, body, await transport.request(requestOf(other, body)));
    if (second.kind === 'sent') return { ...second, environmentFound: environment };
    return isAboutKey(second) ? first : second;
  };

  const madeIn = (environment: Environment, push: ApnsPush): Made => ({
    push,
    environment,
    connection: connections.of(environment, push.credential),
    token: tokens.tokenFor(push.credential),
  });

  const begin = (push: ApnsPush): Outcome | undefined => {
    if (!isToken(push.token)) return refuseLocally('invalid_token', 'The token is not hexadecimal.');
    const body = buildPayload(push);
    if (body.length > apns.payloadBytesMax) return refuseLocally('payload_too_large');
    transport.ask(requestOf(madeIn(push.environment ?? push.credential.environment, push), body));
    return undefined;
  };

  return { send: (push) => beginPush(push, begin), close: () => transport.close() };
}

function isBadDeviceToken(outcome: Outcome): boolean {
  return outcome.kind === 'refused' && outcome.reason === 'BadDeviceToken';
}

/**
 * Whether the refusal concerns our key in that environment. Then only the first environment's
 * answer concerns the token.
 */
function isAboutKey(outcome: Outcome): boolean {
  if (outcome.kind === 'sent') return false;
  return outcome.errorCode === 'auth_failed' || /^BadEnvironmentKey/.test(outcome.reason ?? '');
}
