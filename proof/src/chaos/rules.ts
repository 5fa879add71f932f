// The rules for a run's history: for each (message, device) pair and for the totals. The rules know
// the specification and the files of a run (`history-files.ts`), and nothing of the service. They
// judge by what providers and callers saw.
import type { ClaimLine, DeliveryLine, EventLine, MessageLine, RunFacts } from './history-files.ts';

/** One request that reached a provider, reduced to the facts that matter here. */
export interface Request {
  readonly at: number;
  /** When the provider sent its answer. A provider on a busy machine answers late. */
  readonly answeredAt: number;
  /** 0: not answered. */
  readonly status: number;
  /** Topic, apns-id and tag: equal in every push of one delivery. */
  readonly identity: string;
  readonly connectionId: number;
}

/** A message that was accepted for a device, and its result. */
export interface Pair {
  readonly name: string;
  /** Ordered by time. */
  readonly requests: readonly Request[];
  readonly deliveries: readonly DeliveryLine[];
  /** The events that webhooks are to be told of the delivery. */
  readonly told: readonly string[];
  /** Whether a provider has called this device gone, for this message or another. */
  readonly isGone: boolean;
}

export interface PairVerdict {
  readonly isLost: boolean;
  /** Pushes after the first that no outcome asked for. */
  readonly duplicates: number;
  readonly unexplained: number;
  /** The longest time from a push that was repeated to the death of its sender. */
  readonly windowMsMost: number;
  readonly violations: readonly string[];
  /**
   * For each push without explanation: when it was made, and when its sender died or should have
   * committed its outcome.
   */
  readonly spans: readonly { readonly from: number; readonly to: number }[];
}

/** the most pushes to one device for one message. */
const requestsMax = 5;
/** A request that was sent before its sender died may reach the provider this much later. */
export const arrivalSlackMs = 1000;

/**
 * Outcomes after which the specification requires another push. A missing answer is one of them.
 */
function isRetryable(status: number): boolean {
  return status === 0 || status === 408 || status === 429 || status >= 500;
}

export interface RuleContext {
  /** the longest time between a provider's answer to a push and the commit of its outcome. */
  readonly windowMs: number;
  /**
   * How long after this request its sender died, or was stopped for longer than its lease. The
   * outcome may have been lost with the sender. Undefined: nothing happened to the sender.
   */
  msToDeath(request: Request): number | undefined;
}

export function judgePair(pair: Pair, { windowMs, msToDeath }: RuleContext): PairVerdict {
  const { name, requests, deliveries, isGone } = pair;
  const violations: string[] = [];
  const delivery = deliveries[0];
  if (deliveries.length !== 1) violations.push(`${name} has ${deliveries.length} deliveries`);
  const isTerminal = delivery !== undefined && /^(sent|failed|skipped)$/.test(delivery[2]);
  if (delivery && !isTerminal) violations.push(`${name} is ${delivery[2]}`);
  // A device that its provider has called gone needs no further push. Every other device needs one.
  const isLost = !isTerminal || (requests.length === 0 && !(delivery?.[2] === 'skipped' && isGone));
  if (isLost) violations.push(`${name} is lost: ${requests.length} requests, ${delivery?.[2] ?? 'no delivery'}`);
  if (requests.length > requestsMax) violations.push(`${name} had ${requests.length} requests`);
  if (new Set(requests.map(({ identity }) => identity)).size > 1) {
    violations.push(
      `${name} was named differently: ${[...new Set(requests.map((each) => each.identity))].join(' | ')}`,
    );
  }

  let duplicates = 0;
  let unexplained = 0;
  let windowMsMost = 0;
  const spans: { from: number; to: number }[] = [];
  requests.slice(1).forEach((again, index) => {
    const before = requests[index] as Request;
    if (isRetryable(before.status)) return;
    duplicates++;
    const diedMs = msToDeath(before);
    const cutMs = diedMs && Math.max(0, diedMs - (before.answeredAt - before.at));
    windowMsMost = Math.max(windowMsMost, cutMs ?? 0);
    if (cutMs !== undefined && cutMs < windowMs) return;
    unexplained++;
    const when = cutMs === undefined ? 'and its sender lived on' : `${cutMs} ms before its sender died`;
    const stored = delivery ? `the stored outcome came at ${delivery[4]}` : 'no outcome is stored';
    violations.push(
      `${name} had a push at ${again.at} after one that was answered ${before.status} at ${before.answeredAt}, ${when}: it was to be committed by ${before.answeredAt + windowMs}, and ${stored}`,
    );
    spans.push({ from: before.answeredAt, to: before.answeredAt + (cutMs ?? windowMs) });
  });

  const accepted = requests.filter(({ status }) => status >= 200 && status < 300);
  if (delivery?.[2] === 'sent' && accepted.length === 0) violations.push(`${name} is sent and no provider accepted it`);
  if (delivery?.[2] === 'failed' && accepted.some((each) => msToDeath(each) === undefined)) {
    violations.push(`${name} is failed (${delivery[3]}) and a provider accepted it`);
  }
  return { isLost, duplicates, unexplained, windowMsMost, violations, spans };
}

/** A death more than this long after a sender's last known push does not explain that push. */
const deathMsMost = 10_000;
const slotMs = 250;

/** When connections were used. It is kept in slots, because a run has millions of requests. */
export class ConnectionUse {
  readonly #slots = new Map<number, Set<number>>();

  note(connectionId: number, atMs: number): void {
    const slots = this.#slots.get(connectionId) ?? new Set();
    this.#slots.set(connectionId, slots.add(Math.floor(atMs / slotMs)));
  }

