// `npm run bench -- WORK` runs one work, prints its result and keeps it. The exit code is 0 when
// the work ran to its end, whatever the figures are: people judge the figures.
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { progress, RunError, Workbench } from '../../rig/src/workbench.ts';
import { measureApi } from './api.ts';
import { measureAudience } from './audience.ts';
import { audienceName, audienceUsual } from './audience-sizes.ts';
import { isWay, ways } from './channels.ts';
import { type ConsolePart, consoleDevicesUsual, consoleParts, measureConsole } from './console.ts';
import {
  describeAudience,
  describeHttp2,
  describeIdle,
  describeImport,
  describeLatency,
  describeReports,
  describeSend,
  describeStart,
  describeTimeline,
  describeTimes,
  describeWebhooks,
} from './describe.ts';
import { describeApi } from './describe-api.ts';
import { describeConsole } from './describe-console.ts';
import { describeEvents } from './describe-events.ts';
import { measureEvents } from './events.ts';
import { measureHttp2 } from './http2.ts';
import { idleName, idleUsual, measureIdle } from './idle.ts';
import { measureImport } from './import.ts';
import { measureLatency } from './latency.ts';
import { measureReports } from './reports.ts';
import { keepResult, type Result } from './results.ts';
import { devicesUsual, measureSend, sendName } from './send.ts';
import { measureStart } from './start.ts';
import { measureTimeline, timelineDevicesUsual } from './timeline.ts';
import { measureTimes } from './times.ts';
import { measureWebhooks } from './webhooks.ts';

/** The number of rows of a file when no option gives one. */
const rowsUsual = 1_000_000;

const usage = `npm run bench -- WORK [options]

  send      one message to many devices, against libraries and a bare loop
              --channel webpush|apns|fcm|mixed
                                    the way it goes; mixed: a third of the devices each
              --devices N           how many (default 100000)
              --latency MS          push services answer so much later (default 0)
              --refuse SHARE        so many of the tokens are gone, such as 0.01; sent without any before and after
              --workers N           worker processes (default: one less than cores)
              --profile DIR         keeps CPU profiles there, and prints where the worker's time goes
  latency   one device, idle service
  audience  previews over JSONB's, upserts and a snapshot, and how they grow with the audience
              --devices N           how many (default 1000000)
  events    tracked events through HTTP, beside bare inserts
              --profile DIR         keeps CPU profiles there
  api       endpoints with limits and without, five times too much, and an app beside one that floods
              --profile DIR         keeps CPU profiles there
  http2     the HTTP/2 client alone, beside a bare loop over node:http2
  import    rows of a file a second, beside the same rows through the API
              --rows N              how many (default 1000000)
  webhooks  one healthy endpoint, and sends beside endpoints that never answer
              --profile DIR         as above
  idle      what many apps with nothing to do cost the database
              --apps N              with ten webhooks each (default 1000)
              --processes N         one API and workers (default 4)
  reports   reports of ninety days over ten million events
  timeline  pages of a great message's deliveries, and what they cost another app's reads
              --devices N           how many (default 1000000)
  times     whether the time of a refusal tells more than its words
  start     launch to ready
  console   what a person at the console waits for, over a million devices and ten million events
              --devices N           how many (default 1000000)
              --keep DIR            keeps the filled database there, and measures the one that is there
              --only PART,PART      some of feeds, pages, explain, composer, counts

  --quick   a smoke run of seconds; its figures mean nothing
  --json    one JSON document on standard output
`;

interface Invocation {
  readonly work: string;
  readonly channel: string | undefined;
  readonly devices: number | undefined;
  readonly rows: number | undefined;
  readonly latencyMs: number | undefined;
  readonly refuse: number;
  readonly workers: number | undefined;
  readonly apps: number | undefined;
  readonly processes: number | undefined;
  readonly profileDir: string | undefined;
  readonly keepDir: string | undefined;
  readonly only: readonly ConsolePart[];
  readonly isQuick: boolean;
  readonly isJson: boolean;
}

