// The kinds of final deliveries: a channel together with an end, such as `sent` or an error code. A
// batch keeps the set of its kinds as bits of one number. So a filter over a whole message skips
// batches without reading their rows. Knows no database.
import { type ChannelId, channelIds } from '../channels/channel.ts';
import { errorCodes } from '../channels/error-code.ts';
import { type DeliveryStatus, skipReasons } from './delivery.ts';

/** The filter that a caller gives; null lets every value pass. */
export interface KindFilter {
  readonly status: DeliveryStatus | null;
  readonly channel: ChannelId | null;
  readonly code: string | null;
}

// Stored in `batches.kinds`, so a bit never changes its meaning: append new ones. Three channels of
// 21 bits fill a bigint without its sign.
const bitsPerChannel = 21;
const sentBit = 0;
/** Room for 14 codes. */
const failedBits = 1;
/** Room for 6 reasons. */
const skippedBits = 15;

type FinalStatus = Exclude<DeliveryStatus, 'retrying'>;

/** Each end of a delivery, with its bit. */
const ends: readonly { readonly status: FinalStatus; readonly code: string | null; readonly bit: number }[] = [
  { status: 'sent', code: null, bit: sentBit },
  ...errorCodes.map((code, i) => ({ status: 'failed' as const, code, bit: failedBits + i })),
  ...skipReasons.map((code, i) => ({ status: 'skipped' as const, code, bit: skippedBits + i })),
];

const bitOfEnd = new Map(ends.map(({ status, code, bit }) => [`${status} ${code}`, bit]));
const everyBit = ends.reduce((bits, { bit }) => bits | (1 << bit), 0);

/**
 * The bits of some final deliveries, as a decimal because a bigint is wider than a number. Runs for
 * every flush.
 */
export function kindsOf(
  items: Iterable<{
    readonly channel: ChannelId;
    readonly final: FinalStatus | null;
    readonly code: string | null;
  }>,
): string {
  const byChannel = new Map<ChannelId, number>();
  for (const { channel, final, code } of items) {
    if (final === null) continue;
    const bit = final === 'sent' ? sentBit : bitOfEnd.get(`${final} ${code}`);
    // An unknown code sets every bit. A set with too many bits costs a reader time, but a set with
    // too few would hide a delivery.
    byChannel.set(channel, (byChannel.get(channel) ?? 0) | (bit === undefined ? everyBit : 1 << bit));
  }
  let kinds = 0n;
  for (const [channel, bits] of byChannel) kinds |= BigInt(bits) << shiftOf(channel);
  return kinds.toString();
}

/** The bits of every kind that a filter lets pass, as a decimal. */
export function kindsWanted({ status, channel, code }: KindFilter): string {
  let ofChannel = 0;
  for (const end of ends) {
    if ((status === null || status === end.status) && (code === null || code === end.code)) ofChannel |= 1 << end.bit;
  }
  let kinds = 0n;
  for (const one of channelIds) {
    if (channel === null || channel === one) kinds |= BigInt(ofChannel) << shiftOf(one);
  }
  return kinds.toString();
}

/**
 * Whether a filter lets pass deliveries that wait for a retry. They are not final, so no bit stands
 * for them.
 */
export function wantsRetrying({ status }: KindFilter): boolean {
  return status === null || status === 'retrying';
}

/** The counters stored for a whole message. */
export interface MessageOutcomes {
  readonly channels: Readonly<
    Record<
      ChannelId,
      { readonly accepted: number; readonly sent: number; readonly failed: number; readonly skipped: number }
    >
  >;
  /** Final failures and skips by code. */
  readonly errorCounts: Readonly<Record<string, number>>;
}

/**
 * Whether a message may have a delivery that the filter lets pass. False is certain, so no row
 * needs to be read.
 */
export function mayHold(filter: KindFilter, { channels, errorCounts }: MessageOutcomes): boolean {
  const { status, channel, code } = filter;
  const counts = channelIds.filter((one) => channel === null || channel === one).map((one) => channels[one]);
  const isPending = counts.some((of) => of.accepted > of.sent + of.failed + of.skipped);
  if (isPending && wantsRetrying(filter)) return true;
  if (code !== null && !errorCounts[code]) return false;
  return ends.some(
    (end) =>
      (status === null || status === end.status) &&
      (code === null || code === end.code) &&
      counts.some((of) => of[end.status] > 0),
  );
}

function shiftOf(channel: ChannelId): bigint {
  return BigInt(channelIds.indexOf(channel) * bitsPerChannel);
}
