// A setback: a batch that was claimed could not be worked to its end, and its process lives. Says whose fault it was and how long
// the batch waits for its next try. The database's state is never held against a batch; the same fault of our own is.
// Pure: the die is handed in.
import { createHash } from 'node:crypto';
import { isDatabaseAway, isDatabaseState } from '../platform/db.ts';

export type Setback =
  /** The database was out of reach. */
  | { readonly kind: 'away' }
  /** The database answered, too slowly or with a refusal of the moment. */
  | { readonly kind: 'slow' }
  /** Anything else: a bug, or a row that cannot be read. `fault` is the same for the same fault. */
  | { readonly kind: 'fault'; readonly fault: string };

export function setbackOf(error: unknown): Setback {
  if (isDatabaseAway(error)) return { kind: 'away' };
  if (isDatabaseState(error)) return { kind: 'slow' };
  return { kind: 'fault', fault: fingerprintOf(error) };
}

const fingerprintLength = 16;

/** By name, code and place: a message may name a device, and would tell one fault apart from itself. It may also hold a secret. */
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
  /** In a row, before this one. */
  readonly setbacks: number;
  /** Until the batch expires. */
  readonly windowLeftMs: number;
  /** Uniform in [0, 1). */
  readonly random: number;
}

/** 1 s to 5 s after an outage, else up to 60 s, longer with each setback; never past half of what is left of the send window. */
export function waitMsAfter({ kind }: Setback, { setbacks, windowLeftMs, random }: WaitQuestion): number {
  const doubled = 2 ** Math.min(setbacks, 10);
  const mostMs =
    kind === 'away' ? Math.min(awayMsMost, otherMsFirst * doubled) : Math.min(otherMsMost, otherMsFirst * doubled);
  const leastMs = kind === 'away' ? awayMsLeast : mostMs / 2;
  const waitMs = leastMs + (mostMs - leastMs) * random;
  return Math.max(awayMsLeast, Math.min(waitMs, windowLeftMs / 2));
}
