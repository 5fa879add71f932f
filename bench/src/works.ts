// The works and the options that they take: one entry each. The command line, its help and the run
// of all works are read from these two tables.
import { resolve } from 'node:path';
import { RunError, type Workbench } from '../../rig/src/workbench.ts';
import { measureApi } from './api.ts';
import { measureAudience } from './audience.ts';
import { audienceName, audienceQuick, audienceUsual } from './audience-sizes.ts';
import { isWay, type Way, ways } from './channels.ts';
import { type ConsolePart, consoleDevicesUsual, consoleParts, measureConsole } from './console.ts';
import { measureEvents } from './events.ts';
import { measureHttp2 } from './http2.ts';
import { idleName, idleUsual, measureIdle } from './idle.ts';
import { measureImport } from './import.ts';
import { measureLatency } from './latency.ts';
import type { Part } from './profile.ts';
import { measureReports } from './reports.ts';
import type { Result } from './results.ts';
import { devicesUsual, measureSend, sendName } from './send.ts';
import { measureStart } from './start.ts';
import { measureTimeline, timelineDevicesUsual } from './timeline.ts';
import { measureTimes } from './times.ts';
import { measureWebhooks } from './webhooks.ts';
import { measureWorst } from './worst.ts';

interface Option<Value> {
  /** The form of its value in the help. */
  readonly takes: string;
  readonly about: string;
  /** Throws a RunError with one sentence about an invalid value. */
  parse(text: string): Value;
}

export const optionTable = {
  channel: { takes: ways.join('|'), about: 'the way of a send; mixed: a third of the devices each', parse: parseWay },
  devices: { takes: 'N', about: 'devices of the audience', parse: whole('devices', 1, 10_000_000) },
  latency: { takes: 'MS', about: 'push services answer so much later', parse: whole('latency', 0, 5_000) },
  refuse: { takes: 'SHARE', about: 'this share of the tokens is gone, such as 0.01', parse: parseShare },
  workers: { takes: 'N', about: 'worker processes', parse: whole('workers', 1, 64) },
  rows: { takes: 'N', about: 'rows of the file', parse: whole('rows', 1, 100_000_000) },
  apps: { takes: 'N', about: 'apps, with ten webhooks each', parse: whole('apps', 1, 100_000) },
  processes: { takes: 'N', about: 'one API and workers', parse: whole('processes', 2, 64) },
  routes: { takes: 'TEXT', about: 'only those whose method and path hold it', parse: String },
  profile: { takes: 'DIR', about: 'keeps CPU profiles there', parse: (text: string) => resolve(text) },
  keep: {
    takes: 'DIR',
    about: 'keeps the filled database there for the next run',
    parse: (text: string) => resolve(text),
  },
  only: { takes: 'PART,PART', about: `some of ${consoleParts.join(', ')}`, parse: parseParts },
} satisfies Readonly<Record<string, Option<unknown>>>;

export type OptionName = keyof typeof optionTable;
export type Options = { readonly [Name in OptionName]?: ReturnType<(typeof optionTable)[Name]['parse']> };

/** The result of a run. */
interface Measurement {
  /** The name of the file that the result is kept in. */
  readonly name: string;
  readonly result: Result;
  /** Smaller than usual, so it says little and is not kept. */
  readonly isTrial?: boolean;
  /** The worker's time by part of the code; present when a profile was requested. */
  readonly parts?: readonly Part[];
}

interface Work {
  readonly about: string;
  readonly options: readonly OptionName[];
  /**
   * The options of each of its runs in a run of all works. Absent: it runs once, without options.
   */
  readonly runs?: readonly Options[];
  measure(workbench: Workbench, options: Options, isQuick: boolean): Promise<Measurement>;
}

/** The number of rows of a file when no option gives one. */
const rowsUsual = 1_000_000;
const idleQuick = { apps: 20, processes: 2 };

