// The examination of one request to a phone's provider: its checks, and the refusal of the first
// check that failed. Checks after the first failure are recorded for people and never change the
// answer.
import { type Check, type CheckName, fail, pass, skip, warn } from './check.ts';
import type { Answer } from './vendors/vendor.ts';

export class Examination {
  readonly checks: Check[] = [];
  #refusal: Answer | null = null;

  /** The answer to the first failure; null while nothing has failed. */
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
