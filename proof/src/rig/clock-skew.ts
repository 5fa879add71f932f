// How a service is started on a machine whose clock is wrong.
import { fileURLToPath } from 'node:url';
import type { ArmedOptions } from './failpoints.ts';

const preload = fileURLToPath(new URL('clock-skew-preload.mjs', import.meta.url));

/** Ahead where positive. */
export function skewedBy(ms: number): ArmedOptions {
  return { nodeOptions: ['--import', preload], environment: { CARILLON_CLOCK_SKEW_MS: String(ms) } };
}
