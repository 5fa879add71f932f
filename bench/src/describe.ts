// A result as a table for people: both sides, what they are to each other, and the machine.
import type { LatencyMeasured, Result, SendMeasured, StartMeasured } from './results.ts';

export function describeSend(result: Result<SendMeasured>): string {
  const { ours, peers, limit, params } = result;
  const cpu = ours.cpu_seconds_per_1000_by_process;
  const sides = [
    ['', 'PER SECOND', 'CPU S / 1,000', 'RECEIVER', 'PROCESSES'],
    [
      'Carillon, recorded',
      ours.per_second,
      ours.cpu_seconds_per_1000,
      ours.receiver_cpu_seconds_per_1000,
      `${ours.processes.api} api, ${ours.processes.worker} worker, postgres`,
    ],
    ...peers.map((peer) => [
      `${peer.name} ${peer.version}`,
      peer.per_second,
      peer.cpu_seconds_per_1000,
      peer.receiver_cpu_seconds_per_1000,
      `${peer.processes}, ${peer.note}`,
    ]),
    [limit.name, limit.per_second, limit.cpu_seconds_per_1000, limit.receiver_cpu_seconds_per_1000, '1'],
  ];
  const processes = [
    ['', 'CPU S / 1,000', 'PEAK MB'],
    ...(['api', 'worker', 'supervisor', 'postgres'] as const).map((name) => [name, cpu[name], ours.rss_mb[name]]),
  ];
  return [
    `One message to ${params['devices']} devices over ${params['channel']}: ${ours.seconds} s from request to last commit`,
    '',
    table(sides),
    '',
    `Carillon does ${result.ratio_best_peer} × the best peer, at ${result.ratio_best_peer_cpu} × less CPU a push, and ${result.ratio_limit} × the bare loop.`,
    '',
    table(processes),
    '',
    `A delivery takes ${ours.bytes_per_delivery.row_and_key} bytes in row and key, ${ours.bytes_per_delivery.with_person_index} with the index for its person.`,
    ...(result.foreign_cpu > 0.1
      ? [
          `Others used ${result.foreign_cpu} of the ${result.machine.cores} cores meanwhile: run it again on an idle machine.`,
        ]
      : []),
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

function describeMachine({ machine, commit }: Result): string {
  return `${machine.cores} cores of ${machine.cpu}, Node ${machine.node}, PostgreSQL ${machine.postgres}, commit ${commit}`;
}

/** Columns as wide as their widest cell; numbers stand right. */
function table(rows: readonly (readonly (string | number)[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, String(cell).length);
  }
  const pad = (cell: string | number, width: number): string =>
    typeof cell === 'number' ? String(cell).padStart(width) : cell.padEnd(width);
  return rows.map((row) => `  ${row.map((cell, i) => pad(cell, widths[i] ?? 0)).join('  ')}`.trimEnd()).join('\n');
}
