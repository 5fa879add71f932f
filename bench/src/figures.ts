// The rows that a result shows to people, in one form for every work. The kept JSON has more.
import type { Part } from './profile.ts';
import type {
  AnyMeasured,
  ApiMeasured,
  AudienceMeasured,
  BesideFlood,
  ByProcess,
  ConsoleMeasured,
  EventsMeasured,
  Figure,
  Http2Measured,
  IdleMeasured,
  ImportMeasured,
  LatencyMeasured,
  ReportsMeasured,
  SendMeasured,
  StartMeasured,
  TimelineMeasured,
  TimesMeasured,
  WebhooksMeasured,
  WorstMeasured,
} from './results.ts';

type Figures<Any> = (measured: Any) => readonly Figure[];

/** The first figure of a work is its main one. The line of a run of all works shows it. */
const figuresByWork: { readonly [Any in AnyMeasured as Any['work']]: Figures<Any> } = {
  send: ofSend,
  latency: ofLatency,
  audience: ofAudience,
  events: ofEvents,
  api: ofApi,
  http2: ofHttp2,
  import: ofImport,
  webhooks: ofWebhooks,
  idle: ofIdle,
  reports: ofReports,
  timeline: ofTimeline,
  times: ofTimes,
  start: ofStart,
  worst: ofWorst,
  console: ({ figures }: ConsoleMeasured) => figures,
};

export function figuresOf(measured: AnyMeasured, parts: readonly Part[] = []): readonly Figure[] {
  const figures = figuresByWork[measured.work] as Figures<AnyMeasured>;
  return [...figures(measured), ...parts.map(({ name, us }) => ({ name: `worker: ${name}`, value: us, unit: 'µs' }))];
}

/** The most cores that other programs kept busy while a side was measured, wherever it is noted. */
export function othersOf(measured: object): number {
  return Object.entries(measured).reduce((most, [name, value]) => {
    if (name === 'foreign_cores') return Math.max(most, value as number);
    return typeof value === 'object' && value !== null ? Math.max(most, othersOf(value)) : most;
  }, 0);
}

function byProcess(what: string, unit: string, figures: ByProcess): readonly Figure[] {
  return Object.entries(figures).map(([process, value]) => ({ name: `${what}: ${process}`, value, unit }));
}

/** The targets of a send, beside the fastest library and beside the bare loop. */
const peerWanted: Readonly<Record<string, number>> = { webpush: 7, apns: 1, fcm: 1 };
const limitWanted: Readonly<Record<string, number>> = { apns: 1.05, fcm: 1 };
const refusedWanted = 0.95;
const latencyWanted = 0.9;
const largerWanted = 0.9;

