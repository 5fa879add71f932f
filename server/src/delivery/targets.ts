// The devices of a batch as the send sees them: token and state from `devices`, the person's values from the audience row
// beside it, and of the properties only those the message reads.
import { propertyColumns, readPropertyColumns } from '../audience/property-columns.ts';
import type { Sql } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { findPropertiesByKeys } from '../properties/queries.ts';
import type { Target } from './plan-push.ts';
import { selectTargets } from './queries.ts';

export async function listTargets(
  sql: Sql,
  appId: Uuid,
  deviceIds: readonly Uuid[],
  properties: Awaited<ReturnType<typeof findPropertiesByKeys>>,
): Promise<Target[]> {
  const rows = await selectTargets(sql, appId, deviceIds, propertyColumns(sql, properties));
  return rows.map((row) => ({
    deviceId: row.deviceId,
    userId: row.userId,
    platform: row.platform,
    isActive: row.status === 'active',
    token: row.token,
    credentialId: row.credentialId,
    registeredAtMs: row.registeredAt.getTime(),
    environment: row.environment,
    locale: row.locale,
    person: {
      firstName: row.firstName,
      externalId: row.externalId,
      country: row.country,
      language: row.language,
      timezone: row.userTimezone ?? row.timezone,
      properties: properties.length > 0 ? readPropertyColumns(row, properties) : noProperties,
    },
  }));
}

const noProperties: ReadonlyMap<string, string | number | boolean> = new Map();
