// A device: the fields of a registration (contract 8), and the device's states. Pure.
//
//   new ──► active ── refused by its provider, or its token moved on ──► invalid (status_reason)
//            ▲  ▲                                                         │   │
//            │  └──── registered again, or the credential was at fault ───┘   │ opt-out
//            └─────── registered again ─── unsubscribed ◄── opt-out ──────────┴── active
import { z } from 'zod';
import { component, text } from '../../ground/http/schemas.ts';
import { validate } from '../../ground/http/validate.ts';
import { decodeId, type Uuid } from '../../ground/values/ids.ts';
import { isRecord } from '../../ground/values/is-record.ts';
import { issueOf } from '../../ground/values/issue.ts';
import { type TimeZones, timeZoneField } from '../../ground/values/time-zones.ts';
import { type Environment, environments, type Platform, platforms } from '../../sending/channels/channel.ts';
import type { EndpointRules } from '../../sending/channels/webpush/endpoint.ts';
import { canonicalLocale, localeField } from '../../sending/content/locales.ts';
import { propertyChanges, type StoredProperties, showsSame } from '../properties/property.ts';
import { type DeviceToken, parseToken, proofLengthMax, proofOf, tokenForms } from './token.ts';

export const deviceStatuses = ['active', 'invalid', 'unsubscribed'] as const;
export type DeviceStatus = (typeof deviceStatuses)[number];

/**
 * Active devices of one user at most, and inactive ones. Each change of a profile is written to the
 * rows of all of them.
 */
export const devicesPerUserMax = 100;

/** The reason why a device is invalid. */
export const invalidReason = component(
  'InvalidReason',
  z.enum(['unregistered', 'invalid_token', 'credential_mismatch', 'replaced']),
);
export type InvalidReason = z.output<typeof invalidReason>;

/** A row of `devices`. */
export interface Device {
  readonly id: Uuid;
  readonly platform: Platform;
  /** Null after an opt-out, and when the push service said that the token is gone. */
  readonly token: string | null;
  readonly tokenHash: Buffer;
  readonly credentialId: number | null;
  readonly environment: Environment | null;
  readonly status: DeviceStatus;
  /** The device's own properties. */
  readonly properties: StoredProperties;
  /** The last change of fields that a person may edit; null: none since the first registration. */
  readonly changedAt: Date | null;
}

/** The stored values of a device that a person may edit. */
export interface EditableValues {
  readonly environment: Environment | null;
  readonly locale: string | null;
  readonly timezone: string | null;
  readonly properties: StoredProperties;
}

/**
 * Lists what differs between two states of a device, as an edit names it. A stored value whose key
 * the catalog no longer has (`isLive`) is not shown, so its removal is no difference.
 */
export function listChanges(
  former: EditableValues,
  after: EditableValues,
  isLive: (id: number) => boolean,
): (keyof EditableValues)[] {
  const names = (['environment', 'locale', 'timezone'] as const).filter((name) => former[name] !== after[name]);
  return showsSame(former.properties, after.properties, isLive) ? names : [...names, 'properties'];
}

/**
 * An id that is never minted. A malformed id is read as this one, because it behaves exactly like
 * an unknown id (contract 1).
 */
const idOfNoDevice: Uuid = '00000000-0000-0000-0000-000000000000';

export function readDeviceId(text: string): Uuid {
  return decodeId('dev', text) ?? idOfNoDevice;
}

export interface RegistrationRules {
  readonly endpointRules: EndpointRules;
  readonly timeZones: TimeZones;
}

/** Fields whose unusable value does not refuse a phone's registration. */
export const ignorableFields = ['locale', 'timezone'] as const;
type IgnorableField = (typeof ignorableFields)[number];

/** The reasons why a client renewed a subscription on its own. */
export const healedReasons = ['subscription_gone', 'key_changed', 'worker_missing'] as const;
export type HealedReason = (typeof healedReasons)[number];

/**
 * The body of POST /v1/devices. An absent field keeps the stored value; null clears it. `ignored`
 * names the fields that are null here because their values cannot be used.
 */
export type Registration = z.output<ReturnType<typeof registrationSchema>> & {
  readonly ignored: readonly IgnorableField[];
};

