// Checks rows by the API's own schemas of a registration and of a user's upsert. Browsers have one
// more rule: nobody can push to a subscription without its keys and the VAPID key with which it was
// made.
import type { Platform } from '../channels/channel.ts';
import { createRegistrationParser, type RegistrationRules } from '../devices/device.ts';
import { isRecord } from '../ground/is-record.ts';
import { ApiError } from '../http/api-error.ts';
import { isStorable } from '../http/json.ts';
import { validate } from '../http/validate.ts';
import { userRequestSchema } from '../users/user.ts';
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
  const parseDevice = createRegistrationParser(rules);
  const userSchema = userRequestSchema(rules.timeZones);
  const parseUser = (body: unknown) => validate(userSchema, body);

  const judgeDevice = (given: GivenRow, fields: Fields): DevicePart => {
    const isWeb = fields['platform'] === 'web';
    const token = isWeb ? readSubscription(fields['token']) : fields['token'];
    const body = { ...fields, ...(token !== undefined && { token }) };
    const parsed = settle(parseDevice, bodyOf(body, given.deviceCells, types, given.isForeign), given.isForeign);
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

  const judgeUser = (given: GivenRow, fields: Fields): UserPart => {
    const parsed = settle(parseUser, bodyOf(fields, given.userCells, types, given.isForeign), given.isForeign);
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

  return (given) => ({
    device: given.device && judgeDevice(given, given.device),
    user: given.user && judgeUser(given, given.user),
  });
}

function bodyOf(fields: Fields, given: readonly Cell[], types: CellTypes, isForeign: boolean): Fields {
  if ('device_id' in fields || 'previous_token' in fields)
    throw new Refused('A file names devices by their tokens: device_id and previous_token mean nothing in it.');
  // Text that was JSON in a cell may contain escapes that nothing has checked yet.
  const cells = given.filter(({ key, text }) => isStorable(key) && isStorable(text));
  if (cells.length < given.length && !isForeign) {
    throw new Refused('A string holds U+0000 or an unpaired surrogate.');
  }
  return cells.length === 0 ? fields : { ...fields, properties: types.read(cells) };
}

// Refuses a subscription without keys by a sentence of its own. The registration reports every
// other fault of a token.
function readSubscription(token: unknown): unknown {
  let subscription = token;
  if (typeof token === 'string') {
    if (/^https?:/.test(token)) throw new Refused(webSentence);
    try {
      subscription = JSON.parse(token);
    } catch {
      return token;
    }
  }
  if (!isRecord(subscription)) return token;
  const keys = isRecord(subscription['keys']) ? subscription['keys'] : {};
  if (!keys['p256dh'] || !keys['auth']) throw new Refused(webSentence);
  return token;
}

function credentialFor(credentials: CredentialsToBind, platform: Platform, vapidKey: string | null): number | null {
  if (platform !== 'web') return credentials[platform];
  const id = vapidKey === null ? credentials.webOtherwise : credentials.web.get(vapidKey.replace(/(?<!=)=+$/, ''));
  if (id === undefined || id === null) throw new Refused(webSentence);
  return id;
}

function settle<Parsed>(parse: (body: unknown) => Parsed, given: Fields, isForeign: boolean): Parsed {
  for (let body = given; ; ) {
    try {
      return parse(body);
    } catch (error) {
      const less = isForeign && error instanceof ApiError ? withoutMisfits(body, error) : undefined;
      if (!less) throw error;
      body = less;
    }
  }
}

// Returns undefined when an issue is in a field that may not be dropped.
function withoutMisfits(body: Fields, { details }: ApiError): Fields | undefined {
  const issues = details.issues ?? [];
  if (issues.length === 0 || !issues.every(({ path }) => softFields.has(String(path[0])))) return undefined;
  const less: Fields = { ...body };
  for (const { path } of issues) {
    const [field, key] = path.map(String);
    const properties = less['properties'];
    if (field === 'properties' && key !== undefined && isRecord(properties))
      less['properties'] = without(properties, key);
    else if (field !== undefined) delete less[field];
  }
  return less;
}

function without(properties: Readonly<Record<string, unknown>>, key: string): Record<string, unknown> {
  const less: Record<string, unknown> = Object.create(null);
  for (const [name, value] of Object.entries(properties)) if (name !== key) less[name] = value;
  return less;
}