interface Outcome {
  /** The name of the file that the result is kept in. */
  readonly name: string;
  readonly result: Result;
  readonly text: string;
}

function parseInvocation(argv: readonly string[]): Invocation | 'help' {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      channel: { type: 'string' },
      devices: { type: 'string' },
      rows: { type: 'string' },
      latency: { type: 'string' },
      refuse: { type: 'string' },
      workers: { type: 'string' },
      apps: { type: 'string' },
      processes: { type: 'string' },
      profile: { type: 'string' },
      keep: { type: 'string' },
      only: { type: 'string' },
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const [work, ...more] = positionals;
  if (work === undefined || more.length > 0) throw new RunError(`Name one work.\n\n${usage}`);
  if (work !== 'send' && (values.channel ?? values.latency ?? values.refuse ?? values.workers) !== undefined) {
    throw new RunError(`--channel, --latency, --refuse and --workers are options of 'send'.`);
  }
  if (values.refuse !== undefined && values.channel === 'mixed') {
    throw new RunError('--refuse is an option of a single channel.');
  }
  if (work !== 'idle' && (values.apps ?? values.processes) !== undefined) {
    throw new RunError(`--apps and --processes are options of 'idle'.`);
  }
  if (!['send', 'audience', 'timeline', 'console'].includes(work) && values.devices !== undefined) {
    throw new RunError(`--devices is an option of 'send', 'audience', 'timeline' and 'console'.`);
  }
  if (work !== 'import' && values.rows !== undefined) throw new RunError(`--rows is an option of 'import'.`);
  if (!['send', 'events', 'api', 'webhooks'].includes(work) && values.profile !== undefined) {
    throw new RunError(`--profile is an option of 'send', 'events', 'api' and 'webhooks'.`);
  }
  if (work !== 'console' && (values.keep ?? values.only) !== undefined) {
    throw new RunError(`--keep and --only are options of 'console'.`);
  }
  return {
    work,
    channel: values.channel,
    devices: parseWhole('devices', values.devices, 1, 10_000_000),
    rows: parseWhole('rows', values.rows, 1, 100_000_000),
    latencyMs: parseWhole('latency', values.latency, 0, 5_000),
    refuse: parseShare(values.refuse),
    workers: parseWhole('workers', values.workers, 1, 64),
    apps: parseWhole('apps', values.apps, 1, 100_000),
    processes: parseWhole('processes', values.processes, 2, 64),
    profileDir: values.profile === undefined ? undefined : resolve(values.profile),
    keepDir: values.keep === undefined ? undefined : resolve(values.keep),
    only: parseParts(values.only),
    isQuick: values.quick,
    isJson: values.json,
  };
}

function parseWhole(name: string, text: string | undefined, least: number, most: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new RunError(`--${name} must be a whole number from ${least} to ${most}, not '${text}'.`);
}

function parseParts(text: string | undefined): readonly ConsolePart[] {
  if (text === undefined) return consoleParts;
  return text.split(',').map((name) => {
    const part = consoleParts.find((each) => each === name);
    if (part === undefined) throw new RunError(`--only takes some of ${consoleParts.join(', ')}, not '${name}'.`);
    return part;
  });
}

function parseShare(text: string | undefined): number {
  if (text === undefined) return 0;
  const share = Number(text);
  if (share > 0 && share <= 0.5) return share;
  throw new RunError(`--refuse must be a share above 0, up to 0.5, not '${text}'.`);
}

