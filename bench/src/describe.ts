// Prints a result as a table: both sides, their ratio, and the machine.
import type { Part } from './profile.ts';
import type {
  AudienceMeasured,
  Http2Measured,
  IdleMeasured,
  ImportMeasured,
  LatencyMeasured,
  ReportsMeasured,
  Result,
  SendMeasured,
  StartMeasured,
  TimelineMeasured,
  TimesMeasured,
  WebhooksMeasured,
} from './results.ts';

/** Busy cores below this are the background work of an idle system. */
export const busyCores = 0.2;

export function describeSend(result: Result<SendMeasured>, workerParts: readonly Part[]): string {
  const { ours, peers, limit, params } = result;
  const cpu = ours.cpu_seconds_per_1000_by_process;
  const sides = [
    {
      name: 'Carillon, recorded',
      ...ours,
      how: `${ours.processes.api} api, ${ours.processes.worker} worker, postgres`,
    },
    ...peers.map((peer) => ({ ...peer, name: `${peer.name} ${peer.version}`, how: `${peer.processes}: ${peer.note}` })),
    { ...limit, how: '1' },
  ];
  const processes = (['api', 'worker', 'supervisor', 'postgres'] as const).map((name) => [
    name,
    cpu[name],
    ours.rss_mb[name],
  ]);
  const { row_and_key: rowAndKey, with_person_index: withPersonIndex } = ours.bytes_per_delivery;
  return [
    `One message to ${params['devices']} devices by ${params['channel']}: accepted after ${ours.accept_ms} ms, ${ours.seconds} s from request to last commit`,
    ...(params['latency_ms'] === 0 ? [] : [`Push services answer after ${params['latency_ms']} ms`]),
    '',
    table([
      ['', 'PER SECOND', 'CPU S / 1,000', 'RECEIVER', 'OTHERS', 'PROCESSES'],
      ...sides.map((side) => [
        side.name,
        side.per_second,
        side.cpu_seconds_per_1000,
        side.receiver_cpu_seconds_per_1000,
        side.foreign_cores,
        side.how,
      ]),
    ]),
    '',
    `Carillon does ${result.ratio_best_peer} × the best peer; the thriftiest takes ${result.ratio_best_peer_cpu} × its CPU time a push. ${result.ratio_limit} × the bare loop.`,
    ...(result.again === undefined
      ? []
      : [
          `Sent once more it does ${result.again.per_second} a second: ${result.again.ratio_best_peer} × the best peer, ${result.again.ratio_limit} × the bare loop.`,
        ]),
    ...(result.refusals === undefined
      ? []
      : [
          `With ${result.refusals.refused} dead tokens it does ${result.refusals.ratio} × the ${result.refusals.per_second_without} a second that it does without any.`,
          `The first such send, before their code was compiled, did ${result.refusals.ratio_first} × that.`,
        ]),
    ...(result.ratio_latency === undefined
      ? []
      : [
          `It does ${result.ratio_latency} × what it does without latency, and did ${result.ratio_latency_first} × the first time.`,
        ]),
    ...(result.beside === undefined
      ? []
      : [
          `It does ${result.beside.ratio} × the ${result.beside.per_second} a second of ${result.beside.devices} devices (commit ${result.beside.commit}).`,
        ]),
    ...(sides.some((side) => side.foreign_cores > busyCores)
      ? ['Other programs were busy (column OTHERS, in cores): rates and ratios are not those of an idle machine.']
      : []),
    '',
    table([['', 'CPU S / 1,000', 'PEAK MB'], ...processes]),
    '',
    `A delivery takes ${rowAndKey} bytes in row and key, ${withPersonIndex} with the index for its person.`,
    ...(workerParts.length === 0
      ? []
      : ['', table([['WORKER', 'µS A PUSH'], ...workerParts.map(({ name, us }) => [name, us])])]),
    describeMachine(result),
  ].join('\n');
}

export function describeLatency(result: Result<LatencyMeasured>): string {
  const { ours, params } = result;
  return [
    `One device on an idle service, ${params['sends']} sends ${params['pause_ms']} ms apart, in milliseconds`,
    '',
    table([
      ['', 'P50', 'P99'],
      ['request to provider', ours.ms_p50_to_provider, ours.ms_p99_to_provider],
      ['request to answer', ours.ms_p50_response, ours.ms_p99_response],
    ]),
    '',
    ...(ours.foreign_cores > busyCores
      ? [`Other programs kept ${ours.foreign_cores} cores busy: it was not idle.`]
      : []),
    describeMachine(result),
  ].join('\n');
}

export function describeTimes(result: Result<TimesMeasured>): string {
  const { ours } = result;
  return [
    'Medians of refusals, in milliseconds',
    '',
    table([
      ['', 'OF EACH KIND', 'KNOWN', 'RANDOM', 'DIFFERENCE', 'WANTED AT MOST'],
      ...ours.pairs.map((pair) => [
        pair.name,
        pair.samples,
        pair.ms_p50_known,
        pair.ms_p50_random,
        pair.difference,
        pair.wanted,
      ]),
    ]),
    '',
    ...(ours.foreign_cores > busyCores
      ? [`Other programs kept ${ours.foreign_cores} cores busy: it was not idle.`]
      : []),
    describeMachine(result),
  ].join('\n');
}

