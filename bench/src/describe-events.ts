// Prints the result of `events` as a table.
import { busyCores, describeMachine, table } from './describe.ts';
import type { EventsMeasured, Result } from './results.ts';

export function describeEvents(result: Result<EventsMeasured>): string {
  const { ours, limit, params } = result;
  const cpu = ours.cpu_seconds_per_1000_by_process;
  const kinds = (['api', 'worker', 'supervisor', 'postgres'] as const).map((kind) => [
    kind,
    cpu[kind],
    ours.rss_mb[kind],
  ]);
  const { events, event_ids: eventIds, subject_events: subjectEvents } = ours.bytes_per_event;
  return [
    `Tracked events, ${params['batch']} a request on ${params['connections']} connections, ${params['devices']} devices`,
    '',
    table([
      ['', 'PER SECOND', 'P50 MS', 'P99 MS', 'OTHERS'],
      ['Carillon, stored and summed up', ours.per_second, ours.ms_p50, ours.ms_p99, ours.foreign_cores],
      ['while every device wakes', ours.per_second_all_devices_waking],
      [limit.name, limit.per_second, '', '', limit.foreign_cores],
    ]),
    '',
    `${result.ratio_limit} × the bare inserts.`,
    ...([ours, limit].some((side) => side.foreign_cores > busyCores)
      ? ['Other programs were busy (column OTHERS, in cores): rates and ratios are not those of an idle machine.']
      : []),
    '',
    table([['', 'CPU S / 1,000', 'PEAK MB'], ...kinds, ['load', ours.load_cpu_seconds_per_1000]]),
    '',
    `On disk an event takes ${events} bytes, its id ${eventIds}, its share of the daily counts ${subjectEvents}.`,
    describeMachine(result),
  ].join('\n');
}
