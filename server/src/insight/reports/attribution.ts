// The rule that credits a purchase, an install or a session to a message (contract 11). Pure: the
// caller passes the deliveries to the person, and nothing here reads a clock.
import type { Uuid } from '../../ground/values/ids.ts';

export const attributionClasses = ['direct', 'influenced', 'unattributed'] as const;
export type AttributionClass = (typeof attributionClasses)[number];

/** The names of events that are classed. Only a purchase has an amount. */
export const attributedNames = ['purchase', 'install', 'session_start'] as const;
export type AttributedName = (typeof attributedNames)[number];

/** One delivery with status `sent` to any device of the person. */
export interface SentDelivery {
  readonly messageId: Uuid;
  readonly sentAtMs: number;
  readonly clickedAtMs: number | null;
}

export type Credit =
  | { readonly class: 'direct' | 'influenced'; readonly messageId: Uuid }
  | { readonly class: 'unattributed'; readonly messageId: null };

export const unattributed: Credit = { class: 'unattributed', messageId: null };

/**
 * Returns the class and the credited message of an event at an instant. A click within the window
 * beats every send. Among clicks or sends the latest wins, and at equal instants the greater
 * message id by bytes. The window includes both ends.
 */
export function classify(atMs: number, deliveries: readonly SentDelivery[], windowMs: number): Credit {
  const fromMs = atMs - windowMs;
  let click: Candidate | undefined;
  let send: Candidate | undefined;
  for (const { messageId, sentAtMs, clickedAtMs } of deliveries) {
    if (clickedAtMs !== null && clickedAtMs <= atMs) {
      if (clickedAtMs >= fromMs) click = later(click, { messageId, atMs: clickedAtMs });
    } else if (sentAtMs >= fromMs && sentAtMs <= atMs) send = later(send, { messageId, atMs: sentAtMs });
  }
  if (click) return { class: 'direct', messageId: click.messageId };
  return send ? { class: 'influenced', messageId: send.messageId } : unattributed;
}

interface Candidate {
  readonly messageId: Uuid;
  readonly atMs: number;
}

// The canonical text of UUIDs sorts like their bytes.
function later(best: Candidate | undefined, other: Candidate): Candidate {
  if (best === undefined || other.atMs > best.atMs) return other;
  return other.atMs === best.atMs && other.messageId > best.messageId ? other : best;
}
