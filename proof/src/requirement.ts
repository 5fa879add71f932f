// Defines what a proof is and finds the proofs. Each is a file in `requirements/` whose name begins
// with the number of its guarantee. A proof of all guarantees together has a word instead.
import { readdirSync } from 'node:fs';
import type { Workbench } from '../../rig/src/workbench.ts';
import type { Report } from './report.ts';

export interface ProofOptions {
  /** A smoke run of seconds: the same claims with small numbers. */
  readonly isQuick: boolean;
  /** The source of all random choices of the run. */
  readonly seed: number;
  readonly report: Report;
  /** Closes everything that must not outlive the proof. */
  readonly workbench: Workbench;
}

export interface Requirement {
  /** The number in the list of guarantees, such as `R-38b`, or a word. */
  readonly number: string;
  readonly title: string;
  /**
   * Why a smoke run of all proofs leaves this one out, as the end of a sentence that begins with its
   * number. It runs when it is named.
   */
  readonly leftOut?: string;
  /** Reports what holds and what does not as claims. An exception counts as a failed claim. */
  run(options: ProofOptions): Promise<void>;
}

const directory = new URL('./requirements/', import.meta.url);
const filePattern = /^(?:r-(\d+[a-z]?)-.+|([a-z]+))\.ts$/;

/** `r-38b-http2-client.ts` → `R-38b`, `soak.ts` → `soak`. */
function numberOf(file: string): string | undefined {
  const [, number, word] = filePattern.exec(file) ?? [];
  return number === undefined ? word : `R-${number}`;
}

/** The numbers that can be proven, in order, each with its file. */
export function listRequirements(): ReadonlyMap<string, string> {
  const found = readdirSync(directory).flatMap((file) => {
    const number = numberOf(file);
    return number === undefined ? [] : [[number, file] as const];
  });
  return new Map(found.sort(([one], [other]) => one.localeCompare(other, 'en', { numeric: true })));
}

export async function loadRequirement(file: string): Promise<Requirement> {
  const { requirement } = (await import(new URL(file, directory).href)) as { readonly requirement: Requirement };
  return requirement;
}
