// The devices of a batch for a send: token and state from `devices`, and from the audience row only
// the person's values that the message reads.

import type { Sql } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import { propertyLists, readProperties } from '../../people/audience/property-columns.ts';
import { listFormerPlatforms } from '../../people/devices/purge-queries.ts';
import type { findPropertiesByKeys } from '../../people/properties/queries.ts';
import type { Attribute } from '../content/template-grammar.ts';
import type { Target } from './plan-push.ts';
import { selectTargets } from './queries.ts';

/** The given devices. An attribute that is not in `attributes` is null here, whatever is stored. */
export async function listTargets(
  sql: Sql,
  appId: Uuid,
  deviceIds: readonly Uuid[],
  properties: Awaited<ReturnType<typeof findPropertiesByKeys>>,
  attributes: ReadonlySet<Attribute> = noAttributes,
): Promise<Target[]> {
  const lists = propertyLists(sql, properties);
  const of = await selectTargets(sql, appId, deviceIds, attributes, lists);
  const targets: Target[] = [];
  const unreached = new Set(of.unreachedIds);
  const strangers = new Set(of.strangerIds);
  for (const [i, deviceId] of (of.deviceIds ?? []).entries()) {
    targets.push({
      deviceId,
      userId: of.userIds?.[i] ?? null,
      platform: of.platforms?.[i] ?? 'web',
      isActive: of.actives?.[i] ?? false,
      token: of.tokens?.[i] ?? null,
      credentialId: of.credentialIds?.[i] ?? null,
      storedAtMs: of.storedAts?.[i] ?? 0,
      environment: of.environments?.[i] ?? null,
      hasMismatches: of.mismatches?.[i] ?? false,
      isReached: !unreached.has(deviceId),
      isStranger: strangers.has(deviceId),
      locale: of.locales?.[i] ?? null,
      person: {
        firstName: of.firstNames?.[i] ?? null,
        externalId: of.externalIds?.[i] ?? null,
        country: of.countries?.[i] ?? null,
        language: of.languages?.[i] ?? null,
        timezone: of.timezones?.[i] ?? null,
        properties:
          properties.length === 0
            ? noProperties
            : readProperties((column) => (of[column] as readonly unknown[] | null)?.[i], properties),
      },
    });
  }
  return targets.length === deviceIds.length
    ? targets
    : [...targets, ...(await listGone(sql, appId, deviceIds, targets))];
}

/**
 * Devices that were deleted after the batch was made. Nothing is sent to them, and their deliveries
 * end like any other.
 */
async function listGone(
  sql: Sql,
  appId: Uuid,
  deviceIds: readonly Uuid[],
  found: readonly Target[],
): Promise<Target[]> {
  const known = new Set(found.map(({ deviceId }) => deviceId));
  const goneIds = deviceIds.filter((id) => !known.has(id));
  const platforms = await listFormerPlatforms(sql, appId, goneIds);
  return goneIds.flatMap((deviceId): Target[] => {
    const platform = platforms.get(deviceId);
    return platform === undefined ? [] : [{ ...nothing, deviceId, platform }];
  });
}

const nothing: Omit<Target, 'deviceId' | 'platform'> = {
  userId: null,
  isActive: false,
  token: null,
  credentialId: null,
  storedAtMs: 0,
  environment: null,
  hasMismatches: false,
  isReached: true,
  isStranger: false,
  locale: null,
  person: { firstName: null, externalId: null, country: null, language: null, timezone: null, properties: new Map() },
};

const noAttributes: ReadonlySet<Attribute> = new Set();
const noProperties: ReadonlyMap<string, string | number | boolean> = new Map();
