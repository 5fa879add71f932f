// Logging: pino's JSON on a pipe, readable lines on a terminal. Always to standard error, because
// standard output belongs to the banner and the command line. CR, LF and ESC in a field stay inside
// one JSON line. Ids appear in the form that callers know.
import { type DestinationStream, type Logger, pino } from 'pino';
import { encodeId, type IdPrefix } from '../values/ids.ts';
import { LogLines, standardErrorLines } from './log-lines.ts';

export type Log = Logger;

/**
 * Headers and fields that may contain a secret appear as `[redacted]`, at the top of a line or one
 * level below. So do the parts of a database error that quote the row, because rows contain tokens
 * and property values.
 */
const redactedPaths = [
  '*.authorization',
  '*.secret',
  '*.token',
  '*.p8',
  '*.privateKey',
  'authorization',
  'secret',
  'token',
  'err.detail',
  'err.where',
];

/** Fields whose ids the API also shows. A batch has no public id. */
const prefixOfField: Readonly<Record<string, IdPrefix>> = {
  app_id: 'app',
  message_id: 'msg',
  device_id: 'dev',
  webhook_id: 'whk',
  event_id: 'whe',
};

const uuidLength = 36;

/** Runs only for lines that are written, so callers pass ids unchanged. */
const serializers = Object.fromEntries(
  Object.entries(prefixOfField).map(([field, prefix]) => [
    field,
    (id: unknown) => (typeof id === 'string' && id.length === uuidLength ? encodeId(prefix, id) : id),
  ]),
);

/**
 * `destination` takes the lines in place of standard error. Without one, or with `LogLines`, no
 * call of the log throws or waits; the number of lines that were dropped is logged once there is
 * room again.
 */
export function createLog(level: string, role: string, destination?: DestinationStream): Log {
  const lines = destination ?? standardErrorLines();
  const redact = { paths: redactedPaths, censor: '[redacted]' };
  const options = { level, base: { role, pid: process.pid }, serializers, redact };
  const log = pino(options, destination ?? standardError());
  if (lines instanceof LogLines) {
    lines.onRoom = (dropped) => log.error({ dropped }, 'lines of the log were dropped: its destination took none');
  }
  return log;
}

/** Loaded only for a terminal, because it costs time and memory. */
const pretty = process.stderr.isTTY ? await import('pino-pretty') : undefined;

/**
 * Standard error for lines of JSON, with their line breaks. On a terminal they are made readable, in
 * this process, because a thread for it would end with its terminal. Other lines stay as they are.
 */
export function standardError(): DestinationStream {
  const lines = standardErrorLines();
  if (!pretty) return lines;
  const format = pretty.prettyFactory({ colorize: true, ignore: 'pid,role', translateTime: 'HH:MM:ss' });
  const write = (line: string) => lines.write(format(line.slice(0, -1)));
  const destination = { write, flushSync: () => lines.flushSync() };
  return destination;
}

/**
 * A log for lines of one delivery or attempt each. All have `fields`. Callers may pass only ids,
 * numbers and Carillon's own words, because the lines are not searched for secrets: with that
 * search and with `fields` in each call, a line cost twice as much.
 */
export function plainLog(log: Log, fields: Readonly<Record<string, unknown>>): Log {
  return log.child(fields, { redact: [] });
}

/**
 * Logs an unforeseen error and ends the process, because its state is unknown; the supervisor
 * starts it again.
 */
export function dieOfTheUnforeseen(log: Log): void {
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'uncaught exception');
    process.exit(1);
  });
  process.on('unhandledRejection', (error) => {
    log.fatal({ err: error }, 'unhandled rejection');
    process.exit(1);
  });
}
