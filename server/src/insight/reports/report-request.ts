// Reads the query of a report's URL. Throws the 400 that names every issue.
import { z } from 'zod';
import type { Clock } from '../../ground/database/clock.ts';
import { invalid } from '../../ground/http/api-error.ts';
import { pageQuery } from '../../ground/http/page.ts';
import { validate } from '../../ground/http/validate.ts';
import { instantField } from '../../ground/values/instant.ts';
import type { Issue } from '../../ground/values/issue.ts';
import { type TimeZones, timeZoneField } from '../../ground/values/time-zones.ts';
import { type Group, groups, type Range } from './periods.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
export const rangeDaysMax = 366;
export const windowHoursMax = 720;

/**
 * The field as the API's description shows it. The readers of the field decide which values are
 * valid.
 */
const instantText = z.string().meta({ format: 'date-time' });
const rangeFields = {
  from: instantText,
  to: instantText,
  tz: z.string().default('UTC'),
  group: z.enum(groups).optional(),
};
const windowField = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,8})$/)
  .transform(Number)
  .pipe(z.int().min(1).max(windowHoursMax));

/** The query of the reports `devices` and `events`. */
export const rangeQuery = z.strictObject(rangeFields);
export const engagementQuery = z.strictObject({ ...rangeFields, ...pageQuery(200) });
export const revenueQuery = z.strictObject({
  ...rangeFields,
  ...pageQuery(200),
  window_hours: windowField.optional(),
  message_id: z.string().optional(),
  segment_id: z.string().optional(),
});

export interface AskedRange {
  readonly range: Range;
  readonly zone: string;
  readonly group: Group | null;
}

type Asked<Schema extends z.ZodObject> = Omit<z.output<Schema>, keyof typeof rangeFields> & AskedRange;

/**
 * The query of a report's route. Its reader throws the 400 with every issue of the form, otherwise
 * the 400 of the range.
 */
export function reportQuery<Schema extends typeof rangeQuery>(schema: Schema) {
  return {
    query: schema,
    readQuery: (given: Readonly<Record<string, string>>, { timeZones }: { readonly timeZones: TimeZones }) =>
      readReportQuery(schema, timeZones, given),
  };
}

function readReportQuery<Schema extends typeof rangeQuery>(
  schema: Schema,
  timeZones: TimeZones,
  query: Readonly<Record<string, string>>,
): Asked<Schema> {
  const zoneField = timeZoneField(timeZones).default('UTC');
  const readable = schema.extend({ from: instantField, to: instantField, tz: zoneField });
  const { from, to, tz, group, ...rest } = validate(readable, query);
  const range = { fromMs: from.ms, toMs: to.ms };
  const issue = issueOfRange(range);
  if (issue) throw invalid([issue]);
  return { ...rest, range, zone: tz, group: group ?? null } as Asked<Schema>;
}

function issueOfRange({ fromMs, toMs }: Range): Issue | undefined {
  const path = ['to'];
  if (toMs <= fromMs) return { path, code: 'too_small', message: 'to must be later than from.' };
  if (toMs - fromMs <= rangeDaysMax * dayMs) return undefined;
  return { path, code: 'too_big', message: `to must be at most ${rangeDaysMax} days later than from.` };
}

export interface Kept {
  readonly clock: Clock;
  readonly retentionDays: number;
}

/** The instant from which on every delivery is stored that an event may be credited to. */
export function classedSinceMs({ clock, retentionDays }: Kept, windowHours: number): number {
  return clock.nowMs() - retentionDays * dayMs + windowHours * hourMs;
}

/**
 * Throws the 400 for a window that reaches back before the stored deliveries. The app's own window
 * may do so, because its results are stored.
 */
export function checkWindow(kept: Kept, range: Range, windowHours: number): void {
  if (range.fromMs >= classedSinceMs(kept, windowHours)) return;
  const message = `Deliveries are kept for ${kept.retentionDays} days: with this window from must be later.`;
  throw invalid([{ path: ['window_hours'], code: 'invalid_value', message }]);
}
