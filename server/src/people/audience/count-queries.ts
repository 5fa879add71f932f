// SQL: how many devices and users an audience reaches.
import { type Fragment, getRow, getValue } from '@carillon/postgres';
import { webDevicesBits } from './platform-units.ts';
import { type AudienceContext, audiencePredicate, type ResolvedAudience } from './queries.ts';

/** Users are counted exactly up to this many devices, and estimated above (contract 5.6). */
export const exactDevicesMax = 100_000;

export interface AudienceCount {
  readonly web: number;
  readonly ios: number;
  readonly android: number;
  readonly devices: number;
  /** Distinct users of the devices. */
  readonly users: number;
  readonly isEstimated: boolean;
}

type CountRow = Omit<AudienceCount, 'android' | 'isEstimated'>;

/**
 * As little as possible is read of each device: one sum counts the devices of two platforms
 * (`platformUnits`), and the rest are of the third.
 */
const devicesOf = ({ tx }: AudienceContext): Fragment => tx`
  (coalesce(sum(a.platform_unit), 0) & ${2 ** webDevicesBits - 1}::bigint)::bigint AS web,
  (coalesce(sum(a.platform_unit), 0) >> ${webDevicesBits}::int)::bigint AS ios, count(*) AS devices`;

function countOf({ web, ios, devices, users }: CountRow, isEstimated: boolean): AudienceCount {
  return { web, ios, android: devices - web - ios, devices, users, isEstimated };
}

/** Counts the devices that a send would reach now. */
export async function countDevices(context: AudienceContext, audience: ResolvedAudience): Promise<number> {
  const { tx } = context;
  return getValue(tx`
    SELECT count(*) AS devices FROM audience a WHERE ${audiencePredicate(context, audience)}`);
}

/** Returns the number of devices that the planner expects. Nothing is counted. */
export async function expectDevices(context: AudienceContext, audience: ResolvedAudience): Promise<number> {
  const { tx } = context;
  const [{ Plan: plan }] = await getValue<[{ Plan: { 'Plan Rows': number } }]>(tx`
    EXPLAIN (FORMAT JSON) SELECT FROM audience a WHERE ${audiencePredicate(context, audience)}`);
  return plan['Plan Rows'];
}

/** Counts devices and their users exactly; undefined as soon as the devices are too many for it. */
export async function countFew(
  context: AudienceContext,
  audience: ResolvedAudience,
): Promise<AudienceCount | undefined> {
  const { tx } = context;
  const row = await getRow(tx<CountRow[]>`
    SELECT ${devicesOf(context)}, count(DISTINCT a.user_id) AS users
    FROM (
      SELECT a.platform_unit, a.user_id FROM audience a WHERE ${audiencePredicate(context, audience)}
      LIMIT ${exactDevicesMax + 1}
    ) AS a`);
  return row.devices > exactDevicesMax ? undefined : countOf(row, false);
}

/** Below this hash of their id are a sixteenth of all users, in every count the same. */
const sixteenthBelow = -(2 ** 31) + 2 ** 28;

/**
 * Counts devices exactly, and estimates their users: as many for each device as in a fixed sixteenth
 * of the users. One pass, which PostgreSQL can run in parallel. Sorting all users would take most of
 * the time. An audience without a user of the sixteenth is counted again, exactly.
 */
export async function countMany(context: AudienceContext, audience: ResolvedAudience): Promise<AudienceCount> {
  const { tx } = context;
  const matching = audiencePredicate(context, audience);
  const row = await getRow(tx<CountRow[]>`
    SELECT web, ios, devices, CASE
      WHEN linked = 0 THEN 0
      WHEN sampled IS NULL THEN (SELECT count(DISTINCT a.user_id) FROM audience a WHERE ${matching})
      ELSE round(linked::float8 * (SELECT count(DISTINCT id) FROM unnest(sampled) AS id) / cardinality(sampled))
    END::bigint AS users
    FROM (
      SELECT ${devicesOf(context)}, count(a.user_id) AS linked,
        array_agg(a.user_id) FILTER (WHERE uuid_hash(a.user_id) < ${sixteenthBelow}::int) AS sampled
      FROM audience a WHERE ${matching}
    ) AS counted`);
  return countOf(row, true);
}
