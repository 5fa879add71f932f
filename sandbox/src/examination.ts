// The examination of one request to a phone's provider: every check that was made, and the refusal that the first
// failed one led to. Later checks go on for the sake of whoever reads them, and never change the answer.
import { type Check, type CheckName, fail, pass, skip, warn } from './check.ts';
import type { Answer } from './vendors/vendor.ts';

export class Examination {
  readonly checks: Check[] = [];
  #refusal: Answer | null = null;

  /** What the first failure is answered with; null while nothing has failed. */
  get refusal(): Answer | null {
    return this.#refusal;
  }

  pass(name: CheckName, detail: string): void {
    this.checks.push(pass(name, detail));
  }

  warn(name: CheckName, detail: string): void {
    this.checks.push(warn(name, detail));
  }

  skip(name: CheckName, detail: string): void {
    this.checks.push(skip(name, detail));
  }

  fail(name: CheckName, answer: Answer, detail: string): void {
    this.checks.push(fail(name, null, detail));
    this.#refusal ??= answer;
  }
}
