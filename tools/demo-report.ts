// Shows a message: what people read, its report, and the timelines of single deliveries, as the API
// returned them.
import { browserNames, type CastMember, nameOf, vendors } from './demo-cast.ts';
import { heading, paint, print, table } from './demo-screen.ts';
import type { Json } from './demo-stage.ts';

export interface Attempt {
  readonly type: string;
  readonly at: string;
  readonly attempt?: number;
  readonly outcome?: string;
  readonly error_code?: string | null;
  readonly latency_ms?: number;
  readonly retry_at?: string | null;
  readonly reason?: string;
  readonly provider?: { readonly http_status: number | null } | null;
}

export interface Delivery {
  readonly device_id: string;
  readonly status: string;
  readonly error_code: string | null;
  readonly attempts: number;
  readonly displayed_at: string | null;
  readonly clicked_at: string | null;
  readonly dismissed_at: string | null;
  readonly timeline: readonly Attempt[];
}

export interface InboxEntry {
  readonly id: number;
  readonly endpoint: string;
  readonly delivered: boolean;
  readonly notification: { readonly title: string; readonly body: string } | null;
}

/** A member of the cast with the browser that was made for them. */
export interface Actor {
  readonly member: CastMember;
  readonly endpoint: string;
  readonly deviceId: string;
}

export function showScreens(actors: readonly Actor[], entries: readonly InboxEntry[]): void {
  heading('What people read');
  table(
    ['browser', 'language', 'title', 'body'],
    actors.map(({ member, endpoint }) => {
      const shown = entries.find((entry) => entry.endpoint === endpoint)?.notification;
      return [
        browserNames[member.vendor],
        member.user?.language ?? member.locale,
        shown?.title ?? paint('dim', 'nothing: this browser is gone'),
        shown?.body ?? '',
      ];
    }),
  );
}

export function showReport(
  messageId: string,
  message: Json,
  actors: readonly Actor[],
  deliveries: readonly Delivery[],
): void {
  heading(`Report of ${messageId}`);
  const row = (name: string, of: readonly Delivery[]): string[] => {
    const count = (test: (delivery: Delivery) => boolean): string => String(of.filter(test).length);
    return [
      name,
      String(of.length),
      ...['sent', 'failed', 'skipped'].map((status) => count((delivery) => delivery.status === status)),
      count((delivery) => delivery.displayed_at !== null),
      count((delivery) => delivery.clicked_at !== null),
      count((delivery) => delivery.dismissed_at !== null),
    ];
  };
  const rows = vendors.map((vendor) =>
    row(
      browserNames[vendor],
      actors.filter(({ member }) => member.vendor === vendor).flatMap((actor) => findDelivery(deliveries, actor) ?? []),
    ),
  );
  const { accepted, sent, failed, skipped } = message['report'] as Record<string, number>;
  const { displayed, clicked, dismissed } = message['engagement'] as Record<string, number>;
  const sum = [accepted, sent, failed, skipped, displayed, clicked, dismissed].map(String);
  const headings = ['', 'accepted', 'sent', 'failed', 'skipped', 'displayed', 'clicked', 'dismissed'];
  table(headings, [...rows, ['message', ...sum]], true);
  print(paint('dim', 'Safari shows a push without its service worker, so it reports clicks and no displays.'));
}

export function showTimeline(member: CastMember, delivery: Delivery | undefined): void {
  const marks = ['displayed', 'clicked', 'dismissed'].filter((mark) =>
    delivery?.timeline.some((entry) => entry.type === mark),
  );
  const words = [delivery?.status ?? 'missing', delivery?.error_code, ...marks].filter((word) => word);
  heading(`${nameOf(member)} ${paint('dim', `· ${words.join(', ')}`)}`);
  const startedAt = Date.parse(delivery?.timeline[0]?.at ?? '');
  for (const entry of delivery?.timeline ?? []) {
    const offset = `+${Date.parse(entry.at) - startedAt} ms`.padStart(9);
    print(`${paint('dim', offset)}  ${describeEntry(entry)}`);
  }
}

function describeEntry(entry: Attempt): string {
  if (entry.type === 'device_invalidated') return `device retired: ${entry.reason}`;
  if (entry.type !== 'attempt') return entry.type;
  const status = entry.provider?.http_status ?? 'no answer';
  const colour = entry.outcome === 'sent' ? 'green' : entry.outcome === 'retry' ? 'yellow' : 'red';
  const code = entry.error_code ? ` ${entry.error_code}` : '';
  const wait = entry.retry_at ? `, again after ${Date.parse(entry.retry_at) - Date.parse(entry.at)} ms` : '';
  return `attempt ${entry.attempt}: ${paint(colour, `${status}${code}`)} in ${entry.latency_ms} ms${wait}`;
}

export function actorOf(actors: readonly Actor[], member: CastMember): Actor {
  const actor = actors.find((each) => each.member === member);
  if (!actor) throw new Error(`${nameOf(member)} is not on stage`);
  return actor;
}

function findDelivery(deliveries: readonly Delivery[], { deviceId }: Actor): Delivery | undefined {
  return deliveries.find((delivery) => delivery.device_id === deviceId);
}

export function deliveryOf(
  actors: readonly Actor[],
  deliveries: readonly Delivery[],
  member: CastMember,
): Delivery | undefined {
  return findDelivery(deliveries, actorOf(actors, member));
}
