// Apple push: one push is one stream of a warm HTTP/2 connection. `send` never rejects and changes
// no argument; a failure before any request is a refusal without a provider's answer. No push opens
// a connection of its own, because Apple takes that for an attack.
import { isHex } from '../../ground/ids.ts';
import type { Log } from '../../ground/log.ts';
import type { OutboundTransport } from '../../http2/transport.ts';
import type { OutboundResult } from '../../outbound/http.ts';
import type { OutboundOrigin } from '../../outbound/socket.ts';
import type { Channel, Environment, Outcome, Push } from '../channel.ts';
import { apns } from '../channels.ts';
import { headerText, refuseLocally } from '../provider-answer.ts';
import { PushRequest } from '../push-request.ts';
import { readAnswer } from './answer.ts';
import { type Connection, createConnections } from './connections.ts';
import type { ApnsCredential } from './credential.ts';
import { buildHeaders, buildPayload, uniqueHeaders } from './payload.ts';
import { createProviderTokens } from './provider-token.ts';

export interface ApnsOptions {
  /** Used by this channel alone, which closes it. Made with `transportSettings`. */
  readonly transport: OutboundTransport;
  readonly origins: Readonly<Record<Environment, OutboundOrigin>>;
  readonly clock: { nowMs(): number };
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

type ApnsPush = Push<ApnsCredential>;

/** A request that was answered, and everything it was made with. */
interface Answered {
  readonly push: ApnsPush;
  readonly environment: Environment;
  readonly connection: Connection;
  readonly token: string;
  readonly answer: OutboundResult;
}

export function createApns(options: ApnsOptions): Channel<ApnsCredential> {
  const { transport, origins, clock, log, timeoutMs = 10_000 } = options;
  const tokens = createProviderTokens(clock);
  const connections = createConnections(transport, origins, () => clock.nowMs());
  // The same string object as the last time, which lets the header table find it without comparing
  // texts.
  let last = { token: '', authorization: '' };
  const authorizationOf = (token: string): string => {
    if (last.token !== token) last = { token, authorization: `bearer ${token}` };
    return last.authorization;
  };

  const post = ({ origin, pool }: Connection, token: string, push: ApnsPush, body: Buffer) => {
    const path = `/3/device/${push.token.toLowerCase()}`;
    const headers = buildHeaders(push, clock.nowMs(), authorizationOf(token));
    const parts = { path, pool, headers, body, timeoutMs, unindexed: uniqueHeaders };
    return transport.request(new PushRequest(push, origin, parts));
  };

  // The body is built anew: a push that is accepted at once, as nearly all are, need not keep it.
  const postAgain = async (connection: Connection, token: string, push: ApnsPush): Promise<Outcome> => {
    await push.again?.();
    return readAnswer(await post(connection, token, push, buildPayload(push)), clock.nowMs());
  };

  /**
   * The outcome in one environment, after every fault that can be put right at once was put right.
   */
  const conclude = async (answered: Answered): Promise<Outcome> => {
    const { push, environment, connection, token, answer } = answered;
    const outcome = readAnswer(answer, clock.nowMs());
    if (outcome.kind === 'sent') return outcome;
    const { credential } = push;
    const ids = { team_id: credential.teamId, key_id: credential.keyId };
    if (outcome.reason === 'ExpiredProviderToken') {
      const renewed = tokens.renew(credential, token);
      if (renewed !== undefined) return postAgain(connection, renewed, push);
      const date = 'status' in answer ? headerText(answer.headers, 'date') : undefined;
      const behindMs = date === undefined ? null : Date.parse(date) - clock.nowMs();
      log.warn({ ...ids, clock_behind_ms: behindMs }, 'Apple calls a token expired that is not: are the clocks right?');
    } else if (outcome.reason === 'UnrelatedKeyIdInToken') {
      if (!connections.renew(connection)) return outcome;
      return postAgain(connections.of(environment, credential), token, push);
    } else if (outcome.reason === 'TooManyProviderTokenUpdates') {
      // The token stays: only this connection saw too many tokens, and is replaced.
      connections.renew(connection);
      log.error(ids, 'Apple says that the token is renewed too often');
    } else if ((outcome.provider?.httpStatus ?? 0) >= 500) {
      connections.renew(connection);
    }
    return outcome;
  };

  /** The outcome of a push whose first request was not accepted. */
  const followUp = async (answered: Answered): Promise<Outcome> => {
    const { push } = answered;
    const { credential, environment: known = null, again } = push;
    const first = await conclude(answered);
    if (known !== null || !isBadDeviceToken(first)) return first;
    // A token of the other environment looks like a token that never was valid. Only the other
    // environment can tell (contract 8).
    const environment = credential.environment === 'production' ? 'sandbox' : 'production';
    await again?.();
    const token = tokens.tokenFor(credential);
    const connection = connections.of(environment, credential);
    const answer = await post(connection, token, push, buildPayload(push));
    const second = await conclude({ push, environment, connection, token, answer });
    if (second.kind === 'sent') return { ...second, environmentFound: environment };
    return isAboutKey(second) ? first : second;
  };

  const hear = (answered: Answered): Outcome | Promise<Outcome> => {
    try {
      const outcome = readAnswer(answered.answer, clock.nowMs());
      return outcome.kind === 'sent' ? outcome : followUp(answered).catch(failed);
    } catch (error) {
      return failed(error);
    }
  };

  return {
    ...apns,
    // Thousands of pushes wait for their answers at once. The frame of an async function would keep
    // three times as much in memory for each as one callback does.
    send(push) {
      try {
        if (!isToken(push.token)) return settled(refuseLocally('invalid_token', 'The token is not hexadecimal.'));
        const body = buildPayload(push);
        if (body.length > apns.payloadBytesMax) return settled(refuseLocally('payload_too_large'));
        const environment = push.environment ?? push.credential.environment;
        const token = tokens.tokenFor(push.credential);
        const connection = connections.of(environment, push.credential);
        const asking = post(connection, token, push, body);
        return asking.then((answer) => hear({ push, environment, connection, token, answer }));
      } catch (error) {
        return settled(failed(error));
      }
    },
    close: () => transport.close(),
  };
}

const settled = (outcome: Outcome): Promise<Outcome> => Promise.resolve(outcome);

/** The outcome of a fault of ours. */
const failed = (error: unknown): Outcome => refuseLocally('unknown_error', String(error));

function isBadDeviceToken(outcome: Outcome): boolean {
  return outcome.kind === 'refused' && outcome.reason === 'BadDeviceToken';
}

/**
 * Whether the refusal concerns the key in that environment. Then only the first environment's
 * answer says something of the token.
 */
function isAboutKey(outcome: Outcome): boolean {
  if (outcome.kind === 'sent') return false;
  return outcome.errorCode === 'auth_failed' || /^BadEnvironmentKey/.test(outcome.reason ?? '');
}
