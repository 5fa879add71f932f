// Which message a purchase, an install or a session is owed to (contract 11). Pure: what was sent to the person and clicked by
// them is handed in, and nothing here reads a clock.
import type { Uuid } from '../platform/ids.ts';

export const attributionClasses = ['direct', 'influenced', 'unattributed'] as const;
export type AttributionClass = (typeof attributionClasses)[number];

/** The events that are classed. Only a purchase has an amount. */
export const attributedNames = ['purchase', 'install', 'session_start'] as const;
export type AttributedName = (typeof attributedNames)[number];

/** One delivery with status `sent` that went to the person, on any of their devices. */
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
 * The class and the credit of what happened at an instant. A click within the window beats any send; the latest counts, and of
 * equal instants the greater message id by bytes. The window includes both its ends.
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

// Canonical text of UUIDs sorts as their bytes do.
function later(best: Candidate | undefined, other: Candidate): Candidate {
  if (best === undefined || other.atMs > best.atMs) return other;
  return other.atMs === best.atMs && other.messageId > best.messageId ? other : best;
}
