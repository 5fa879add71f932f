// Web push: one push is one POST to the subscription's endpoint (RFC 8030). `send` never rejects
// and changes no argument; a failure before any request is a refusal without a provider's answer.
import { createHash } from 'node:crypto';
import type { Log } from '../../../ground/host/log.ts';
import type { OutboundResult } from '../../../ground/outbound/http.ts';
import { vendorOf } from '../../../ground/outbound/push-hosts.ts';
import type { OutboundTransport } from '../../../ground/outbound/transport.ts';
import type { ChannelContent, Priority } from '../../content/content.ts';
import type { Channel, ChannelClock, Outcome, Push } from '../channel.ts';
import { headerText, refuseLocally } from '../provider-answer.ts';
import { beginPush } from '../push-request.ts';
import { readAnswer } from './answer.ts';
import { plaintextBytesMax } from './encrypt.ts';
import { type Encryptor, inlineEncryptor } from './encryptor.ts';
import { type EndpointRules, readSubscription, type Subscription } from './endpoint.ts';
import { buildPayload } from './payload.ts';
import { createVapidHeaders, type WebPushCredential } from './vapid.ts';

export interface WebPushOptions {
  /** Used by this channel alone, which closes it. Made with `transportSettings`. */
  readonly transport: OutboundTransport;
  readonly rules: EndpointRules;
  readonly clock: Pick<ChannelClock, 'nowMs' | 'steadyMs'>;
  readonly log: Pick<Log, 'info'>;
  /** Closed with the channel. The default encrypts on the calling thread. */
  readonly encryptor?: Encryptor;
  /** Default 10 s (contract 7.5). */
  readonly timeoutMs?: number;
}

/**
 * The transport settings of this channel. WNS speaks only HTTP/1.1, and WNS and Mozilla prefer
 * fewer connections.
 */
export const transportSettings = {
  isHttp1Only: (host: string) => vendorOf(host) === 'microsoft',
  http1SocketsMax: (host: string) => (['microsoft', 'mozilla'].includes(vendorOf(host)) ? 32 : 64),
};

/** Four weeks: Google's limit, the shortest of the push services' limits. */
const ttlSecondsMax = 2_419_200;

const urgencyOf: Readonly<Record<Priority, string>> = { high: 'high', normal: 'normal', low: 'low' };

export function createWebPush(options: WebPushOptions): Channel<WebPushCredential> {
  const { transport, rules, clock, log, encryptor = inlineEncryptor, timeoutMs = 10_000 } = options;
  const vapid = createVapidHeaders(clock);

  const send = async (push: Push<WebPushCredential>): Promise<Outcome> => {
    const parsed = readSubscription(push.token, rules);
    if ('issues' in parsed) return refuseLocally('invalid_token', parsed.issues[0]?.message);
    const { subscription } = parsed;
    const plaintext = buildPayload(push, vendorOf(subscription.host) === 'apple');
    if (plaintext.length > plaintextBytesMax) return refuseLocally('payload_too_large');
    const body = await encryptor.encrypt(plaintext, subscription.p256dh, subscription.auth);
    if (body === undefined) return refuseLocally('invalid_token', 'The key p256dh is not a point on the curve P-256.');
    const authorization = vapid.headerFor(subscription.origin, push.credential);
    const { host, port, path } = subscription;
    const headers = buildHeaders(push, subscription, authorization);
    // Each app has connections of its own, so that an app that spoils its connections harms
    // no other.
    const pool = push.credential.publicKey;
    const isWanted = (): boolean => push.isWanted?.() ?? true;
    const result = await transport.request({ host, port, path, pool, headers, body, timeoutMs, isWanted });
    const dropped = host.endsWith('.notify.windows.com') ? droppedByMicrosoft(result) : undefined;
    if (dropped)
      log.info({ ...dropped, message_id: push.messageId, device_id: push.deviceId }, 'push taken and dropped');
    return readAnswer(host, result, clock.nowMs());
  };

  return {
    send: (push) => beginPush(push, send),
    async close() {
      await transport.close();
      await encryptor.close();
    },
  };
}

/**
 * Microsoft's report on a push that it accepted and dropped, for the log: such a push counts as
 * sent, so nobody looks at its timeline.
 */
function droppedByMicrosoft(result: OutboundResult): Record<string, string | undefined> | undefined {
  if ('transportError' in result || result.status >= 300) return undefined;
  const told = (name: string): string | undefined => headerText(result.headers, name)?.slice(0, 200);
  if (told('x-wns-status') !== 'dropped') return undefined;
  return {
    wns_notification_status: told('x-wns-notificationstatus'),
    wns_msg_id: told('x-wns-msg-id'),
    wns_debug_trace: told('x-wns-debug-trace'),
    ms_cv: told('ms-cv'),
  };
}

function buildHeaders(
  { content, messageId, ttlSeconds }: Push<unknown>,
  { host }: Subscription,
  authorization: string,
): Record<string, string> {
  const ttl = Math.min(ttlSeconds, ttlSecondsMax);
  const headers: Record<string, string> = {
    ttl: String(ttl),
    urgency: urgencyOf[content.priority],
    topic: topicOf(content, messageId),
    authorization,
    'content-encoding': 'aes128gcm',
    'content-type': 'application/octet-stream',
  };
  // WNS rejects a ttl of 0 unless this header repeats it.
  if (vendorOf(host) === 'microsoft') headers['x-wns-cache-policy'] = ttl === 0 ? 'no-cache' : 'cache';
  return headers;
}

/**
 * 26 characters of the message id, or 32 of a hash. Apple decodes the topic as base64, and both
 * lengths can be decoded.
 */
function topicOf({ collapse_key }: ChannelContent, messageId: string): string {
  if (collapse_key === undefined) return messageId;
  return createHash('sha256').update(collapse_key).digest('base64url').slice(0, 32);
}
