// Prints the result of `api` as tables, with the targets beside the measured figures.

import { rounded } from '../../rig/src/measure.ts';
import { busyCores, describeMachine, table } from './describe.ts';
import type { ApiMeasured, BesideFlood, Result } from './results.ts';

/** Targets: requests a second for a write and for a read, at least. */
const writesWanted = 1_500;
const readsWanted = 4_000;
const admittedMsMost = 1_000;
const refusedMsMost = 100;
const besideMsLeast = 100;
const recoverySecondsMost = 10;

export function describeApi(result: Result<ApiMeasured>): string {
  const { ours, under_limits: limits, overload, neighbour, params } = result;
  const besideMost = Math.max(2 * neighbour.alone_ms_p99, besideMsLeast);
  const besideRow = (name: string, beside: BesideFlood) => [
    name,
    beside.ms_p99,
    beside.unavailable,
    beside.other,
    Object.entries(beside.flood_per_second)
      .map(([status, count]) => `${count} × ${status}`)
      .join(', '),
  ];
  return [
    `Requests a second on ${params['connections']} connections, ${params['seconds']} s each, plan unlimited`,
    `(wanted: ${writesWanted} registrations, ${readsWanted} reads)`,
    '',
    table([
      ['', 'PER SECOND', 'P50 MS', 'P99 MS', 'API CPU MS', 'POSTGRES CPU MS'],
      ...Object.entries(ours.endpoints).map(([name, figures]) => [
        name,
        figures.per_second,
        figures.ms_p50,
        figures.ms_p99,
        figures.api_cpu_ms,
        figures.postgres_cpu_ms,
      ]),
    ]),
    '',
    `A bare node:http server that reads one row for each request: ${result.bare_reads_per_second} a second; ` +
      `config is ${rounded((ours.endpoints['config']?.per_second ?? 0) / result.bare_reads_per_second)} × as fast.`,
    '',
    `On the plan ${limits.plan}: ${limits.reads_per_second} reads a second of ${limits.reads_per_second_allowed} allowed, ` +
      `${limits.known_devices_per_second} registrations of ${limits.known_devices_per_second_allowed}.`,
    '',
    `Five times too much: ${overload.offered_per_second} a second offered (${overload.meant_per_second} were meant)`,
    '',
    table([
      ['', 'PER SECOND', 'P99 MS', 'MOST'],
      ['admitted', overload.admitted_per_second, overload.admitted_ms_p99, admittedMsMost],
      ['refused with 503', overload.refused_per_second, overload.refused_ms_p99, refusedMsMost],
    ]),
    `${overload.other} other answers; memory of the API ${overload.rss_mb_before} MB before and ${overload.rss_mb_after} MB after; ` +
      `usual again after ${overload.recovery_seconds} s (at most ${recoverySecondsMost}).`,
    '',
    'An app beside a flood of 400 connections',
    '',
    table([
      ['', 'P99 MS', '503', 'OTHER', 'THE FLOOD, A SECOND'],
      ['alone', neighbour.alone_ms_p99],
      besideRow('beside its own key', neighbour.beside_own_key),
      besideRow('beside random keys', neighbour.beside_random_keys),
    ]),
    `(at most ${besideMost} ms, and no 503)`,
    ...(ours.foreign_cores > busyCores
      ? [`Other programs kept ${ours.foreign_cores} cores busy: these are not the figures of an idle machine.`]
      : []),
    describeMachine(result),
  ].join('\n');
}
