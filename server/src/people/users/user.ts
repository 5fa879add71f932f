// A user: the profile that a caller keeps under an external id, and its built-in attributes
// (contract 9). Pure.
import { z } from 'zod';
import { component, pathName, text } from '../../ground/http/schemas.ts';
import { validate } from '../../ground/http/validate.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { issueOf } from '../../ground/values/issue.ts';
import { type TimeZones, timeZoneField } from '../../ground/values/time-zones.ts';
import { countryField } from '../../sending/content/country.ts';
import { languageField } from '../../sending/content/locales.ts';
import { propertyChanges, type StoredProperties } from '../properties/property.ts';

/** Counted in UTF-16 code units. */
export const externalIdLengthMax = 256;

/**
 * A new external id. External ids are compared exactly: no trimming, no case folding, no
 * normalisation.
 */
export const externalIdField = pathName(text(externalIdLengthMax, 1));

export interface User {
  readonly id: Uuid;
  readonly externalId: string;
  readonly firstName: string | null;
  readonly country: string | null;
  readonly language: string | null;
  readonly timezone: string | null;
  readonly properties: StoredProperties;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export const emptyProfile = { firstName: null, country: null, language: null, timezone: null, properties: {} };

/** The body of POST /v1/users. An absent field keeps the stored value; null clears it. */
export function userRequestSchema(timeZones: TimeZones) {
  return z.strictObject({
    external_id: externalIdField,
    first_name: text(128).nullish(),
    country: countryField.nullish(),
    language: languageField.nullish(),
    timezone: timeZoneField(timeZones).nullish(),
    properties: propertyChanges.nullish(),
    device_id: z.string().nullish(),
  });
}

export type UserRequest = z.output<ReturnType<typeof userRequestSchema>>;

/** Creates the parser of that body, which throws the 400. */
export function createUserParser(timeZones: TimeZones): (body: unknown) => UserRequest {
  const schema = userRequestSchema(timeZones);
  return (body) => validate(schema, body);
}

const proofs = ['user_token', 'user_hash'] as const;

/** The body of POST /v1/identify. `external_id` null: the device belongs to nobody from now on. */
export const identifyRequestSchema = component(
  'IdentifyRequest',
  z
    .strictObject({
      device_id: z.string(),
      external_id: externalIdField.nullable(),
      user_token: z.string().nullish().describe('A JSON Web Token, by a secret of the form `token`.'),
      user_hash: z.string().nullish().describe('64 hexadecimal digits, by a secret of the form `hash`.'),
    })
    .superRefine((given, context) => {
      if (proofs.some((name) => (given[name] ?? null) === null)) return;
      const message = 'Send user_token or user_hash, not both.';
      context.issues.push(issueOf({ path: [], code: 'exactly_one_required', message, allowed: proofs }, given));
    }),
  { device_id: 'dev_4r4tgBwaHmRyQNukgzmqsi', external_id: 'u-42', user_token: 'eyJhbGciOiJIUzI1NiIs…' },
);