/**
 * Creates the parser of registrations, which throws the 400. The form of a token depends on the
 * platform beside it. With `byClient` a locale or time zone that cannot be used is ignored: phones
 * report `GMT+03:00`, `Etc/Unknown` and zones newer than the service, and their users can mend
 * nothing.
 */
export function createRegistrationParser(
  rules: RegistrationRules,
): (body: unknown, byClient?: boolean) => Registration {
  const schemas = new Map(platforms.map((platform) => [platform as unknown, registrationSchema(platform, rules)]));
  const anyPlatform = registrationSchema(undefined, rules);
  const isUsable = {
    locale: (text: string) => canonicalLocale(text) !== null,
    timezone: (text: string) => rules.timeZones.find(text) !== undefined,
  };
  return (body, byClient = false) => {
    const given = isRecord(body) ? body : {};
    const ignored = ignorableFields.filter((name) => {
      const value = given[name];
      return byClient && typeof value === 'string' && !isUsable[name](value);
    });
    const read = ignored.length === 0 ? body : { ...given, ...Object.fromEntries(ignored.map((name) => [name, null])) };
    return { ...validate(schemas.get(given['platform']) ?? anyPlatform, read), ignored };
  };
}

const fact = text(64).nullish();
const environment = z.enum(environments).nullish();

/**
 * The schema of a platform's registration; without a platform, the fields that all platforms share.
 */
export function registrationSchema(platform: Platform | undefined, { endpointRules, timeZones }: RegistrationRules) {
  const fields = z.strictObject({
    platform: z.enum(platforms),
    token: tokenField(platform, endpointRules),
    locale: localeField.nullish(),
    timezone: timeZoneField(timeZones).nullish(),
    app_version: fact,
    sdk: fact,
    os: fact,
    os_version: fact,
    model: fact,
    properties: propertyChanges.nullish(),
    environment:
      platform === 'web' || platform === 'android'
        ? environment.refine((value) => value === null || value === undefined, 'environment is for ios only.')
        : environment,
    device_id: z.string().nullish().describe('A refresh: this token replaces the one of that device.'),
    previous_token: previousTokenField(platform),
    healed: z
      .enum(healedReasons)
      .nullish()
      .describe('Why the client renewed its subscription on its own. Counted, not stored.'),
  });
  return fields.superRefine((given, context) => {
    if (given.previous_token === undefined || typeof given.device_id === 'string') return;
    const message = 'previous_token goes with device_id: it proves that the device is yours.';
    context.addIssue({
      code: 'custom',
      path: ['previous_token'],
      message,
      params: {
        code: 'unrecognized_keys',
        allowed: Object.keys(fields.shape).filter((key) => key !== 'previous_token'),
      },
    });
  });
}

/** The body of an edit of a device. An absent field keeps the stored value; null clears it. */
export function deviceEditSchema(timeZones: TimeZones) {
  return z.strictObject({
    locale: localeField.nullish(),
    timezone: timeZoneField(timeZones).nullish(),
    environment,
    properties: propertyChanges.nullish(),
  });
}

/**
 * Reads `previous_token` as a digest; undefined when none is given. A value that is no token proves
 * nothing and is no error, because a client may have lost its own.
 */
function previousTokenField(platform: Platform | undefined) {
  const object = z.record(z.string(), z.unknown());
  const word = text(proofLengthMax);
  return (platform === 'ios' || platform === 'android' ? word : z.union([word, object]))
    .nullish()
    .transform((given) =>
      platform === undefined || given === undefined || given === null ? undefined : proofOf(platform, given),
    )
    .meta({
      anyOf: [...tokenForms, { type: 'null' }],
      description:
        'By client key the proof of a refresh: the token that the device has now; for web the whole subscription with its auth. Only with `device_id`.',
    });
}

function tokenField(platform: Platform | undefined, rules: EndpointRules) {
  return z
    .unknown()
    .transform((given, context): DeviceToken => {
      const parsed = parseToken(platform, given, rules);
      if ('token' in parsed) return parsed.token;
      for (const issue of parsed.issues) context.issues.push(issueOf(issue, given));
      return z.NEVER;
    })
    .meta({ anyOf: [...tokenForms] });
}