function ofSend({ ours, peers, limit, params, ...result }: SendMeasured): readonly Figure[] {
  const way = String(params['channel']);
  const pushes = (name: string, value: number): Figure => ({
    name: `pushes a second: ${name}`,
    value,
    unit: '/s',
  });
  const cost = (name: string, { cpu_seconds_per_1000: value }: { readonly cpu_seconds_per_1000: number }): Figure => ({
    name: `CPU for 1,000: ${name}`,
    value,
    unit: 's',
  });
  const { again, refusals, ratio_latency: late, ratio_latency_first: lateFirst, beside } = result;
  const ratio = (name: string, value: number | undefined, atLeast?: number): readonly Figure[] =>
    value === undefined ? [] : [{ name, value, unit: '×', atLeast: atLeast ?? null }];
  return [
    pushes('Carillon, every outcome recorded', ours.per_second),
    ...peers.map((peer) => pushes(`${peer.name} ${peer.version}, ${peer.note}`, peer.per_second)),
    pushes(limit.name, limit.per_second),
    ...ratio('beside the fastest peer', result.ratio_best_peer, peerWanted[way]),
    ...ratio('beside the bare loop', result.ratio_limit, limitWanted[way]),
    ...ratio('CPU of the thriftiest peer by ours', result.ratio_best_peer_cpu),
    ...(again === undefined ? [] : [pushes('the same send again', again.per_second)]),
    ...ratio('again, beside the fastest peer', again?.ratio_best_peer, peerWanted[way]),
    ...ratio('again, beside the bare loop', again?.ratio_limit, limitWanted[way]),
    ...ratio('with dead tokens, beside none', refusals?.ratio, refusedWanted),
    ...ratio('with dead tokens, the first time', refusals?.ratio_first, refusedWanted),
    ...ratio('with latency, beside none', late, latencyWanted),
    ...ratio('with latency, the first time', lateFirst, latencyWanted),
    ...ratio(`beside ${beside?.devices} devices (${beside?.commit})`, beside?.ratio, largerWanted),
    cost('Carillon', ours),
    ...peers.map((peer) => cost(peer.name, peer)),
    cost(limit.name, limit),
    ...byProcess('CPU for 1,000', 's', ours.cpu_seconds_per_1000_by_process),
    { name: 'CPU for 1,000: the receiver', value: ours.receiver_cpu_seconds_per_1000, unit: 's' },
    ...byProcess('peak memory', 'MB', ours.rss_mb),
    { name: 'accepted after', value: ours.accept_ms, unit: 'ms' },
    { name: 'a delivery: row and key', value: ours.bytes_per_delivery.row_and_key, unit: 'B' },
    { name: 'a delivery: with the index for its person', value: ours.bytes_per_delivery.with_person_index, unit: 'B' },
  ];
}

function ofLatency({ ours }: LatencyMeasured): readonly Figure[] {
  return [
    { name: 'request to provider: p50', value: ours.ms_p50_to_provider, unit: 'ms', atMost: 10 },
    { name: 'request to provider: p99', value: ours.ms_p99_to_provider, unit: 'ms' },
    { name: 'request to answer: p50', value: ours.ms_p50_response, unit: 'ms', atMost: 20 },
    { name: 'request to answer: p99', value: ours.ms_p99_response, unit: 'ms' },
  ];
}

/**
 * Targets in milliseconds: previews of up to a million devices, previews that an index alone
 * answers, and previews of more devices.
 */
const previewMsMost = 200;
const selectiveMsMost = 5;
const largeMsMost = 2_000;

function ofAudience(measured: AudienceMeasured): readonly Figure[] {
  const { filters, growth, snapshot_seconds: snapshot, upserts_per_second: upserts } = measured;
  const most = (isSelective: boolean): number =>
    measured.devices > 1_000_000 ? largeMsMost : isSelective ? selectiveMsMost : previewMsMost;
  return [
    ...filters.flatMap((filter): Figure[] => [
      {
        name: `${filter.name}: warm`,
        value: filter.ms_p50_warm,
        unit: 'ms',
        ratio: filter.ratio_jsonb,
        atMost: most(filter.selective),
      },
      { name: `${filter.name}: cold`, value: filter.ms_p50_cold, unit: 'ms' },
      { name: `${filter.name}: no index`, value: filter.ms_p50_no_index, unit: 'ms' },
      { name: `${filter.name}: COUNT(*) over JSONB`, value: filter.ms_p50_jsonb, unit: 'ms' },
      { name: `${filter.name}: devices`, value: filter.count ?? 'refused', unit: '' },
    ]),
    ...growth.slice(0, -1).flatMap(({ devices, filters: grown }) =>
      grown.map(
        ({ name, count, ms_p50_warm: warm }): Figure => ({
          name: `${name}: warm, of ${devices}`,
          value: count === null ? 'refused' : warm,
          unit: 'ms',
        }),
      ),
    ),
    { name: 'a message to all is in batches after', value: snapshot, unit: 's' },
    { name: 'upserts of ten properties, no index', value: upserts.no_index, unit: '/s' },
    { name: 'upserts of ten properties, ten indexes', value: upserts.ten_indexes, unit: '/s' },
  ];
}

