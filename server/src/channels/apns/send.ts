// Apple push: one push is one stream of a warm HTTP/2 connection. Never rejects and changes nothing it was handed; what fails
// before any request is a refusal without a provider's answer. Opens no connection per push: Apple takes that for an attack.
import type { Log } from '../../platform/log.ts';
import type { OutboundOrigin } from '../../platform/outbound-socket.ts';
import type { OutboundTransport, TransportRequest } from '../../platform/outbound-transport.ts';
import type { Channel, Environment, Outcome, Push } from '../channel.ts';
import { apns } from '../channels.ts';
import { headerText, refuseLocally } from '../provider-answer.ts';
import { readAnswer } from './answer.ts';
import { type Connection, createConnections } from './connections.ts';
import type { ApnsCredential } from './credential.ts';
import { buildHeaders, buildPayload, uniqueHeaders } from './payload.ts';
import { createProviderTokens } from './provider-token.ts';

export interface ApnsOptions {
  /** Used by this channel alone, which closes it: see `transportSettings`. */
  readonly transport: OutboundTransport;
  readonly origins: Readonly<Record<Environment, OutboundOrigin>>;
  readonly clock: { nowMs(): number };
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** Default 10 s (contract 7.5). */
  readonly timeoutMs?: number;
}

/**
 * How this channel wants its transport: connections that stay, asked now and then whether they still live, since a network
 * between may forget them without a word. Of streams, as many as Apple allows: one until the first token was accepted.
 */
export const transportSettings = {
  http2: { streamsMax: 1_000, idleMs: 3_600_000, ping: { afterMs: 30_000, timeoutMs: 5_000 } },
};

// Contract 8: it goes into the path, so nothing else may be in it.
const tokenForm = /^(?:[0-9a-fA-F]{2}){32,100}$/;

type Request = Pick<TransportRequest, 'path' | 'headers' | 'body' | 'isWanted'>;
type Again = Push<ApnsCredential>['again'];

export function createApns(options: ApnsOptions): Channel<ApnsCredential> {
  const { transport, origins, clock, log, timeoutMs = 10_000 } = options;
  const tokens = createProviderTokens(clock);
  const connections = createConnections(transport, origins, () => clock.nowMs());

  const post = async ({ origin, pool }: Connection, token: string, request: Request) => {
    const { host, port } = origin;
    const { path, body, isWanted } = request;
    const headers = { ...request.headers, authorization: `bearer ${token}` };
    // Field by field, as this runs for every push: spreads cost microseconds. The type says where one is missing.
    const sent = {
      host,
      port,
      method: 'POST',
      path,
      headers,
      body,
      pool,
      timeoutMs,
      unindexed: uniqueHeaders,
      isWanted,
    } as const satisfies Record<Exclude<keyof TransportRequest, 'bodyLimits'>, unknown>;
    const result = await transport.request(sent);
    const date = 'status' in result ? headerText(result.headers, 'date') : undefined;
    return { outcome: readAnswer(result, clock.nowMs()), date };
  };

  /** One environment's word, after what may be put right at once was put right. */
  const ask = async (
    environment: Environment,
    credential: ApnsCredential,
    request: Request,
    again: Again,
  ): Promise<Outcome> => {
    const token = tokens.tokenFor(credential);
    const connection = connections.of(environment, credential);
    const { outcome, date } = await post(connection, token, request);
    if (outcome.kind === 'sent') return outcome;
    const ids = { team_id: credential.teamId, key_id: credential.keyId };
    if (outcome.reason === 'ExpiredProviderToken') {
      const renewed = tokens.renew(credential, token);
      if (renewed !== undefined) {
        await again?.();
        return (await post(connection, renewed, request)).outcome;
      }
      const behindMs = date === undefined ? null : Date.parse(date) - clock.nowMs();
      log.warn({ ...ids, clock_behind_ms: behindMs }, 'Apple calls a token expired that is not: are the clocks right?');
    } else if (outcome.reason === 'UnrelatedKeyIdInToken') {
      if (!connections.renew(connection)) return outcome;
      await again?.();
      return (await post(connections.of(environment, credential), token, request)).outcome;
    } else if (outcome.reason === 'TooManyProviderTokenUpdates') {
      // The token stays as it is; only the connection that saw too many is of no more use.
      connections.renew(connection);
      log.error(ids, 'Apple says that the token is renewed too often');
    } else if ((outcome.provider?.httpStatus ?? 0) >= 500) {
      connections.renew(connection);
    }
    return outcome;
  };

  const send = async (push: Push<ApnsCredential>): Promise<Outcome> => {
    const { credential, environment: known = null, again, isWanted } = push;
    if (!tokenForm.test(push.token)) return refuseLocally('invalid_token', 'The token is not hexadecimal.');
    const body = buildPayload(push);
    if (body.length > apns.payloadBytesMax) return refuseLocally('payload_too_large');
    const path = `/3/device/${push.token.toLowerCase()}`;
    const request: Request = { path, headers: buildHeaders(push, clock.nowMs()), body, isWanted };
    const first = await ask(known ?? credential.environment, credential, request, again);
    if (known !== null || !isBadDeviceToken(first)) return first;
    // A token of the other environment looks like one that never was valid: only the other can tell (contract 8).
    const other = credential.environment === 'production' ? 'sandbox' : 'production';
    await again?.();
    const second = await ask(other, credential, request, again);
    if (second.kind === 'sent') return { ...second, environmentFound: other };
    return isAboutKey(second) ? first : second;
  };

  return {
    ...apns,
    send: (push) => send(push).catch((error: unknown) => refuseLocally('unknown_error', String(error))),
    close: () => transport.close(),
  };
}

function isBadDeviceToken(outcome: Outcome): boolean {
  return outcome.kind === 'refused' && outcome.reason === 'BadDeviceToken';
}

/** The key does not serve that environment: then the first one's word is all there is. */
function isAboutKey(outcome: Outcome): boolean {
  if (outcome.kind === 'sent') return false;
  return outcome.errorCode === 'auth_failed' || /^BadEnvironmentKey/.test(outcome.reason ?? '');
}