export function describeIdle(result: Result<IdleMeasured>): string {
  const { ours, params } = result;
  return [
    `At rest: ${params['processes']} processes, ${params['apps']} apps with ${params['webhooks_each']} webhooks each, ${params['seconds']} s`,
    '',
    table([
      ['commits a second', ours.commits_per_second],
      ["PostgreSQL's CPU, percent of a core", ours.postgres_cpu_percent],
      ['NOTIFYs a second, all processes', ours.notifies_per_second],
      ['connections', ours.connections],
      ['others, in cores', ours.foreign_cores],
    ]),
    '',
    describeMachine(result),
  ].join('\n');
}

export function describeStart(result: Result<StartMeasured>): string {
  const { ours, params } = result;
  return [
    `Launch of the built service to ready, median of ${params['rounds']}, in seconds`,
    '',
    table([
      ['first start, makes its database', ours.first_seconds],
      ['later start', ours.later_seconds],
    ]),
    '',
    describeMachine(result),
  ].join('\n');
}

export function describeReports(result: Result<ReportsMeasured>): string {
  const { ours, raw, params } = result;
  return [
    `Reports of 90 days over ${params['events']} events, ${params['purchases']} of them purchases, in milliseconds`,
    '',
    table([
      ['revenue by class, the median', ours.revenue_ms_p50],
      ['the 95th of a hundred', ours.revenue_ms_p95],
      ['revenue by day', ours.revenue_by_day_ms_p50],
      ['events by name', ours.events_ms_p50],
      [raw.name, raw.ms],
    ]),
    '',
    `From stored sums a report takes ${result.ratio_raw} × less time than from the events.`,
    `100,000 purchases are classed in ${ours.seconds_per_100000_purchases} s; all sums are built again in ${ours.rebuild_seconds} s.`,
    '',
    describeMachine(result),
  ].join('\n');
}

export function describeTimeline(result: Result<TimelineMeasured>): string {
  const { filters, neighbour, params } = result;
  return [
    `The timeline of a message to ${params['devices']} devices, in milliseconds (wanted: 50 at most where nothing matches)`,
    '',
    table([
      ['', 'P50', 'P95', 'MATCHES', 'PAGES'],
      ...filters.map(({ name, ms_p50, ms_p95, matches, pages }) => [name, ms_p50, ms_p95, matches, pages]),
    ]),
    '',
    `Another app's reads, beside ${params['at_once']} costly ones at once (wanted: 2 × at most)`,
    '',
    table([
      ['', 'P50', 'P99', 'RATIO P50', 'RATIO P99', 'COSTLY READS'],
      ['alone', neighbour.alone.ms_p50, neighbour.alone.ms_p99, '', '', ''],
      ...[
        { name: 'beside filters that match nothing', ...neighbour.beside },
        { name: 'where kinds are not noted', ...neighbour.beside_unnoted },
      ].map((row) => [row.name, row.ms_p50, row.ms_p99, row.ratio_p50, row.ratio_p99, row.costly_reads]),
    ]),
    ...(result.foreign_cores > busyCores
      ? [`Other programs kept ${result.foreign_cores} cores busy: these are not the times of an idle machine.`]
      : []),
    '',
    describeMachine(result),
  ].join('\n');
}

export function describeHttp2(result: Result<Http2Measured>): string {
  const { ours, limit, params } = result;
  const sides = [{ name: 'HTTP/2 client of Carillon', ...ours }, { ...limit }];
  return [
    `The HTTP/2 client alone, ${params['in_flight']} requests in flight, median of ${params['rounds']}`,
    '',
    table([
      ['', 'CPU µS A REQUEST', 'PER SECOND'],
      ...sides.map((side) => [side.name, side.cpu_us_per_request, side.per_second]),
    ]),
    '',
    `It takes ${result.ratio_cpu} × less CPU time a request, and sends ${result.ratio_rate} × as many.`,
    ...(ours.foreign_cores > busyCores
      ? [`Other programs kept ${ours.foreign_cores} cores busy: the rates are not those of an idle machine.`]
      : []),
    describeMachine(result),
  ].join('\n');
}

const warmOf = (filter: AudienceMeasured['growth'][number]['filters'][number] | undefined): number | string =>
  filter === undefined || filter.count === null ? 'refused' : filter.ms_p50_warm;

