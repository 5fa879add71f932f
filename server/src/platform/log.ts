// Logging: pino JSON on a pipe, readable lines on a terminal, always on standard error, so that standard output stays
// the banner's and the command line's. CR, LF and ESC in a field remain inside one JSON line. Ids stand in it as callers know
// them.
import { type DestinationStream, type Logger, pino } from 'pino';
import { isTypesQuestion } from './driver-repairs.ts';
import { encodeId, type IdPrefix } from './ids.ts';

export type Log = Logger;

/**
 * Headers and fields that may carry a secret print as `[redacted]`, at the top of a line or one level down. So does what a
 * database error quotes of the row it is about: tokens and property values stand in it.
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

/** Of the fields that have an id which the API shows, too. A batch has none: it is only known in here. */
const prefixOfField: Readonly<Record<string, IdPrefix>> = {
  app_id: 'app',
  message_id: 'msg',
  device_id: 'dev',
  webhook_id: 'whk',
  event_id: 'whe',
};

const uuidLength = 36;

/** Called for lines that are written, so a call hands in the id as it has it. */
const serializers = Object.fromEntries(
  Object.entries(prefixOfField).map(([field, prefix]) => [
    field,
    (id: unknown) => (typeof id === 'string' && id.length === uuidLength ? encodeId(prefix, id) : id),
  ]),
);

/** `destination` takes the lines in place of standard error. */
export function createLog(level: string, role: string, destination?: DestinationStream): Log {
  const redact = { paths: redactedPaths, censor: '[redacted]' };
  const options = { level, base: { role, pid: process.pid }, serializers, redact };
  if (destination) return pino(options, destination);
  if (process.stderr.isTTY) {
    return pino({
      ...options,
      transport: { target: 'pino-pretty', options: { destination: 2, ignore: 'pid,role', translateTime: 'HH:MM:ss' } },
    });
  }
  return pino(options, pino.destination({ dest: 2, sync: true }));
}

/** What nobody foresaw is logged and ends the process, which is started anew: nobody knows what state it is in. */
export function dieOfTheUnforeseen(log: Log): void {
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'uncaught exception');
    process.exit(1);
  });
  process.on('unhandledRejection', (error) => {
    // Foreseen, though nobody can be told.
    if (isTypesQuestion(error)) return log.warn({ err: error }, 'a connection was lost as it began');
    log.fatal({ err: error }, 'unhandled rejection');
    process.exit(1);
  });
}