  /**
   * Whether the connection was used between two times. Only slots count that lie within both,
   * because a process that was stopped may use its connection in the moment in which it goes on.
   */
  wasUsed(connectionId: number, fromMs: number, toMs: number): boolean {
    for (const slot of this.#slots.get(connectionId) ?? [])
      if (slot * slotMs >= fromMs && (slot + 1) * slotMs <= toMs) return true;
    return false;
  }
}

/**
 * A sender is known by its connection. After a death the connection is never used again, and during
 * a stop it is not used.
 */
export function deathOfSender(
  events: readonly EventLine[],
  wasUsed: ConnectionUse['wasUsed'],
): RuleContext['msToDeath'] {
  return (request) => {
    const deaths = events.flatMap(({ at, until, kind }) => {
      const ms = at - request.at;
      // A sender that cannot reach the database may lose its lease and its uncommitted outcomes,
      // and lives on.
      if (kind === 'outage') return ms <= deathMsMost && request.at <= (until ?? at) ? [ms] : [];
      if (ms > deathMsMost || ms < -arrivalSlackMs) return [];
      return wasUsed(request.connectionId, at + arrivalSlackMs, until ?? Number.POSITIVE_INFINITY) ? [] : [ms];
    });
    return deaths.length === 0 ? undefined : Math.max(0, Math.min(...deaths));
  };
}

/**
 * every final outcome is told exactly once, by its own event, and nothing else is told. A
 * skipped delivery is not told.
 */
export function judgeTold({ name, deliveries, told }: Pair): string[] {
  const wanted = deliveries.flatMap(([, , status]) =>
    status === 'sent' || status === 'failed' ? [`message.${status}`] : [],
  );
  if (told.length === wanted.length && told.every((event) => wanted.includes(event))) return [];
  return [`${name} came to [${wanted.join(', ')}] and a webhook is told [${told.join(', ')}]`];
}

/** Compares the totals that providers saw with the totals that callers are told. */
export function judgeTotals(
  facts: RunFacts,
  messages: readonly MessageLine[],
  rows: ReadonlyMap<string, { readonly sent: number; readonly failed: number; readonly skipped: number }>,
  /** Number of requested devices, by title. */
  asked: ReadonlyMap<string, number>,
): string[] {
  const violations: string[] = [];
  const total = { accepted: 0, skipped: 0 };
  for (const { id, title, status, report } of messages) {
    const counted = rows.get(id) ?? { sent: 0, failed: 0, skipped: 0 };
    const { accepted, sent, failed, skipped } = report;
    const ofRows = counted.sent + counted.failed + counted.skipped;
    if (!/^(sent|failed)$/.test(status)) violations.push(`${title} is ${status}`);
    if (accepted !== sent + failed + skipped) violations.push(`${title} does not add up: ${JSON.stringify(report)}`);
    if (accepted !== ofRows || sent !== counted.sent || failed !== counted.failed || skipped !== counted.skipped) {
      violations.push(`${title} reports ${JSON.stringify(report)} and its deliveries are ${JSON.stringify(counted)}`);
    }
    const audience = asked.get(title) ?? 0;
    if (accepted > audience) violations.push(`${title} accepted ${accepted} of an audience of ${audience}`);
    total.accepted += accepted;
    total.skipped += skipped;
  }
  if (messages.length !== facts.requested) {
    violations.push(`${facts.requested} messages were asked for and there are ${messages.length}`);
  }
  if (facts.quotaUsed !== total.accepted - total.skipped) {
    violations.push(`quota used is ${facts.quotaUsed}, not ${total.accepted} - ${total.skipped}`);
  }
  if (facts.batchesClaimed + facts.batchesWaiting > 0) {
    violations.push(`${facts.batchesClaimed} batches are claimed and ${facts.batchesWaiting} wait`);
  }
  return violations;
}

/**
 * The length of a lease and the interval of its renewals. A lapsed lease tells from these
 * when its holder died.
 */
const leaseMs = 20_000;
const renewEveryMs = 5_000;
const recoveredWithinMs = 30_000;

/**
 * the longest time from the death of a holder to the next claim, and a violation for each
 * time above the limit.
 */
export function judgeRecovery(
  events: readonly EventLine[],
  claims: readonly ClaimLine[],
): { readonly maxMs: number; readonly violations: readonly string[] } {
  let maxMs = 0;
  const violations: string[] = [];
  for (const { batch, leaseEndedAt, takenAt } of claims) {
    // The holder died between its last renewal and the next. When several deaths fit, the first is
    // the worst case.
    const renewedAt = leaseEndedAt - leaseMs;
    const [from, to] = [renewedAt - arrivalSlackMs, renewedAt + renewEveryMs + arrivalSlackMs];
    const deaths = events.filter(({ kind, at, until }) => at <= to && (kind === 'outage' ? (until ?? at) : at) >= from);
    const death = deaths.sort((one, other) => one.at - other.at)[0];
    if (!death) {
      violations.push(`batch ${batch} lost its holder at about ${renewedAt}, when nobody was killed`);
      continue;
    }
    // While the database was away no process could claim a batch, so the time counts from the end
    // of the last outage.
    const ends = events.flatMap(({ kind, at, until }) => (kind === 'outage' && at < takenAt ? [until ?? at] : []));
    const tookMs = Math.max(0, takenAt - Math.max(death.at, ...ends.filter((end) => end >= from)));
    maxMs = Math.max(maxMs, tookMs);
    if (tookMs > recoveredWithinMs)
      violations.push(`batch ${batch} was taken over ${tookMs} ms after ${death.node} died`);
  }
  return { maxMs, violations };
}
