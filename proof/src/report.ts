// The findings of a run: claims, each with its figure and whether it holds. A claim that could not
// be tried neither holds nor fails; the run decides what that means.

export interface Claim {
  /** A sentence that is true or false. */
  readonly claim: string;
  /** The counted or measured figure. */
  readonly figure: string;
  readonly verdict: 'pass' | 'FAIL' | 'SKIP';
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
    this.#add(claim, figure, complaints.length === 0 ? 'pass' : 'FAIL', complaints);
  }

  /**
   * Adds a claim that could not be tried, with a sentence such as `Install nginx (Debian: apt-get
   * install nginx).`
   */
  missing(claim: string, sentence: string): void {
    this.#add(claim, 'not tried', 'SKIP', [sentence]);
  }

  #add(claim: string, figure: string, verdict: Claim['verdict'], complaints: readonly string[]): void {
    const more = complaints.length - detailsMax;
    const details = [...complaints.slice(0, detailsMax), ...(more > 0 ? [`… and ${more} more`] : [])];
    this.claims.push({ claim, figure, verdict, details });
    this.#progress(`  ${verdict} ${claim}: ${figure}`);
  }
}

/** The claims as a table: the claim, its figure, and its verdict. */
export function drawTable(claims: readonly Claim[]): string {
  const width = (of: (claim: Claim) => string) => Math.max(...claims.map((claim) => of(claim).length));
  const claimWidth = width(({ claim }) => claim);
  const figureWidth = width(({ figure }) => figure);
  return claims
    .flatMap(({ claim, figure, verdict, details }) => [
      `  ${claim.padEnd(claimWidth)}  ${figure.padEnd(figureWidth)}  ${verdict}`,
      ...details.map((detail) => `      ${detail}`),
    ])
    .join('\n');
}
