// Checks the headers of APNs requests, after "Sending notification requests to APNs". Pure except
// for the examination that it writes into.
import type { ApnsReason } from './apns-answers.ts';
import type { CheckName } from './check.ts';
import type { Examination } from './examination.ts';
import type { TeamKey } from './provider-keys.ts';

/**
 * The suffix that each push type adds to the bundle id in the topic; null where Apple names another
 * id.
 */
const topicSuffix: Readonly<Record<string, string | null>> = {
  alert: '',
  background: '',
  voip: '.voip',
  complication: '.complication',
  fileprovider: '.pushkit.fileprovider',
  mdm: null,
  liveactivity: '.push-type.liveactivity',
  location: '.location-query',
  pushtotalk: '.voip-ptt',
  controls: '.push-type.controls',
  widgets: '.push-type.widgets',
};

/** Records what is wrong, in Apple's words. */
export type Refuse = (name: CheckName, reason: ApnsReason, detail: string) => void;

const collapseIdBytesMax = 64;
const storedDaysMax = 30;

export function checkId(id: string | undefined, exam: Examination, refuse: Refuse): void {
  if (id === undefined) exam.skip('apns_id', 'absent; APNs makes one');
  else if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id)) {
    refuse('apns_id', 'BadMessageId', `${JSON.stringify(id)} is not a UUID in its canonical form`);
  } else if (/[A-F]/.test(id)) exam.warn('apns_id', `${id}; the canonical form has lower-case letters`);
  else exam.pass('apns_id', id);
}

/**
 * Checks the expiration in UNIX seconds; `now` is in milliseconds. Milliseconds in the header are
 * the usual mistake.
 */
export function checkExpiration(value: string | undefined, now: number, exam: Examination, refuse: Refuse): void {
  const ahead = Number(value) - Math.floor(now / 1000);
  if (value === undefined) exam.skip('expiration', 'absent; APNs keeps it as long as it likes');
  else if (!/^\d{1,10}$/.test(value)) {
    refuse('expiration', 'BadExpirationDate', `${JSON.stringify(value)} is not a time in UNIX seconds`);
  } else if (value === '0') exam.pass('expiration', '0: one attempt, not stored');
  else if (ahead <= 0) exam.warn('expiration', `${-ahead} s ago: one attempt, not stored`);
  else if (ahead > storedDaysMax * 86_400) exam.warn('expiration', `${ahead} s ahead; APNs keeps 30 days at most`);
  else exam.pass('expiration', `${ahead} s ahead`);
}

/** Returns the push type if it is a known one. The header must agree with the payload. */
export function checkPushType(
  value: string | undefined,
  json: unknown,
  exam: Examination,
  refuse: Refuse,
): string | null {
  const aps = member(json, 'aps');
  const isVisible = ['alert', 'sound', 'badge'].some((name) => member(aps, name) !== undefined);
  const isWaking = member(aps, 'content-available') === 1;
  if (value === undefined) {
    exam.warn('push_type', 'absent; newer systems may drop such a notification');
    return isWaking && !isVisible ? 'background' : 'alert';
  }
  if (!Object.hasOwn(topicSuffix, value)) {
    refuse('push_type', 'InvalidPushType', `${JSON.stringify(value)} is no push type`);
    return null;
  }
  if (value === 'background' && (!isWaking || isVisible)) {
    const wrong = isWaking ? 'it has an alert, sound or badge' : 'content-available is not 1';
    refuse('push_type', 'InvalidPushType', `background, but ${wrong}`);
  } else if (value === 'alert' && !isVisible) {
    refuse('push_type', 'InvalidPushType', 'alert, but the payload has neither alert nor sound nor badge');
  } else exam.pass('push_type', value);
  return value;
}

export function checkPriority(
  value: string | undefined,
  pushType: string | null,
  exam: Examination,
  refuse: Refuse,
): void {
  if (value !== undefined && !['10', '5', '1'].includes(value)) {
    refuse('priority', 'BadPriority', `${JSON.stringify(value)} is not 10, 5 or 1`);
  } else if (pushType === 'background' && value === '10') {
    refuse('priority', 'BadPriority', 'a background push may not have priority 10');
  } else if (value !== undefined) exam.pass('priority', value);
  else if (pushType === 'background') exam.warn('priority', 'absent, so 10, which a background push may not have');
  else exam.pass('priority', 'absent, so 10');
}

export function checkCollapseId(value: string | undefined, exam: Examination, refuse: Refuse): void {
  if (value === undefined) exam.skip('collapse_id', 'absent');
  // Each octet of a header arrives as one character.
  else if (value.length > collapseIdBytesMax) {
    refuse('collapse_id', 'BadCollapseId', `${value.length} bytes, at most ${collapseIdBytesMax}`);
  } else exam.pass('collapse_id', value);
}

/** Returns the bundle id that the topic is for, or null when it is for none. */
export function checkTopic(
  topic: string | undefined,
  pushType: string | null,
  key: TeamKey | null,
  exam: Examination,
  refuse: Refuse,
): string | null {
  if (topic === undefined || topic === '') {
    refuse('apns_topic', 'MissingTopic', 'apns-topic is missing');
    return null;
  }
  const suffix = topicSuffix[pushType ?? 'alert'] ?? null;
  if (!/^[A-Za-z0-9.-]+$/.test(topic) || (suffix !== null && !topic.endsWith(suffix))) {
    refuse('apns_topic', 'BadTopic', `${JSON.stringify(topic)} is no topic for ${pushType ?? 'this push'}`);
    return null;
  }
  if (suffix === null) {
    exam.pass('apns_topic', topic);
    return null;
  }
  const bundleId = topic.slice(0, topic.length - suffix.length);
  if (key?.bundleIds != null && !key.bundleIds.includes(bundleId)) {
    refuse('apns_topic', 'TopicDisallowed', `the key may not send for ${bundleId}`);
  } else exam.pass('apns_topic', topic);
  return bundleId;
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
