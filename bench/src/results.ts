// The shape of a result as it is printed and kept, and the machine that it was measured on. People
// read kept results and programs compare them, so a smoke run is never kept.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { progress, repository } from '../../rig/src/workbench.ts';
import type { Figure } from './figures.ts';

/** The sizes and conditions of a run. */
type Params = Readonly<Record<string, string | number | boolean>>;

/** The options that every work gets. */
export interface RunOptions {
  /** A smoke run of seconds, whose figures mean nothing. */
  readonly isQuick: boolean;
  /** The directory for CPU profiles. Taking profiles makes the run slower. */
  readonly profile?: string;
}

/** The result of a work, without the machine and the commit. */
export interface Measured {
  /** The name of the file that the result is kept in. Absent: the work's. */
  readonly name?: string;
  /** Smaller than usual, so it says little and is not kept. */
  readonly isTrial?: boolean;
  readonly params: Params;
  /** The first one is the main one. The line of a run of all works shows it. */
  readonly figures: readonly Figure[];
  /**
   * The most cores that programs outside the benchmark kept busy while a side was measured. Absent:
   * nobody watched.
   */
  readonly foreignCores?: number;
  /** The version. Null when no database took part. */
  readonly postgres: string | null;
}

export interface Result {
  readonly work: string;
  readonly params: Params;
  readonly figures: readonly Figure[];
  /** Above 0.2 the rates are not those of an idle machine. */
  readonly foreign_cores?: number | undefined;
  readonly machine: {
    readonly cores: number;
    readonly cpu: string;
    readonly node: string;
    readonly postgres: string | null;
  };
  readonly commit: string;
}

export function completeResult(work: string, isQuick: boolean, measured: Measured): Result {
  const { params, figures, foreignCores, postgres } = measured;
  const cpu = cpus()[0]?.model.trim() ?? 'unknown';
  return {
    work,
    params: { ...params, quick: isQuick },
    figures,
    foreign_cores: foreignCores,
    machine: { cores: availableParallelism(), cpu, node: process.version, postgres },
    commit: findCommit(),
  };
}

/**
 * Short hash of the commit, with `-dirty` when the tree differs from it in more than kept results.
 */
function findCommit(): string {
  const git = (...parameters: string[]): string =>
    execFileSync('git', parameters, { cwd: repository, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no', '--', '.', ':(exclude)bench/results');
    return git('rev-parse', '--short', 'HEAD') + (changed === '' ? '' : '-dirty');
  } catch {
    // A copy without Git history.
    return 'unknown';
  }
}

const directory = join(repository, 'bench/results');

/** The result that was kept last under this name. */
export function findKept(name: string): Result | undefined {
  const file = join(directory, `${name}.json`);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Result) : undefined;
}

/** Writes `bench/results/NAME.json`. A smoke run goes to a name beside it that Git ignores. */
export function keepResult(name: string, isQuick: boolean, result: Result): void {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, isQuick ? `${name}.quick.json` : `${name}.json`);
  // A line for each figure, for people.
  const figures = result.figures.map((each) => `    ${JSON.stringify(each)}`).join(',\n');
  const [before, after] = JSON.stringify({ ...result, figures: [] }, null, 2).split('"figures": []');
  writeFileSync(file, `${before}"figures": [\n${figures}\n  ]${after}\n`);
  progress(`kept in ${file}`);
}