export function describeAudience(result: Result<AudienceMeasured>): string {
  const { devices, filters, growth, snapshot_seconds: snapshotSeconds, upserts_per_second: upserts } = result;
  return [
    `Filters over ${devices} devices by the API, median milliseconds; JSONB: COUNT(*) in the same run, without the API`,
    '',
    table([
      ['', 'MATCH', 'COLD', 'WARM', 'NO INDEX', 'JSONB', 'JSONB BY WARM'],
      ...filters.map((each) => [
        each.name,
        each.count ?? 'refused',
        each.ms_p50_cold,
        each.ms_p50_warm,
        each.ms_p50_no_index,
        each.ms_p50_jsonb,
        each.ratio_jsonb,
      ]),
    ]),
    '',
    'Warm, by devices:',
    '',
    table([
      ['', ...growth.map((each) => String(each.devices))],
      ...filters.map(({ name }, i) => [name, ...growth.map(({ filters: grown }) => warmOf(grown[i]))]),
    ]),
    '',
    `A message to all of them is accepted, in batches, after ${snapshotSeconds} s.`,
    `${upserts.no_index} upserts of ten properties a second, ${upserts.ten_indexes} with an index on each.`,
    ...(result.foreign_cores > busyCores
      ? [`Other programs kept ${result.foreign_cores} cores busy: these are not an idle machine's times.`]
      : []),
    describeMachine(result),
  ].join('\n');
}

export function describeWebhooks(result: Result<WebhooksMeasured>, workerParts: readonly Part[]): string {
  const { ours, black_holes: holes, held, params } = result;
  const cpu = ours.cpu_seconds_per_1000_by_process;
  const others = Math.max(ours.foreign_cores, holes.foreign_cores, held.foreign_cores);
  return [
    `One healthy endpoint: ${ours.per_second} requests a second, ${ours.cpu_seconds_per_1000} CPU s / 1,000 (endpoint: ${ours.receiver_cpu_seconds_per_1000}); ${params['healthy']} of them: ${ours.per_second_many}`,
    '',
    table([
      ['', 'CPU S / 1,000', 'PEAK MB'],
      ...(['api', 'worker', 'supervisor', 'postgres'] as const).map((name) => [name, cpu[name], ours.rss_mb[name]]),
    ]),
    '',
    `${params['healthy']} apps with a healthy webhook each send to ${params['devicesEach']} devices as fast as it goes, and to ${params['slowDevicesEach']} at ${params['slowPerSecond']} a second`,
    '',
    table([
      ['BESIDE', 'PUSHES A SECOND', 'RATIO', 'EVENTS, RATIO', 'CPU S / 1,000', 'EVENT TO REQUEST, P99 MS'],
      ['nothing', ours.send_per_second, 1, 1, ours.send_cpu_seconds_per_1000, ours.ms_p99],
      [
        `${params['blackHoles']} black holes, ${holes.requests} requests`,
        ...[holes.send_per_second, holes.ratio_send, holes.ratio_told, holes.send_cpu_seconds_per_1000, holes.ms_p99],
      ],
      [
        `${params['heldEvents']} events of a disabled webhook`,
        ...[held.send_per_second, held.ratio_send, held.ratio_told, held.send_cpu_seconds_per_1000, held.ms_p99],
      ],
    ]),
    ...(others > busyCores
      ? [`Other programs kept ${others} cores busy: rates and ratios are not those of an idle machine.`]
      : []),
    ...(workerParts.length === 0
      ? []
      : ['', table([['WORKER', 'µS A REQUEST'], ...workerParts.map(({ name, us }) => [name, us])])]),
    describeMachine(result),
  ].join('\n');
}

export function describeImport(result: Result<ImportMeasured>): string {
  const { ours, api, ratio_api: ratio, params } = result;
  return [
    `${params['rows']} rows of a CSV in ${ours.seconds} s`,
    '',
    table([
      ['', 'ROWS A SECOND'],
      ['carillon import', ours.per_second],
      [`POST /v1/devices and /v1/users, ${api.in_flight} at once`, api.per_second],
    ]),
    '',
    `${ratio} times the API's rate. ${Object.entries(ours.rss_mb)
      .map(([rows, mb]) => `${mb} MB at most for ${rows} rows`)
      .join(', ')}.`,
    ...(ours.foreign_cores > busyCores
      ? [`Other programs kept ${ours.foreign_cores} cores busy: these are not an idle machine's rates.`]
      : []),
    describeMachine(result),
  ].join('\n');
}

export function describeMachine({ machine, commit }: Result): string {
  const postgres = machine.postgres === null ? '' : `, PostgreSQL ${machine.postgres}`;
  return `${machine.cores} cores of ${machine.cpu}, Node ${machine.node}${postgres}, commit ${commit}`;
}

/** Formats a table. Columns are as wide as their widest cell; numbers are aligned right. */
export function table(rows: readonly (readonly (string | number)[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, String(cell).length);
  }
  const pad = (cell: string | number, width: number): string =>
    typeof cell === 'number' ? String(cell).padStart(width) : cell.padEnd(width);
  return rows.map((row) => `  ${row.map((cell, i) => pad(cell, widths[i] ?? 0)).join('  ')}`.trimEnd()).join('\n');
}
