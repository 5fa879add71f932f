// A setback: a claimed batch could not be worked to its end, but its process lives. Says who is at
// fault, and how long the batch waits. The database's state never counts against a batch,
// but the same fault of our own does. Pure: the caller gives the random number.
import { createHash } from 'node:crypto';
import { isDatabaseAway, isDatabaseState } from '@carillon/postgres';

export type Setback =
  /** The database was out of reach. */
  | { readonly kind: 'away' }
  /** The database answered, but too slowly or with a temporary refusal. */
  | { readonly kind: 'slow' }
  /** Any other error: a bug, or a row that cannot be read. Equal faults have equal `fault`. */
  | { readonly kind: 'fault'; readonly fault: string };

export function setbackOf(error: unknown): Setback {
  if (isDatabaseAway(error)) return { kind: 'away' };
  if (isDatabaseState(error)) return { kind: 'slow' };
  return { kind: 'fault', fault: fingerprintOf(error) };
}

const fingerprintLength = 16;

/**
 * Made of name, code and place of the error, and not of its message. A message may name a device,
 * so that equal faults would differ, and it may contain a secret.
 */
function fingerprintOf(error: unknown): string {
  const {
    name = typeof error,
    code = '',
    stack = '',
  } = (error ?? {}) as { name?: string; code?: string; stack?: string };
  const place = stack.split('\n').find((line) => line.trimStart().startsWith('at ')) ?? '';
  return createHash('sha256').update(`${name}\n${code}\n${place}`).digest('hex').slice(0, fingerprintLength);
}

const awayMsLeast = 1000;
const awayMsMost = 5000;
const otherMsFirst = 2000;
const otherMsMost = 60_000;

export interface WaitQuestion {
  /** The setbacks in a row before this one. */
  readonly setbacks: number;
  /** The time until the batch expires. */
  readonly windowLeftMs: number;
  /** Uniform in [0, 1). */
  readonly random: number;
}

/**
 * How long the batch waits: 1 s to 5 s after an outage, otherwise up to 60 s and longer with each
 * setback. Never less than 1 s; above that, at most half of the rest of the send window.
 */
export function waitMsAfter({ kind }: Setback, { setbacks, windowLeftMs, random }: WaitQuestion): number {
  const doubled = 2 ** Math.min(setbacks, 10);
  const mostMs =
    kind === 'away' ? Math.min(awayMsMost, otherMsFirst * doubled) : Math.min(otherMsMost, otherMsFirst * doubled);
  const leastMs = kind === 'away' ? awayMsLeast : mostMs / 2;
  const waitMs = leastMs + (mostMs - leastMs) * random;
  return Math.max(awayMsLeast, Math.min(waitMs, windowLeftMs / 2));
}
