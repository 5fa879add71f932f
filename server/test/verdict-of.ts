// Verdicts for tests that hand them to a hearing or to the verdict book.

import type { Uuid } from '../src/ground/values/ids.ts';
import type { Verdict } from '../src/sending/delivery/verdict.ts';
import type { Bundle } from './setup.ts';

/**
 * What an attempt of now, by the first credential, says of a device: a success, unless `fields` say
 * otherwise.
 */
export const verdictOf = (t: Bundle, deviceId: Uuid, fields: Partial<Verdict> = {}): Verdict => ({
  deviceId,
  credentialId: 1,
  errorCode: null,
  reason: null,
  goneAtMs: null,
  environmentFound: null,
  storedAtMs: t.clock.nowMs(),
  isLocal: false,
  reaches: false,
  isDoubtful: false,
  isUnresolved: false,
  ...fields,
});