function ofEvents({ ours, limit, ratio_limit: ratio }: EventsMeasured): readonly Figure[] {
  return [
    { name: 'events a second: stored and summed up', value: ours.per_second, unit: '/s', ratio, atLeast: 20_000 },
    { name: 'events a second: while every device wakes', value: ours.per_second_all_devices_waking, unit: '/s' },
    { name: `events a second: ${limit.name}`, value: limit.per_second, unit: '/s' },
    { name: 'a request: p50', value: ours.ms_p50, unit: 'ms' },
    { name: 'a request: p99', value: ours.ms_p99, unit: 'ms' },
    ...byProcess('CPU for 1,000', 's', ours.cpu_seconds_per_1000_by_process),
    { name: 'CPU for 1,000: the load', value: ours.load_cpu_seconds_per_1000, unit: 's' },
    ...byProcess('peak memory', 'MB', ours.rss_mb),
    ...Object.entries(ours.bytes_per_event).map(([table, value]) => ({ name: `an event: ${table}`, value, unit: 'B' })),
  ];
}

/** Targets of R-85, and of a write and a read, in requests a second. */
const writesWanted = 1_500;
const readsWanted = 4_000;
const endpointsWanted: Readonly<Record<string, number>> = {
  'new devices': writesWanted,
  config: readsWanted,
  message: readsWanted,
};
const admittedMsMost = 1_000;
const refusedMsMost = 100;
const besideMsMost = 100;
const recoverySecondsMost = 10;

function ofApi({ ours, under_limits: limits, overload, neighbour, ...result }: ApiMeasured): readonly Figure[] {
  const besideMost = Math.max(2 * neighbour.alone_ms_p99, besideMsMost);
  const beside = (name: string, { ms_p99, unavailable, other }: BesideFlood): readonly Figure[] => [
    { name: `${name}: p99`, value: ms_p99, unit: 'ms', atMost: besideMost },
    { name: `${name}: 503 and others`, value: unavailable + other, unit: '', atMost: 0 },
  ];
  return [
    ...Object.entries(ours.endpoints).flatMap(([name, figures]): Figure[] => [
      { name, value: figures.per_second, unit: '/s', atLeast: endpointsWanted[name] ?? null },
      { name: `${name}: p50`, value: figures.ms_p50, unit: 'ms' },
      { name: `${name}: p99`, value: figures.ms_p99, unit: 'ms' },
      { name: `${name}: CPU of the API`, value: figures.api_cpu_ms, unit: 'ms' },
      { name: `${name}: CPU of PostgreSQL`, value: figures.postgres_cpu_ms, unit: 'ms' },
    ]),
    { name: 'bare node:http, one row read', value: result.bare_reads_per_second, unit: '/s' },
    { name: `plan ${limits.plan}: reads`, value: limits.reads_per_second, unit: '/s' },
    { name: `plan ${limits.plan}: reads allowed`, value: limits.reads_per_second_allowed, unit: '/s' },
    { name: `plan ${limits.plan}: known devices`, value: limits.known_devices_per_second, unit: '/s' },
    { name: `plan ${limits.plan}: allowed`, value: limits.known_devices_per_second_allowed, unit: '/s' },
    { name: 'overload: offered', value: overload.offered_per_second, unit: '/s' },
    { name: 'overload: meant', value: overload.meant_per_second, unit: '/s' },
    { name: 'overload: admitted', value: overload.admitted_per_second, unit: '/s' },
    { name: 'overload: admitted, p99', value: overload.admitted_ms_p99, unit: 'ms', atMost: admittedMsMost },
    { name: 'overload: refused with 503', value: overload.refused_per_second, unit: '/s' },
    { name: 'overload: refused, p99', value: overload.refused_ms_p99, unit: 'ms', atMost: refusedMsMost },
    { name: 'overload: other answers', value: overload.other, unit: '' },
    { name: 'overload: memory of the API before', value: overload.rss_mb_before, unit: 'MB' },
    { name: 'overload: memory of the API after', value: overload.rss_mb_after, unit: 'MB' },
    { name: 'overload: usual again', value: overload.recovery_seconds, unit: 's', atMost: recoverySecondsMost },
    { name: 'neighbour alone: p99', value: neighbour.alone_ms_p99, unit: 'ms' },
    ...beside('neighbour beside a flood with a key', neighbour.beside_own_key),
    ...beside('neighbour beside random keys', neighbour.beside_random_keys),
  ];
}

