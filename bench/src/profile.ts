// Shows where a process's time goes: reads the files of `node --cpu-prof` and divides a known CPU
// time among the parts of the service. Samples are of wall-clock time, so they give shares and not
// seconds.
import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Figure, figure } from './figures.ts';

/** A span in microseconds, on the clock that profiles use. */
export interface Span {
  readonly fromUs: number;
  readonly toUs: number;
}

/** Now, on the clock that profiles use, in microseconds. */
export function profileClockUs(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

/**
 * The part of the service that a frame belongs to, by its file; the innermost frame that matches
 * decides. Files that serve many parts, such as ids, match nothing here, so their time counts for
 * their caller.
 */
const owners: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['encryption', /\/channels\/webpush\/encrypt/],
  ['HTTP/2 and TLS', /\/(packages\/http2|outbound)\/|^node:(internal\/)?http2/],
  ['channel: payload, credential, answer', /\/channels\//],
  ['rendering', /\/content\/|liquidjs/],
  ['receipt tokens', /receipt-token/],
  ['webhooks: claims, bodies, signatures, records', /\/webhooks\//],
  ['HTTP/1.1', /^node:(_http|https)/],
  ['outcomes as rows', /\/delivery\/(answer-form|outcome-|record-)/],
  ['database driver', /\/node_modules\/pg(-\w+)?\/|queries\.js$|\/(packages\/postgres|ground\/database)\//],
  ['delivery engine', /\/dist\/\w+\/(delivery|apps|messages|process)\//],
];

interface Frame {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
    readonly columnNumber: number;
  };
  readonly children?: readonly number[];
}

interface Profile {
  readonly nodes: readonly Frame[];
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface Profiled {
  /** Undefined: no profile was requested. */
  readonly directory: string | undefined;
  readonly pids: readonly number[];
  readonly span: Span;
  /** The CPU time of a push, which the parts of one process add up to. */
  readonly usPerPush: number;
}

/** The parts of each worker's time within a span, all threads together. The workers have ended. */
export async function readParts({ directory, pids, span, usPerPush }: Profiled): Promise<Figure[]> {
  if (directory === undefined) return [];
  const files = await readdir(directory);
  const figures: Figure[] = [];
  for (const pid of pids) {
    const weights = new Map<string, number>();
    // The file name is CPU.<date>.<time>.<pid>.<thread>.<number>.cpuprofile.
    for (const name of files.filter((each) => each.split('.')[3] === String(pid))) {
      addSamples(weights, JSON.parse(await readFile(join(directory, name), 'utf8')) as Profile, span);
    }
    const parts = [...weights].toSorted(([, a], [, b]) => b - a);
    const total = parts.reduce((sum, [, weight]) => sum + weight, 0);
    figures.push(...parts.map(([name, weight]) => figure(`worker: ${name}`, (weight / total) * usPerPush, 'µs')));
  }
  return figures;
}

function addSamples(weights: Map<string, number>, profile: Profile, { fromUs, toUs }: Span): void {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(
    profile.nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node] as const)),
  );
  const known = new Map<number, string | null>();
  let atUs = profile.startTime;
  for (const [i, id] of profile.samples.entries()) {
    const deltaUs = profile.timeDeltas[i] ?? 0;
    atUs += deltaUs;
    if (atUs < fromUs || atUs > toUs) continue;
    let name = known.get(id);
    if (name === undefined) {
      name = partOf(nodes.get(id), parents);
      known.set(id, name);
    }
    if (name !== null) weights.set(name, (weights.get(name) ?? 0) + deltaUs);
  }
}

/** The part that a sample belongs to; null when the thread was idle. */
function partOf(leaf: Frame | undefined, parents: ReadonlyMap<number, Frame>): string | null {
  const functionName = leaf?.callFrame.functionName;
  if (functionName === '(idle)') return null;
  if (functionName === '(garbage collector)') return 'garbage collection';
  for (let frame = leaf; frame; frame = parents.get(frame.id)) {
    const file = fileOf(frame);
    const owner = owners.find(([, pattern]) => pattern.test(file));
    if (owner) return owner[0];
  }
  return 'Node itself';
}

const mapsOfProgram = new Map<string, SourceMap>();

/** The address of the module that a frame was written in. The built program is a bundle of modules. */
function fileOf({ callFrame: { url, lineNumber, columnNumber } }: Frame): string {
  if (!url.includes('/dist/program/')) return url;
  let map = mapsOfProgram.get(url);
  if (!map) {
    map = new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, 'utf8')));
    mapsOfProgram.set(url, map);
  }
  const entry = map.findEntry(lineNumber, columnNumber);
  return 'originalSource' in entry ? new URL(entry.originalSource, url).href : url;
}
