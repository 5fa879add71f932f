// Apple's answers: every reason that APNs documents with its status, and the form of a success and
// of a refusal on the wire.
import { randomUUID } from 'node:crypto';
import type { ApnsEnvironment } from './phones.ts';
import type { Answer } from './vendors/vendor.ts';

/**
 * From "Handling notification responses from APNs", with one reason in the spelling that APNs
 * really uses.
 */
const apnsStatus = {
  BadCollapseId: 400,
  BadDeviceToken: 400,
  BadExpirationDate: 400,
  BadMessageId: 400,
  BadPriority: 400,
  BadTopic: 400,
  DeviceTokenNotForTopic: 400,
  DuplicateHeaders: 400,
  IdleTimeout: 400,
  InvalidPushType: 400,
  MissingDeviceToken: 400,
  MissingTopic: 400,
  PayloadEmpty: 400,
  TopicDisallowed: 400,
  BadCertificate: 403,
  BadCertificateEnvironment: 403,
  BadEnvironmentKeyIdInToken: 403,
  BadEnvironmentKeyInToken: 403,
  ExpiredProviderToken: 403,
  Forbidden: 403,
  InvalidProviderToken: 403,
  MissingProviderToken: 403,
  UnrelatedKeyIdInToken: 403,
  BadPath: 404,
  MethodNotAllowed: 405,
  ExpiredToken: 410,
  Unregistered: 410,
  PayloadTooLarge: 413,
  TooManyProviderTokenUpdates: 429,
  TooManyRequests: 429,
  InternalServerError: 500,
  ServiceUnavailable: 503,
  Shutdown: 503,
} as const;

export type ApnsReason = keyof typeof apnsStatus;

export const apnsReasons = Object.keys(apnsStatus) as ApnsReason[];

/** The most likely reason for a bare status. */
const usual: Readonly<Record<number, ApnsReason>> = {
  400: 'BadDeviceToken',
  403: 'InvalidProviderToken',
  404: 'BadPath',
  405: 'MethodNotAllowed',
  410: 'Unregistered',
  413: 'PayloadTooLarge',
  429: 'TooManyRequests',
  500: 'InternalServerError',
  503: 'ServiceUnavailable',
};

/**
 * A refusal. `at` is the time in milliseconds since the epoch that a 410 reports: the token has
 * been invalid since then.
 */
export function refuseByApns(reason: ApnsReason, apnsId: string, at: number): Answer {
  const status = apnsStatus[reason];
  return {
    status,
    headers: { 'content-type': 'application/json', 'apns-id': apnsId },
    body: JSON.stringify(status === 410 ? { reason, timestamp: at } : { reason }),
  };
}

/** The usual refusal for a status that a script asks for. */
export function refuseByApnsStatus(status: number, at: number): Answer {
  const reason = usual[status];
  return reason === undefined
    ? { status, headers: { 'apns-id': makeApnsId() }, body: '' }
    : refuseByApns(reason, makeApnsId(), at);
}

/**
 * 200 without a body. Only the development environment sends the unique id, which Apple's console
 * can look up.
 */
export function acceptByApns(apnsId: string, environment: ApnsEnvironment): Answer {
  const unique: Record<string, string> = environment === 'sandbox' ? { 'apns-unique-id': randomUUID() } : {};
  return { status: 200, headers: { 'apns-id': apnsId, ...unique }, body: '' };
}

/** The id that APNs gives a notification when its sender gave none. */
export function makeApnsId(): string {
  return randomUUID().toUpperCase();
}
