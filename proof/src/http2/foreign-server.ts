// The servers that the HTTP/2 client is tested against: programs of other authors, each in several
// moods. Every server returns what it was sent, so that an answer shows which request it belongs
// to.
import type { Workbench } from '../../../rig/src/workbench.ts';
import { type Asked, markerText } from './marked-request.ts';
import type { SightName } from './sights.ts';

/** A fault or a configuration of the server that requests are sent through. */
export interface Mood {
  readonly name: string;
  /**
   * Other endings that a request may have: `refuse` is replayable because it was not acted upon;
   * `fail` allows also a loss after the request was written. Undefined: every request must be
   * answered.
   */
  readonly may?: 'refuse' | 'fail';
  /** Sights that must be seen. Otherwise the mood did not take effect. */
  readonly shows?: readonly SightName[];
  /** How often `disturb` is called in a full run, and in a quick one. */
  readonly disturbances?: readonly [full: number, quick: number];
  /** Default 300,000. */
  readonly bodyBytesMax?: number;
  /** Each request uses one of these paths. Default `/`. */
  readonly paths?: readonly string[];
  /** Statuses that are allowed beside 200. */
  readonly statuses?: readonly number[];
  /** How long a request waits for its answer, chosen at random. Default 60,000. */
  readonly timeoutsMs?: readonly number[];
  /** Settings for the server's configuration in this mood, in the server's own language. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** The server does not report what it acted upon, or loses the report when it is killed. */
  readonly forgets?: boolean;
}

export interface ForeignServer {
  readonly name: string;
  /** The Debian package to install when the server is missing. */
  readonly debianPackage: string;
  /** Undefined when the server is not installed. */
  findVersion(): string | undefined;
  readonly moods: readonly Mood[];
  /** The body of the server's 200 to this request. */
  answerTo(asked: Asked): string;
  /** Whether the server returns the headers `x-id` and `x-echo`. */
  readonly echoesHeaders: boolean;
  start(options: StartOptions): Promise<RunningServer>;
}

export interface StartOptions {
  readonly workbench: Workbench;
  readonly mood: Mood;
  readonly seed: number;
}

export interface RunningServer {
  readonly port: number;
  /** Causes the mood's disturbance while requests are in flight. */
  disturb(): Promise<void>;
  /**
   * Ends the server. Resolves with the numbers of the requests that it acted upon, repeated for
   * repeated acts.
   */
  stop(): Promise<readonly number[]>;
}

/** Streams that the client uses at once on a connection, at most. */
export const streamsMax = 100;

/**
 * A path whose answers are cut to `shortBytes`: our client resets longer answers, and servers treat
 * many resets as an attack.
 */
export const shortPath = '/short';
export const shortBytes = 8_000;

/** Most answers are short, some long. */
export const mostlyShort: readonly string[] = [...Array.from({ length: 15 }, () => shortPath), '/'];

/** The body that a server which returns bodies answers with. */
export function echoOf({ id, request }: Asked): string {
  const { length } = request.body;
  return markerText(id, request.path.startsWith(shortPath) ? Math.min(length, shortBytes) : length);
}

/** Reads a server's log, whose lines each begin with the number of a request. */
export function readNumbers(log: string): number[] {
  return log.split('\n').flatMap((line) => {
    const number = Number.parseInt(line, 10);
    return Number.isNaN(number) ? [] : [number];
  });
}
