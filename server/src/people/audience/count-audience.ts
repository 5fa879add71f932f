// Counts the devices and users that an audience reaches now: users exactly where the devices are few
// enough, else by a share of the users.
import { type AudienceCount, countFew, countMany, exactDevicesMax, expectDevices } from './count-queries.ts';
import type { AudienceContext, ResolvedAudience } from './queries.ts';

/** Sends one statement. A caller may limit its time. */
export type SendStatement = <Result>(statement: () => Promise<Result>) => Promise<Result>;

/**
 * Begins with the way of counting that suits the planner's guess. A wrong guess costs time and
 * changes no number.
 */
export async function countAudience(
  context: AudienceContext,
  audience: ResolvedAudience,
  send: SendStatement = (statement) => statement(),
): Promise<AudienceCount> {
  const isNamed = 'device_ids' in audience || 'external_ids' in audience;
  const expected = isNamed ? 0 : await send(() => expectDevices(context, audience));
  const few = expected <= exactDevicesMax && (await send(() => countFew(context, audience)));
  if (few) return few;
  const many = await send(() => countMany(context, audience));
  if (many.devices > exactDevicesMax) return many;
  return (await send(() => countFew(context, audience))) ?? many;
}
