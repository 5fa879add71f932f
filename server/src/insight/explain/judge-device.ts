// Judges the result of one message for one device: the steps up to the first that is not ok, and
// the verdict. Pure: all facts are parameters.
import { type ChannelId, channelOfPlatform } from '../../sending/channels/channel.ts';
import { meaningOf } from '../../sending/delivery/code-meaning.ts';
import { channelOfNumber, codeOfNumber, statusOfNumber } from '../../sending/delivery/delivery.ts';
import { type Asked, isSelected, type Membership } from './membership.ts';
import type { ExplainedDelivery, ExplainedDevice, ExplainedMessage, OpenPlace } from './queries.ts';
import type { DetailOf, Step, TurnReason } from './step.ts';
import type { Verdict } from './verdict.ts';

/** The state of the credential by which a device is reached. */
export type CredentialState = 'ok' | 'suspect' | 'failing' | 'missing';

/** The facts about the person or the device that the question names. */
export interface Subject {
  readonly user: DetailOf<'user'>;
  readonly isKnownUser: boolean;
  readonly devices: DetailOf<'devices'>;
  readonly hasActiveDevice: boolean;
}

/** The facts about one device and one message. A stored delivery decides; then an open batch. */
export type Found =
  | { readonly kind: 'delivery'; readonly delivery: ExplainedDelivery & { readonly queuedAt: Date } }
  | { readonly kind: 'open'; readonly place: OpenPlace; readonly pausedAt: Date | null }
  | { readonly kind: 'none'; readonly asked: Asked | null };

export interface Judged {
  readonly verdict: Verdict;
  readonly errorCode: ReturnType<typeof codeOfNumber>;
  readonly attempts: number;
  readonly steps: readonly Step[];
}

export interface DeviceCase {
  readonly device: ExplainedDevice | null;
  readonly found: Found;
  readonly credential: CredentialState;
  readonly nowMs: number;
}

/** `one.device` null: the person has no device that the message could have reached. */
export function judgeDevice(message: ExplainedMessage, subject: Subject, one: DeviceCase): Judged {
  const steps: Step[] = [];
  const { device, found } = one;
  const delivery = found.kind === 'delivery' ? found.delivery : null;
  const code = delivery && codeOfNumber(delivery.errorCode);
  const status = delivery && statusOfNumber(delivery.status);
  const isSkippedFor = (reason: string): boolean => status === 'skipped' && code === reason;
  const stop = (verdict: Verdict): Judged => ({ verdict, errorCode: code, attempts: delivery?.attempts ?? 0, steps });

  const early = stopOfMessage(message, found, isSkippedFor('canceled'));
  if (early) {
    steps.push({ step: 'message', ok: false, detail: messageDetail(message) });
    return stop(early);
  }

  // The delivery shows whose the device was at the send, whatever its user is now.
  const hasPlace = found.kind !== 'none';
  const isKnown = subject.isKnownUser || hasPlace;
  steps.push({ step: 'user', ok: isKnown, detail: subject.user });
  if (!isKnown) return stop('unknown_user');

  if (isSkippedFor('device_inactive')) {
    steps.push({ step: 'devices', ok: false, detail: { ...subject.devices, error_code: 'device_inactive' } });
    return stop('skipped');
  }
  const isActive = hasPlace || (device ? device.status === 'active' : subject.hasActiveDevice);
  steps.push({ step: 'devices', ok: isActive, detail: subject.devices });
  if (!isActive || !device) return stop('no_active_device');

  const queuedAt = delivery?.queuedAt ?? (found.kind === 'open' ? found.place.queuedAt : null);
  if (queuedAt === null) return judgeSelection(message, one, steps, stop);
  steps.push({ step: 'audience', ok: true, detail: { queued_at: queuedAt } });
  steps.push({ step: 'excluded', ok: true, detail: { queued_at: queuedAt } });

  const channel: ChannelId = delivery ? channelOfNumber(delivery.channel) : channelOfPlatform[device.platform];
  const isConfigured = delivery ? code !== 'not_configured' : one.credential === 'ok' || one.credential === 'suspect';
  steps.push({ step: 'channel', ok: isConfigured, detail: { channel, credential: one.credential } });
  if (!isConfigured) return stop(status === 'skipped' ? 'skipped' : status === 'failed' ? 'failed' : 'waiting');

  if (found.kind === 'open') {
    const { perSecond } = message;
    const turn = turnOf(found.place, found.pausedAt, perSecond, one.nowMs);
    const detail = { queued_at: queuedAt, ...turn, ...(perSecond !== null && { per_second: perSecond }) };
    steps.push({ step: 'turn', ok: false, detail });
    return stop('waiting');
  }
  if (isSkippedFor('local_time_past')) {
    steps.push({ step: 'turn', ok: false, detail: { queued_at: queuedAt, reason: 'local_time_past' } });
    return stop('skipped');
  }
  steps.push({ step: 'turn', ok: true, detail: { queued_at: queuedAt } });
  if (!delivery || status === null) throw new Error('a judged device has neither a delivery nor a place');
  return judgeAttempts({ delivery, status, code, device }, steps, stop);
}

