// A sample in the event catalog may be an erased person's e-mail address. The samples that their events brought are deleted, also where
// other people sent the same value.
import type { ErasureTurn } from '../users/erasures.ts';
import { clearSamplesOf } from './catalog-queries.ts';

/** May be repeated. */
export async function forgetSamplesOfPeople({ appId, erasures, run }: ErasureTurn): Promise<void> {
  const subjectIds = erasures.flatMap(({ userId, deviceIds }) => [userId, ...deviceIds]);
  await run((tx) => clearSamplesOf(tx, appId, subjectIds));
}