function ofHttp2({ ours, limit, ...result }: Http2Measured): readonly Figure[] {
  return [
    { name: 'CPU of a request: ours', value: ours.cpu_us_per_request, unit: 'µs', ratio: result.ratio_cpu, atMost: 10 },
    { name: `CPU of a request: ${limit.name}`, value: limit.cpu_us_per_request, unit: 'µs' },
    { name: 'requests a second: ours', value: ours.per_second, unit: '/s', ratio: result.ratio_rate },
    { name: `requests a second: ${limit.name}`, value: limit.per_second, unit: '/s' },
  ];
}

function ofImport({ ours, api, ratio_api: ratio }: ImportMeasured): readonly Figure[] {
  return [
    { name: 'rows a second: carillon import', value: ours.per_second, unit: '/s', ratio },
    { name: `rows a second: the API, ${api.in_flight} at once`, value: api.per_second, unit: '/s' },
    { name: 'the whole file', value: ours.seconds, unit: 's' },
    ...Object.entries(ours.rss_mb).map(([rows, value]) => ({ name: `peak memory, ${rows} rows`, value, unit: 'MB' })),
  ];
}

function ofWebhooks({ ours, black_holes: holes, held }: WebhooksMeasured): readonly Figure[] {
  const beside = (name: string, run: typeof held): readonly Figure[] => [
    { name: `${name}: pushes a second`, value: run.send_per_second, unit: '/s', ratio: run.ratio_send },
    { name: `${name}: events told, by the rate alone`, value: run.ratio_told, unit: '×' },
    { name: `${name}: CPU for 1,000 pushes`, value: run.send_cpu_seconds_per_1000, unit: 's' },
    { name: `${name}: event to request, p99`, value: run.ms_p99, unit: 'ms' },
  ];
  return [
    { name: 'requests a second: one endpoint', value: ours.per_second, unit: '/s', atLeast: 2_000 },
    { name: 'requests a second: as many endpoints as senders', value: ours.per_second_many, unit: '/s' },
    { name: 'event to request: p50', value: ours.ms_p50, unit: 'ms' },
    { name: 'event to request: p99', value: ours.ms_p99, unit: 'ms' },
    { name: 'pushes a second', value: ours.send_per_second, unit: '/s' },
    { name: 'CPU for 1,000 pushes', value: ours.send_cpu_seconds_per_1000, unit: 's' },
    ...beside('black holes', holes),
    { name: 'black holes: pushes by the rate alone', value: holes.ratio_send, unit: '×', atLeast: 0.95 },
    { name: 'black holes: requests', value: holes.requests, unit: '' },
    ...beside('held events', held),
    ...byProcess('CPU for 1,000', 's', ours.cpu_seconds_per_1000_by_process),
    { name: 'CPU for 1,000: the endpoint', value: ours.receiver_cpu_seconds_per_1000, unit: 's' },
    ...byProcess('peak memory', 'MB', ours.rss_mb),
  ];
}

function ofIdle({ ours }: IdleMeasured): readonly Figure[] {
  return [
    { name: 'commits a second', value: ours.commits_per_second, unit: '/s' },
    { name: "PostgreSQL's CPU, of a core", value: ours.postgres_cpu_percent, unit: '%' },
    { name: 'NOTIFYs a second, all processes', value: ours.notifies_per_second, unit: '/s' },
    { name: 'connections', value: ours.connections, unit: '' },
  ];
}

function ofReports({ ours, raw, ratio_raw: ratio }: ReportsMeasured): readonly Figure[] {
  return [
    { name: 'revenue by class: p50', value: ours.revenue_ms_p50, unit: 'ms', ratio },
    { name: 'revenue by class: p95', value: ours.revenue_ms_p95, unit: 'ms' },
    { name: 'revenue by day: p50', value: ours.revenue_by_day_ms_p50, unit: 'ms' },
    { name: 'events by name: p50', value: ours.events_ms_p50, unit: 'ms' },
    { name: raw.name, value: raw.ms, unit: 'ms' },
    { name: '100,000 purchases are classed in', value: ours.seconds_per_100000_purchases, unit: 's' },
    { name: 'all sums are built again in', value: ours.rebuild_seconds, unit: 's' },
  ];
}

