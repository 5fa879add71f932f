// Deletes from the event catalog the samples that an erased person's events added, because a sample
// may be an e-mail address. A sample is deleted even when other people sent the same value.
import type { ErasureTurn } from '../../people/users/erasures.ts';
import { clearSamplesOf } from './catalog-queries.ts';

/** Deletes the samples of a turn's people. May be repeated. */
export async function forgetSamplesOfPeople({ appId, erasures, run }: ErasureTurn): Promise<void> {
  const subjectIds = erasures.flatMap(({ userId, deviceIds }) => [userId, ...deviceIds]);
  await run((tx) => clearSamplesOf(tx, appId, subjectIds));
}
