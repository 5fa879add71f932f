// Judges what a file says by the words and limits of the API: the very schemas of a registration and of a user's upsert, and for
// browsers the rule that nobody can push to a subscription without its keys and the VAPID key that it was made with.
import type { Platform } from '../channels/channel.ts';
import { createRegistrationParser, type RegistrationRules } from '../devices/device.ts';
import { ApiError } from '../platform/api-error.ts';
import { isStorable } from '../platform/json.ts';
import { validate } from '../platform/validate.ts';
import { userRequestSchema } from '../users/user.ts';
import type { Cell, CellTypes } from './cells.ts';
import { type Fields, type GivenRow, isRecord, Refused } from './given-row.ts';
import type { DevicePart, ImportRow, UserPart } from './row.ts';

/** What new devices are bound to. */
export interface CredentialsToBind {
  readonly ios: number | null;
  readonly android: number | null;
  /** By their public key: what browsers may have subscribed with. */
  readonly web: ReadonlyMap<string, number>;
  /** Of a browser whose row does not say which; null: then nobody knows. */
  readonly webOtherwise: number | null;
}

export interface JudgeRules extends RegistrationRules {
  readonly credentials: CredentialsToBind;
  readonly types: CellTypes;
}

/** Of web rows without their keys, and of keys that are not here. */
export const webSentence = 'Web subscriptions need their own keys and the VAPID keys they were made with.';

/** What a foreign file may have in words of its own. */
const softFields = new Set([
  ...['locale', 'timezone', 'app_version', 'os', 'os_version', 'model'],
  ...['first_name', 'country', 'language', 'properties'],
]);

/** Throws `Refused`, or the 400 that the API would answer. */
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
      // Of a row that names both it is the device's.
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
  // Of text that was JSON in a cell nobody has looked at the escapes.
  const cells = given.filter(({ key, text }) => isStorable(key) && isStorable(text));
  if (cells.length < given.length && !isForeign) {
    throw new Refused('A string holds U+0000 or an unpaired surrogate.');
  }
  return cells.length === 0 ? fields : { ...fields, properties: types.read(cells) };
}

// A subscription without its keys is said to be one; everything else that is wrong with a token the registration says.
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

// Undefined: more is wrong than what may be left out.
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
