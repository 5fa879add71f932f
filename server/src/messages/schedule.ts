// When a message runs that names an instant: what send_at may be (contract 5.1). Pure; the present is handed in.
import { invalid } from '../platform/api-error.ts';
import type { Instant } from '../platform/instant.ts';

const aheadMsLeast = 30_000;
const aheadMsMost = 365 * 24 * 3_600_000;

/** The instant of the run. Throws the 400 when it is too near, past, or too far. */
export function runAtOf(sendAt: Instant, nowMs: number): Date {
  const aheadMs = sendAt.ms - nowMs;
  if (aheadMs < aheadMsLeast) {
    const message = 'send_at must be at least 30 seconds ahead.';
    throw invalid([{ path: ['send_at'], code: 'too_soon', message }]);
  }
  if (aheadMs > aheadMsMost) {
    throw invalid([{ path: ['send_at'], code: 'too_big', message: 'send_at must be at most 365 days ahead.' }]);
  }
  return new Date(sendAt.ms);
}