async function run(workbench: Workbench, invocation: Invocation): Promise<Outcome> {
  const { work, channel, devices, rows, latencyMs = 0, refuse, workers } = invocation;
  const { apps, processes, profileDir, keepDir, only, isQuick } = invocation;
  switch (work) {
    case 'send': {
      if (channel === undefined || !isWay(channel)) throw new RunError(`Say which way: --channel ${ways.join('|')}.`);
      const options = {
        way: channel,
        devices: devices ?? (isQuick ? 2_000 : devicesUsual),
        latencyMs,
        refuse,
        workers,
      };
      const { result, workerParts } = await measureSend(workbench, { ...options, isQuick, profileDir });
      return { name: sendName(options), result, text: describeSend(result, workerParts) };
    }
    case 'idle': {
      const size = { apps: apps ?? idleUsual.apps, processes: processes ?? idleUsual.processes };
      const result = await measureIdle(workbench, { ...size, isQuick });
      return { name: idleName(size), result, text: describeIdle(result) };
    }
    case 'latency': {
      const result = await measureLatency(workbench, { isQuick });
      return { name: 'latency-webpush', result, text: describeLatency(result) };
    }
    case 'audience': {
      const size = devices ?? (isQuick ? 10_000 : audienceUsual);
      const result = await measureAudience(workbench, { devices: size, isQuick });
      return { name: audienceName(size), result, text: describeAudience(result) };
    }
    case 'events': {
      const result = await measureEvents(workbench, { isQuick, profileDir });
      return { name: 'events', result, text: describeEvents(result) };
    }
    case 'api': {
      const result = await measureApi(workbench, { isQuick, profileDir });
      return { name: 'api', result, text: describeApi(result) };
    }
    case 'http2': {
      const result = await measureHttp2(workbench, { isQuick });
      return { name: 'http2', result, text: describeHttp2(result) };
    }
    case 'import': {
      const result = await measureImport(workbench, { rows: rows ?? (isQuick ? 10_000 : rowsUsual), isQuick });
      return { name: 'import', result, text: describeImport(result) };
    }
    case 'webhooks': {
      const { result, workerParts } = await measureWebhooks(workbench, { isQuick, profileDir });
      return { name: 'webhooks', result, text: describeWebhooks(result, workerParts) };
    }
    case 'reports': {
      const result = await measureReports(workbench, { isQuick });
      return { name: 'reports', result, text: describeReports(result) };
    }
    case 'timeline': {
      const size = devices ?? (isQuick ? 20_000 : timelineDevicesUsual);
      const result = await measureTimeline(workbench, { devices: size, isQuick });
      return { name: 'timeline', result, text: describeTimeline(result) };
    }
    case 'console': {
      const size = devices ?? (isQuick ? 8_000 : consoleDevicesUsual);
      const result = await measureConsole(workbench, { devices: size, isQuick, keepDir, only });
      const name = size > consoleDevicesUsual ? `console-${size}` : 'console';
      return { name, result, text: describeConsole(result) };
    }
    case 'times': {
      const result = await measureTimes(workbench, { isQuick });
      return { name: 'times', result, text: describeTimes(result) };
    }
    case 'start': {
      const result = await measureStart(workbench, { isQuick });
      return { name: 'start', result, text: describeStart(result) };
    }
    default:
      throw new RunError(`There is no work '${work}'.\n\n${usage}`);
  }
}

/**
 * Whether the figures are a trial and are not kept: few devices say little, and taking a profile
 * costs time.
 */
function isTrial({ work, isQuick, devices, rows = rowsUsual, profileDir, only }: Invocation): boolean {
  if (work === 'console' && only.length < consoleParts.length) return true;
  if (work === 'import') return isQuick || rows < rowsUsual;
  const usual =
    { audience: audienceUsual, timeline: timelineDevicesUsual, console: consoleDevicesUsual }[work] ?? devicesUsual;
  return isQuick || (devices ?? usual) < usual || profileDir !== undefined;
}

const workbench = new Workbench();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => void workbench.close().finally(() => process.exit(130)));
}

try {
  const invocation = parseInvocation(process.argv.slice(2));
  if (invocation === 'help') process.stdout.write(usage);
  else {
    const { name, result, text } = await run(workbench, invocation);
    await workbench.close();
    keepResult(name, isTrial(invocation), result);
    process.stdout.write(invocation.isJson ? `${JSON.stringify(result)}\n` : `\n${text}\n`);
  }
  process.exitCode = 0;
} catch (error) {
  const isForPeople = error instanceof RunError || (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS');
  progress(`bench: ${isForPeople ? (error as Error).message : ((error as Error).stack ?? String(error))}`);
  process.exitCode = 1;
} finally {
  await workbench.close();
}