/** The verdict of a message that could not reach the device; null: it did, or could have. */
function stopOfMessage(message: ExplainedMessage, found: Found, isSkippedAsCanceled: boolean): Verdict | null {
  if (message.status === 'scheduled') return 'scheduled';
  if (message.startedAt === null) return message.status === 'canceled' ? 'canceled' : 'failed';
  if (isSkippedAsCanceled) return 'canceled';
  return found.kind === 'open' && found.place.skipReason === 'canceled' ? 'canceled' : null;
}

function messageDetail(message: ExplainedMessage): DetailOf<'message'> {
  return {
    status: message.status,
    status_reason: message.statusReason,
    run_at: message.runAt,
    started_at: message.startedAt,
    finished_at: message.finishedAt,
  };
}

type Stop = (verdict: Verdict) => Judged;

/** The device has no delivery, so the present data decides. */
function judgeSelection(message: ExplainedMessage, { device, found }: DeviceCase, steps: Step[], stop: Stop): Judged {
  const asked = found.kind === 'none' ? found.asked : null;
  if (!asked || !device) throw new Error('a device without a delivery was not asked about');
  const { audience, exclusion } = asked;
  if (!isSelected(audience)) {
    steps.push({ step: 'audience', ok: false, detail: selectionDetail(audience) });
    return stop('not_in_audience');
  }
  if (exclusion && isSelected(exclusion)) {
    steps.push({ step: 'audience', ok: true, detail: selectionDetail(audience) });
    steps.push({ step: 'excluded', ok: false, detail: selectionDetail(exclusion) });
    return stop('excluded');
  }
  // The device is selected now but has no delivery, so it was not selected when the message ran.
  const isLater = message.startedAt !== null && device.createdAt > message.startedAt;
  const reason = isLater ? 'registered_later' : 'changed_since';
  steps.push({ step: 'audience', ok: false, detail: { ...selectionDetail(audience), reason } });
  return stop('not_in_audience');
}

function selectionDetail(membership: Membership): DetailOf<'audience'> {
  const asOf = { as_of: 'now' } as const;
  switch (membership.kind) {
    case 'everybody':
      return { path: ['audience', 'all'], ...asOf };
    case 'listed':
      return { path: [...membership.path], ...asOf };
    case 'not_listed':
    case 'segment_gone':
    case 'filter_invalid':
      return { path: [...membership.path], reason: membership.kind, ...asOf };
    case 'matches':
    case 'differs': {
      const { path, segment, field, event, op, value, actual, lastAt, leafIs } = membership.leaf;
      return {
        path: [...path],
        ...(segment && { segment }),
        ...(field !== null && { field }),
        ...(event !== null && { event }),
        op,
        ...(value !== undefined && { value }),
        actual,
        ...(lastAt !== null && { last_at: lastAt }),
        ...(leafIs !== (membership.kind === 'matches') && { under_not: true }),
        ...asOf,
      };
    }
  }
}

function turnOf(
  place: OpenPlace,
  pausedAt: Date | null,
  perSecond: number | null,
  nowMs: number,
): { reason: TurnReason; until?: Date } {
  if (pausedAt) return { reason: 'paused' };
  if (place.dueAt.getTime() > nowMs) return { reason: 'not_due', until: place.dueAt };
  if (place.state === 'claimed') return { reason: 'under_way' };
  if (place.availableAt.getTime() > nowMs) {
    return { reason: place.setbacks > 0 ? 'setback' : 'provider', until: place.availableAt };
  }
  return { reason: perSecond === null ? 'queued' : 'rate' };
}

interface Outcome {
  readonly delivery: ExplainedDelivery;
  readonly status: ReturnType<typeof statusOfNumber>;
  readonly code: ReturnType<typeof codeOfNumber>;
  readonly device: ExplainedDevice;
}

function judgeAttempts({ delivery, status, code, device }: Outcome, steps: Step[], stop: Stop): Judged {
  const meaning = code === null ? null : meaningOf(code);
  const retryAt = status === 'retrying' ? (delivery.timeline?.at(-1)?.retry_at ?? null) : null;
  const { displayedAt, clickedAt, dismissedAt, action } = delivery;
  // A push that failed by a timeout may have arrived: its receipt says so (contract 14).
  const mark = clickedAt ? 'clicked' : displayedAt ? 'displayed' : null;
  steps.push({
    step: 'attempts',
    ok: status === 'sent' || mark !== null,
    detail: {
      status,
      error_code: code,
      meaning: meaning?.meaning ?? null,
      action: meaning?.action ?? null,
      attempts: delivery.attempts,
      http_status: delivery.providerStatus,
      done_at: delivery.doneAt,
      retry_at: retryAt,
    },
  });
  if (status !== 'sent' && mark === null) return stop(status);
  const isReported = (displayedAt ?? clickedAt ?? dismissedAt) !== null;
  const reportsDisplay = device.platform === 'web' && !device.isApple;
  const displayed = isReported ? 'yes' : reportsDisplay ? 'no' : 'unknown';
  steps.push({
    step: 'receipt',
    ok: displayed !== 'no',
    detail: {
      displayed,
      displayed_at: displayedAt,
      clicked_at: clickedAt,
      dismissed_at: dismissedAt,
      action,
    },
  });
  return stop(mark ?? 'sent');
}
