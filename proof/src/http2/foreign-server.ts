// What the HTTP/2 client is proven against: servers that nobody here wrote, each in several moods. Every one of them says back
// what it was told, so that an answer shows whose it is.
import { fileURLToPath } from 'node:url';
import type { Workbench } from '../../../bench/src/workbench.ts';
import { type Asked, markerText } from './asked.ts';
import type { SightName } from './sights.ts';

/** A fault, or a way of being, that requests are sent through. */
export interface Mood {
  readonly name: string;
  /**
   * How else than with its answer a request may end: `refuse`, not acted upon and replayable; `fail`, that too, or lost after it
   * was written. Without it every request must be answered.
   */
  readonly may?: 'refuse' | 'fail';
  /** What must have been seen, or the mood did not come to pass. */
  readonly shows?: readonly SightName[];
  /** How often `disturb` is called in a full run, and in a quick one. */
  readonly disturbances?: readonly [full: number, quick: number];
  /** Default 300,000. */
  readonly bodyBytesMax?: number;
  /** One of these is asked for each time. Default `/`. */
  readonly paths?: readonly string[];
  /** Beside 200. */
  readonly statuses?: readonly number[];
  /** How long a request waits for its answer, picked by chance. Default 60,000. */
  readonly timeoutsMs?: readonly number[];
  /** What the configuration of the server says in this mood, in its own language. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Says nothing of what it acted upon, or loses it when it is killed. */
  readonly forgets?: boolean;
}

export interface ForeignServer {
  readonly name: string;
  /** What to install where it is missing. */
  readonly debianPackage: string;
  /** Undefined where it is not installed. */
  findVersion(): string | undefined;
  readonly moods: readonly Mood[];
  /** The body that it answers with 200. */
  answerTo(asked: Asked): string;
  /** Whether it says the headers `x-id` and `x-echo` back. */
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
  /** Does to it what its mood is about, while requests are under way. */
  disturb(): Promise<void>;
  /** Ends it. Resolves with the numbers of the requests that it acted upon, each as often as it did. */
  stop(): Promise<readonly number[]>;
}

const fixture = (name: string) => fileURLToPath(new URL(`../../../server/test/fixtures/${name}.pem`, import.meta.url));

/** Self-signed, for `localhost`: also the authority to trust. */
export const certificateFile = fixture('cert');
export const certificateKeyFile = fixture('key');

/** Where this path is asked for, no more of the body is sent back: we reset longer answers, and servers suspect that. */
export const shortPath = '/short';
export const shortBytes = 8_000;

/** Most answers are short, some long. */
export const mostlyShort: readonly string[] = [...Array.from({ length: 15 }, () => shortPath), '/'];

/** What a server that sends bodies back answers. */
export function echoOf({ id, request }: Asked): string {
  const { length } = request.body;
  return markerText(id, request.path.startsWith(shortPath) ? Math.min(length, shortBytes) : length);
}

/** Lines that begin with the number of a request, as servers write them into a log of their own. */
export function readNumbers(log: string): number[] {
  return log.split('\n').flatMap((line) => {
    const number = Number.parseInt(line, 10);
    return Number.isNaN(number) ? [] : [number];
  });
}
