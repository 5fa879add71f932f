// What a run found out: claims, each with its figure and whether it holds. A claim that could not be tried does not hold.

export interface Claim {
  /** A sentence that is true or not. */
  readonly claim: string;
  /** What was counted or measured. */
  readonly figure: string;
  readonly holds: boolean;
  /** What did not hold, or what is missing, in words for whoever has to look; empty where all is well. */
  readonly details: readonly string[];
}

/** More of the same would hide the rest. */
const detailsMax = 5;

export class Report {
  readonly #progress: (line: string) => void;
  readonly claims: Claim[] = [];

  constructor(progress: (line: string) => void) {
    this.#progress = progress;
  }

  /** Says what is under way. */
  progress(line: string): void {
    this.#progress(line);
  }

  /** Holds where `complaints` is empty. */
  claim(claim: string, figure: string, complaints: readonly string[]): void {
    const more = complaints.length - detailsMax;
    const details = [...complaints.slice(0, detailsMax), ...(more > 0 ? [`… and ${more} more`] : [])];
    const holds = complaints.length === 0;
    this.claims.push({ claim, figure, holds, details });
    this.#progress(`  ${holds ? 'ok  ' : 'FAIL'} ${claim}: ${figure}`);
  }

  /** For what this machine lacks: `Install nginx (Debian: apt-get install nginx).` */
  missing(claim: string, sentence: string): void {
    this.claim(claim, 'not tried', [sentence]);
  }
}

/** The claims as a table: what is claimed, its figure, and whether it holds. */
export function drawTable(claims: readonly Claim[]): string {
  const width = (of: (claim: Claim) => string) => Math.max(...claims.map((claim) => of(claim).length));
  const claimWidth = width(({ claim }) => claim);
  const figureWidth = width(({ figure }) => figure);
  return claims
    .flatMap(({ claim, figure, holds, details }) => [
      `  ${claim.padEnd(claimWidth)}  ${figure.padEnd(figureWidth)}  ${holds ? 'pass' : 'FAIL'}`,
      ...details.map((detail) => `      ${detail}`),
    ])
    .join('\n');
}
