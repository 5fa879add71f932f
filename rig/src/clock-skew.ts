// The options that start a service on a machine with a wrong clock.
import { fileURLToPath } from 'node:url';
import type { ArmedOptions } from './failpoints.ts';

const preload = fileURLToPath(new URL('clock-skew-preload.mjs', import.meta.url));

/** Positive: the clock is ahead. */
export function skewedBy(ms: number): ArmedOptions {
  return { nodeOptions: ['--import', preload], environment: { CARILLON_CLOCK_SKEW_MS: String(ms) } };
}
