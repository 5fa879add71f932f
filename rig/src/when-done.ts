// Ends what a test has opened.
import { afterAll, onTestFinished, TestRunner } from 'vitest';

/**
 * Runs `work` when the calling test is done, or its file when called outside a test; in reverse
 * order.
 */
export function whenDone(work: () => Promise<unknown>): void {
  const register = TestRunner.getCurrentTest() === undefined ? afterAll : onTestFinished;
  register(async () => void (await work()));
}
