// The works and the options that they take: one entry each. The command line, its help and the run
// of all works are read from these two tables.
import { resolve } from 'node:path';
import { RunError, type Workbench } from '../../rig/src/workbench.ts';
import { measureApi } from './api.ts';
import { measureAudience } from './audience.ts';
import { isWay, type Way, ways } from './channels.ts';
import { type ConsolePart, consoleParts, measureConsole } from './console.ts';
import { measureEvents } from './events.ts';
import { measureHttp2 } from './http2.ts';
import { measureIdle } from './idle.ts';
import { measureImport } from './import.ts';
import { measureLatency } from './latency.ts';
import { measureReports } from './reports.ts';
import type { Measured, RunOptions } from './results.ts';
import { measureSend } from './send.ts';
import { measureStart } from './start.ts';
import { measureTimeline } from './timeline.ts';
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

interface Work {
  readonly about: string;
  readonly options: readonly OptionName[];
  /**
   * The options of each of its runs in a run of all works. Absent: it runs once, without options.
   */
  readonly runs?: readonly Options[];
  readonly measure: (workbench: Workbench, options: Options & RunOptions) => Promise<Measured>;
}

export const workTable: Readonly<Record<string, Work>> = {
  send: {
    about: 'one message to many devices, against libraries and a bare loop',
    options: ['channel', 'devices', 'latency', 'refuse', 'workers', 'profile'],
    runs: ways.map((channel) => ({ channel })),
    measure: measureSend,
  },
  latency: { about: 'one device, idle service', options: [], measure: measureLatency },
  audience: {
    about: 'previews of filters beside JSONB, upserts and a snapshot, and how they grow with the audience',
    options: ['devices'],
    measure: measureAudience,
  },
  events: {
    about: 'tracked events through HTTP, beside bare inserts',
    options: ['profile'],
    measure: measureEvents,
  },
  api: {
    about: 'endpoints with limits and without, five times too much, and an app beside one that floods',
    options: ['profile'],
    measure: measureApi,
  },
  http2: {
    about: 'the HTTP/2 client alone, beside a bare loop over node:http2',
    options: [],
    measure: measureHttp2,
  },
  import: {
    about: 'rows of a file a second, beside the same rows through the API',
    options: ['rows'],
    measure: measureImport,
  },
  webhooks: {
    about: 'one healthy endpoint, and sends beside endpoints that never answer',
    options: ['profile'],
    measure: measureWebhooks,
  },
  idle: {
    about: 'what many apps with nothing to do cost the database',
    options: ['apps', 'processes'],
    measure: measureIdle,
  },
  reports: { about: 'reports of ninety days over ten million events', options: [], measure: measureReports },
  timeline: {
    about: "pages of a large message's deliveries, and what they cost another app's reads",
    options: ['devices'],
    measure: measureTimeline,
  },
  times: { about: 'whether the time of a refusal tells more than its words', options: [], measure: measureTimes },
  worst: {
    about: 'the worst bodies of each route beside plain ones, and an app beside a client key that sends them',
    options: ['profile', 'routes'],
    measure: measureWorst,
  },
  start: { about: 'launch to ready', options: [], measure: measureStart },
  console: {
    about: 'what a person at the console waits for, in Chromium',
    options: ['devices', 'keep', 'only'],
    measure: measureConsole,
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