const nothingMatchesMsMost = 50;
const besideReadsMost = 2;

function ofTimeline({ filters, neighbour }: TimelineMeasured): readonly Figure[] {
  const beside = (name: string, reads: typeof neighbour.beside): readonly Figure[] => [
    { name: `${name}: p50`, value: reads.ms_p50, unit: 'ms' },
    { name: `${name}: p50 by alone`, value: reads.ratio_p50, unit: '×', atMost: besideReadsMost },
    { name: `${name}: p99`, value: reads.ms_p99, unit: 'ms' },
    { name: `${name}: p99 by alone`, value: reads.ratio_p99, unit: '×', atMost: besideReadsMost },
    { name: `${name}: costly reads`, value: reads.costly_reads, unit: '' },
  ];
  return [
    ...filters.flatMap(({ name, matches, pages, ...ms }): Figure[] => [
      { name: `${name}: p50`, value: ms.ms_p50, unit: 'ms', atMost: matches === 0 ? nothingMatchesMsMost : null },
      { name: `${name}: p95`, value: ms.ms_p95, unit: 'ms' },
      { name: `${name}: matches, on pages`, value: `${matches}, ${pages}`, unit: '' },
    ]),
    { name: "another app's reads alone: p50", value: neighbour.alone.ms_p50, unit: 'ms' },
    { name: "another app's reads alone: p99", value: neighbour.alone.ms_p99, unit: 'ms' },
    ...beside('beside filters that match nothing', neighbour.beside),
    ...beside('where kinds are not noted', neighbour.beside_unnoted),
  ];
}

function ofTimes({ ours }: TimesMeasured): readonly Figure[] {
  return ours.pairs.flatMap((pair): Figure[] => [
    { name: `${pair.name}: difference`, value: pair.difference, unit: 'of 1', atMost: pair.wanted },
    { name: `${pair.name}: known`, value: pair.ms_p50_known, unit: 'ms' },
    { name: `${pair.name}: random`, value: pair.ms_p50_random, unit: 'ms' },
    { name: `${pair.name}: of each kind`, value: pair.samples, unit: '' },
  ]);
}

const worstMost = 1.5;
const bystanderMsMost = 100;

function ofWorst({ ours }: WorstMeasured): readonly Figure[] {
  return [
    { name: 'routes measured', value: ours.routes.length, unit: '' },
    { name: 'routes whose bodies are shorter', value: ours.routes_short, unit: '' },
    ...ours.routes.map((of) => ({
      name: `${of.route}: ${of.ms_worst} ms beside ${of.ms_plain} plain (${of.plain_status}), ${Math.round(of.bytes / 1024)} KiB, ${of.worst}`,
      value: of.ratio,
      unit: '×',
      atMost: worstMost,
    })),
    ...ours.bystanders.flatMap((of): Figure[] => [
      { name: `a bystander alone, plan ${of.plan}: p95`, value: of.alone_ms_p95, unit: 'ms' },
      {
        name: `beside ${of.refused_per_second} worst bodies a second, plan ${of.plan}: p95`,
        value: of.beside_ms_p95,
        unit: 'ms',
        atMost: Math.max(2 * of.alone_ms_p95, bystanderMsMost),
      },
      { name: `answered 503, plan ${of.plan}`, value: of.unavailable, unit: '', atMost: 0 },
    ]),
  ];
}

function ofStart({ ours }: StartMeasured): readonly Figure[] {
  return [
    { name: 'first start, makes its database', value: ours.first_seconds, unit: 's', atMost: 10 },
    { name: 'later start', value: ours.later_seconds, unit: 's', atMost: 2 },
  ];
}
