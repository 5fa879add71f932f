// Warnings in an answer of POST /v1/messages: what a dry run foresees, and why a send reached fewer
// devices than its caller may expect (contract 5.1). Pure.

import { encodeId, mintUuid } from '../../ground/values/ids.ts';
import { type ChannelId, channelIds } from '../channels/channel.ts';
import { channels } from '../channels/channels.ts';
import { buildPayload } from '../channels/webpush/payload.ts';
import { type CompiledContent, compileContent } from '../content/compile-content.ts';
import { localesOf } from '../content/content.ts';
import { receiptTokenLength } from '../delivery/receipt-token.ts';
import type { MessageRequest } from './message.ts';
import type { MessageCounts } from './queries.ts';

const warningCodes = ['channel_not_configured', 'empty_audience', 'large_payload', 'url_dropped'] as const;
export const dryRunWarningCodes = [...warningCodes, 'rate_too_low', 'quota_exceeded'] as const;

/** A send warns of neither rate nor quota, because it is refused for them. */
export const sendWarningCodes = [...warningCodes, 'none_sent'] as const;

/** A warning. The default is a code that a dry run and a send can both give. */
export interface Warning<Code = (typeof warningCodes)[number]> {
  readonly code: Code;
  readonly channel?: ChannelId;
  readonly message: string;
  /** For `rate_too_low`: the least rate that is high enough. */
  readonly limit?: number;
}

/** Firefox on Android accepts at most this many bytes (providers 1.1). */
const largePayloadBytes = 2744;
/**
 * Smaller content makes no large payload: ids, token and keys add some 300 bytes, and a template
 * renders to at most a few times its text.
 */
const smallContentBytes = 500;

export const emptyAudience: Warning = { code: 'empty_audience', message: 'No active device is in this audience.' };

/** `skipped`: "would be skipped", or "was skipped". */
export function channelNotConfigured(channel: ChannelId, devices: number, skipped: string): Warning {
  const what = devices === 1 ? '1 device' : `${devices} devices`;
  const name = channels.find(({ id }) => id === channel)?.name ?? channel;
  return { code: 'channel_not_configured', channel, message: `${what} ${skipped}: ${name} has no credential.` };
}

/** The warnings about content that web push loses or cannot deliver everywhere. */
export function contentWarnings(content: MessageRequest['content'], compiled: CompiledContent): Warning[] {
  const warnings: Warning[] = [];
  const bytes = payloadBytes(content, compiled);
  if (bytes > largePayloadBytes) {
    const message = `The payload is about ${bytes} bytes; Firefox on Android takes ${largePayloadBytes}.`;
    warnings.push({ code: 'large_payload', channel: 'webpush', message });
  }
  if (compiled.dropsUrl) {
    const message = 'Web push opens http and https only: this url is left out there.';
    warnings.push({ code: 'url_dropped', channel: 'webpush', message });
  }
  return warnings;
}

/** Warnings about a send in its present state. The first answer and a replay have the same. */
export function sendWarnings(content: MessageRequest['content'], counts: MessageCounts) {
  const { accepted, sent, failed, skipped, errorCounts } = counts;
  const warnings: Warning<(typeof sendWarningCodes)[number]>[] = accepted === 0 ? [emptyAudience] : [];
  if ((errorCounts['not_configured'] ?? 0) > 0) {
    for (const channel of channelIds) {
      const of = counts.channels[channel];
      // A channel without a credential attempts nothing.
      if (of.skipped > 0 && of.sent + of.failed === 0) {
        const devices = Math.min(of.skipped, errorCounts['not_configured'] ?? 0);
        warnings.push(channelNotConfigured(channel, devices, devices === 1 ? 'was skipped' : 'were skipped'));
      }
    }
  }
  if (counts.channels.webpush.accepted > 0) warnings.push(...contentWarnings(content, compileContent(content)));
  if (sent === 0 && failed + skipped === accepted) {
    const codes = Object.entries(errorCounts).map(([code, count]) => `${code}: ${count}`);
    const why = accepted === 0 ? 'its audience is empty' : `${failed} failed, ${skipped} skipped (${codes.join(', ')})`;
    warnings.push({ code: 'none_sent', message: `Nobody got this message: ${why}.` });
  }
  return warnings;
}

/**
 * The largest web push payload over all languages, for a person without values. 0 when it cannot be
 * large.
 */
function payloadBytes(given: MessageRequest['content'], content: CompiledContent): number {
  if (Buffer.byteLength(JSON.stringify(given)) < smallContentBytes) return 0;
  const nobody = {
    firstName: null,
    externalId: null,
    country: null,
    language: null,
    timezone: null,
    properties: new Map(),
  };
  const sizes = localesOf(given).map((locale) => {
    const rendered = content.render('webpush', nobody, locale);
    if (rendered.kind !== 'content') return 0;
    const push = {
      credential: undefined,
      token: '',
      messageId: encodeId('msg', mintUuid()),
      deviceId: encodeId('dev', mintUuid()),
      receiptToken: 'x'.repeat(receiptTokenLength),
      clickUrl: null,
      content: rendered.content,
      ttlSeconds: rendered.content.ttl,
    };
    return buildPayload(push, false).length;
  });
  return Math.max(0, ...sizes);
}
