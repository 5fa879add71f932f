// The findings of a run: claims, each with its figure and whether it holds. A claim that could not
// be tried does not hold.

export interface Claim {
  /** A sentence that is true or false. */
  readonly claim: string;
  /** The counted or measured figure. */
  readonly figure: string;
  readonly holds: boolean;
  /** Sentences about what did not hold or what is missing; empty when the claim holds. */
  readonly details: readonly string[];
}

/** More complaints of the same kind would hide the other claims. */
const detailsMax = 5;

export class Report {
  readonly #progress: (line: string) => void;
  readonly claims: Claim[] = [];

  constructor(progress: (line: string) => void) {
    this.#progress = progress;
  }

  /** Prints what is under way. */
  progress(line: string): void {
    this.#progress(line);
  }

  /** Adds a claim, which holds when `complaints` is empty. */
  claim(claim: string, figure: string, complaints: readonly string[]): void {
    const more = complaints.length - detailsMax;
    const details = [...complaints.slice(0, detailsMax), ...(more > 0 ? [`… and ${more} more`] : [])];
    const holds = complaints.length === 0;
    this.claims.push({ claim, figure, holds, details });
    this.#progress(`  ${holds ? 'ok  ' : 'FAIL'} ${claim}: ${figure}`);
  }

  /**
   * Adds a claim that could not be tried, with a sentence such as `Install nginx (Debian: apt-get
   * install nginx).`
   */
  missing(claim: string, sentence: string): void {
    this.claim(claim, 'not tried', [sentence]);
  }
}

/** The claims as a table: the claim, its figure, and whether it holds. */
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
