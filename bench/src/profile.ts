// Shows where a process's time goes: reads the files of `node --cpu-prof` and divides a known CPU
// time among the parts of the service. Samples are of wall-clock time, so they give shares and not
// seconds.
import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rounded } from '../../rig/src/measure.ts';

/** A span in microseconds, on the clock that profiles use. */
export interface Span {
  readonly fromUs: number;
  readonly toUs: number;
}

export interface Part {
  readonly name: string;
  /** Microseconds of CPU time per push. */
  readonly us: number;
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
  ['HTTP/2 and TLS', /\/(http2|outbound)\/|^node:(internal\/)?http2/],
  ['channel: payload, credential, answer', /\/channels\//],
  ['rendering', /\/content\/|liquidjs/],
  ['receipt tokens', /receipt-token/],
  ['webhooks: claims, bodies, signatures, records', /\/webhooks\//],
  ['HTTP/1.1', /^node:(_http|https)/],
  ['outcomes as rows', /\/delivery\/(answer-form|outcome-|record-)/],
  ['database driver', /\/node_modules\/pg(-\w+)?\/|queries\.js$|\/dist\/database\//],
  ['delivery engine', /\/dist\/(delivery|apps|messages|process)\//],
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

/**
 * The parts of one process within a span, all threads together. `usPerPush` is the sum that the
 * parts add up to.
 */
export async function readParts(directory: string, pid: number, span: Span, usPerPush: number): Promise<Part[]> {
  const weights = new Map<string, number>();
  for (const name of await readdir(directory)) {
    // The file name is CPU.<date>.<time>.<pid>.<thread>.<number>.cpuprofile.
    if (name.split('.')[3] !== String(pid)) continue;
    addSamples(weights, JSON.parse(await readFile(join(directory, name), 'utf8')) as Profile, span);
  }
  const total = [...weights.values()].reduce((sum, each) => sum + each, 0);
  return [...weights]
    .map(([name, weight]) => ({ name, us: rounded((weight / total) * usPerPush) }))
    .sort((a, b) => b.us - a.us);
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
