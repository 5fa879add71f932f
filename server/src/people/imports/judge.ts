// Checks rows by the API's own schemas of a registration and of a user's upsert. Browsers have one
// more rule: nobody can push to a subscription without its keys and the VAPID key with which it was
// made.

import { ApiError, invalid } from '../../ground/http/api-error.ts';
import { listBadStrings } from '../../ground/http/json.ts';
import { isRecord } from '../../ground/values/is-record.ts';
import type { Issue } from '../../ground/values/issue.ts';
import type { Platform } from '../../sending/channels/channel.ts';
import { decodeBase64 } from '../../sending/channels/webpush/base64.ts';
import { createRegistrationParser, type RegistrationRules } from '../devices/device.ts';
import { createUserParser } from '../users/user.ts';
import type { Cell, CellTypes } from './cells.ts';
import { type Fields, type GivenRow, Refused } from './given-row.ts';
import type { DevicePart, ImportRow, UserPart } from './row.ts';

/** The credentials to which new devices are bound. */
export interface CredentialsToBind {
  readonly ios: number | null;
  readonly android: number | null;
  /** By public key: the VAPID keys with which browsers may have subscribed. */
  readonly web: ReadonlyMap<string, number>;
  /** For a browser whose row names no key; null when the key is unknown. */
  readonly webOtherwise: number | null;
}

export interface JudgeRules extends RegistrationRules {
  readonly credentials: CredentialsToBind;
  readonly types: CellTypes;
}

/** The refusal of a web row without keys, or with a VAPID key that the app does not have. */
export const webSentence = 'Web subscriptions need their own keys and the VAPID keys they were made with.';

/**
 * Fields of a foreign file that may follow the vendor's own rules and are dropped when they do not
 * fit.
 */
const softFields = new Set([
  ...['locale', 'timezone', 'app_version', 'os', 'os_version', 'model'],
  ...['first_name', 'country', 'language', 'properties'],
]);

/** Creates the check of rows. It throws `Refused`, or the 400 that the API would answer. */
export function createJudge(rules: JudgeRules): (given: GivenRow) => ImportRow {
  const { credentials, types } = rules;
  const parseDevice = storable(createRegistrationParser(rules));
  const parseUser = storable(createUserParser(rules.timeZones));

  const judgeDevice = (given: GivenRow, fields: Fields, dropped: string[]): DevicePart => {
    if (fields['platform'] === 'web') refuseWithoutKeys(fields['token']);
    const body = bodyOf(fields, given.deviceCells, types, dropped);
    const parsed = given.isForeign ? settle(parseDevice, body, dropped) : parseDevice(body);
    return {
      platform: parsed.platform,
      token: parsed.token,
      credentialId: credentialFor(credentials, parsed.platform, given.vapidKey),
      facts: {
        locale: parsed.locale,
        timezone: parsed.timezone,
        appVersion: parsed.app_version,
        sdk: parsed.sdk,
        os: parsed.os,
        osVersion: parsed.os_version,
        model: parsed.model,
      },
      environment: parsed.environment,
      properties: parsed.properties,
      createdAt: given.createdAt,
      lastSeenAt: given.lastSeenAt,
    };
  };

  const judgeUser = (given: GivenRow, fields: Fields, dropped: string[]): UserPart => {
    const body = bodyOf(fields, given.userCells, types, dropped);
    const parsed = given.isForeign ? settle(parseUser, body, dropped) : parseUser(body);
    return {
      externalId: parsed.external_id,
      firstName: parsed.first_name,
      country: parsed.country,
      language: parsed.language,
      timezone: parsed.timezone,
      properties: parsed.properties,
      // In a row that names both, the time belongs to the device.
      createdAt: given.device ? null : given.createdAt,
    };
  };

  return (given) => {
    const dropped = [...given.dropped];
    const device = given.device && judgeDevice(given, given.device, dropped);
    const user = given.user && judgeUser(given, given.user, dropped);
    return { device, user, isForeign: given.isForeign, dropped };
  };
}

function bodyOf(fields: Fields, cells: readonly Cell[], types: CellTypes, dropped: string[]): Fields {
  if ('device_id' in fields || 'previous_token' in fields)
    throw new Refused('A file names devices by their tokens: device_id and previous_token mean nothing in it.');
  return cells.length === 0 ? fields : { ...fields, properties: types.read(cells, dropped) };
}

// Refuses a subscription without keys by a sentence of its own. The registration reports every
// other fault of a token.
function refuseWithoutKeys(token: unknown): void {
  let subscription = token;
  if (typeof token === 'string') {
    if (/^https?:/.test(token)) throw new Refused(webSentence);
    try {
      subscription = JSON.parse(token);
    } catch {
      return;
    }
  }
  if (!isRecord(subscription)) return;
  const keys = isRecord(subscription['keys']) ? subscription['keys'] : {};
  if (!keys['p256dh'] || !keys['auth']) throw new Refused(webSentence);
}

function credentialFor(credentials: CredentialsToBind, platform: Platform, vapidKey: string | null): number | null {
  if (platform !== 'web') return credentials[platform];
  const key = vapidKey === null ? undefined : decodeBase64(vapidKey, 65)?.toString('base64url');
  const id = vapidKey === null ? credentials.webOtherwise : credentials.web.get(key ?? '');
  if (id === undefined || id === null) throw new Refused(webSentence);
  return id;
}

// The API's JSON parser refuses these strings, but a CSV is not read by it.
function storable<Parsed>(parse: (body: unknown) => Parsed): (body: unknown) => Parsed {
  return (body) => {
    const parsed = parse(body);
    const issues = listBadStrings(body);
    if (issues.length > 0) throw invalid(issues);
    return parsed;
  };
}

// Drops the values that the API refuses, until it refuses none.
function settle<Parsed>(parse: (body: unknown) => Parsed, given: Fields, dropped: string[]): Parsed {
  for (let body = given; ; ) {
    try {
      return parse(body);
    } catch (error) {
      const issues = error instanceof ApiError ? (error.details.issues ?? []) : [];
      if (issues.length === 0 || !issues.every(({ path }) => softFields.has(String(path[0])))) throw error;
      body = without(body, issues);
      dropped.push(...issues.map(({ path, message }) => `${path.slice(0, 2).join('.')}: ${message}`));
    }
  }
}

function without(body: Fields, issues: readonly Issue[]): Fields {
  const less: Fields = { ...body };
  for (const { path } of issues) {
    const [field = '', key] = path.map(String);
    const properties = less[field];
    if (key !== undefined && isRecord(properties)) {
      less[field] = Object.fromEntries(Object.entries(properties).filter(([name]) => name !== key));
    } else delete less[field];
  }
  return less;
}