export const workTable: Readonly<Record<string, Work>> = {
  send: {
    about: 'one message to many devices, against libraries and a bare loop',
    options: ['channel', 'devices', 'latency', 'refuse', 'workers', 'profile'],
    runs: ways.map((channel) => ({ channel })),
    async measure(workbench, { channel: way, profile: profileDir, ...options }, isQuick) {
      if (way === undefined) throw new RunError(`Say which way: --channel ${ways.join('|')}.`);
      const { refuse = 0, latency: latencyMs = 0, workers } = options;
      if (way === 'mixed' && refuse > 0) throw new RunError('--refuse is an option of a single channel.');
      const devices = options.devices ?? (isQuick ? 1_000 : devicesUsual);
      const plan = { way, devices, latencyMs, refuse, workers };
      const { result, workerParts: parts } = await measureSend(workbench, { ...plan, isQuick, profileDir });
      return { name: sendName(plan), result, parts, isTrial: devices < devicesUsual };
    },
  },
  latency: {
    about: 'one device, idle service',
    options: [],
    async measure(workbench, _options, isQuick) {
      return { name: 'latency-webpush', result: await measureLatency(workbench, { isQuick }) };
    },
  },
  audience: {
    about: 'previews of filters beside JSONB, upserts and a snapshot, and how they grow with the audience',
    options: ['devices'],
    async measure(workbench, { devices: asked }, isQuick) {
      const devices = asked ?? (isQuick ? audienceQuick : audienceUsual);
      const result = await measureAudience(workbench, { devices, isQuick });
      return { name: audienceName(devices), result, isTrial: devices < audienceUsual };
    },
  },
  events: {
    about: 'tracked events through HTTP, beside bare inserts',
    options: ['profile'],
    async measure(workbench, { profile: profileDir }, isQuick) {
      return { name: 'events', result: await measureEvents(workbench, { isQuick, profileDir }) };
    },
  },
  api: {
    about: 'endpoints with limits and without, five times too much, and an app beside one that floods',
    options: ['profile'],
    async measure(workbench, { profile: profileDir }, isQuick) {
      return { name: 'api', result: await measureApi(workbench, { isQuick, profileDir }) };
    },
  },
  http2: {
    about: 'the HTTP/2 client alone, beside a bare loop over node:http2',
    options: [],
    async measure(workbench, _options, isQuick) {
      return { name: 'http2', result: await measureHttp2(workbench, { isQuick }) };
    },
  },
  import: {
    about: 'rows of a file a second, beside the same rows through the API',
    options: ['rows'],
    async measure(workbench, { rows: asked }, isQuick) {
      const rows = asked ?? (isQuick ? 1_000 : rowsUsual);
      return { name: 'import', result: await measureImport(workbench, { rows, isQuick }), isTrial: rows < rowsUsual };
    },
  },
  webhooks: {
    about: 'one healthy endpoint, and sends beside endpoints that never answer',
    options: ['profile'],
    async measure(workbench, { profile: profileDir }, isQuick) {
      const { result, workerParts: parts } = await measureWebhooks(workbench, { isQuick, profileDir });
      return { name: 'webhooks', result, parts };
    },
  },
  idle: {
    about: 'what many apps with nothing to do cost the database',
    options: ['apps', 'processes'],
    async measure(workbench, options, isQuick) {
      const size = { ...(isQuick ? idleQuick : idleUsual), ...options };
      return { name: idleName(size), result: await measureIdle(workbench, { ...size, isQuick }) };
    },
  },
  reports: {
    about: 'reports of ninety days over ten million events',
    options: [],
    async measure(workbench, _options, isQuick) {
      return { name: 'reports', result: await measureReports(workbench, { isQuick }) };
    },
  },
  timeline: {
    about: "pages of a large message's deliveries, and what they cost another app's reads",
    options: ['devices'],
    async measure(workbench, { devices: asked }, isQuick) {
      const devices = asked ?? (isQuick ? 5_000 : timelineDevicesUsual);
      const result = await measureTimeline(workbench, { devices, isQuick });
      return { name: 'timeline', result, isTrial: devices < timelineDevicesUsual };
    },
  },
  times: {
    about: 'whether the time of a refusal tells more than its words',
    options: [],
    async measure(workbench, _options, isQuick) {
      return { name: 'times', result: await measureTimes(workbench, { isQuick }) };
    },
  },
  worst: {
    about: 'the worst bodies of each route beside plain ones, and an app beside a client key that sends them',
    options: ['profile', 'routes'],
    async measure(workbench, { profile: profileDir, routes: routesNamed = '' }, isQuick) {
      const result = await measureWorst(workbench, { isQuick, profileDir, routesNamed });
      return { name: 'worst', result, isTrial: routesNamed !== '' };
    },
  },
  start: {
    about: 'launch to ready',
    options: [],
    async measure(workbench, _options, isQuick) {
      return { name: 'start', result: await measureStart(workbench, { isQuick }) };
    },
  },
  console: {
    about: 'what a person at the console waits for, in Chromium',
    options: ['devices', 'keep', 'only'],
    async measure(workbench, { devices: asked, keep: keepDir, only = consoleParts }, isQuick) {
      const devices = asked ?? (isQuick ? 8_000 : consoleDevicesUsual);
      const result = await measureConsole(workbench, { devices, isQuick, keepDir, only });
      const name = devices > consoleDevicesUsual ? `console-${devices}` : 'console';
      return { name, result, isTrial: devices < consoleDevicesUsual || only.length < consoleParts.length };
    },
  },
};

function whole(name: string, least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new RunError(`--${name} must be a whole number from ${least} to ${most}, not '${text}'.`);
  };
}

function parseWay(text: string): Way {
  if (isWay(text)) return text;
  throw new RunError(`--channel takes one of ${ways.join(', ')}, not '${text}'.`);
}

function parseParts(text: string): readonly ConsolePart[] {
  return text.split(',').map((name) => {
    const part = consoleParts.find((each) => each === name);
    if (part === undefined) throw new RunError(`--only takes some of ${consoleParts.join(', ')}, not '${name}'.`);
    return part;
  });
}

function parseShare(text: string): number {
  const share = Number(text);
  if (share > 0 && share <= 0.5) return share;
  throw new RunError(`--refuse must be a share above 0, up to 0.5, not '${text}'.`);
}
