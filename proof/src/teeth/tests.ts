// Asks the process that runs tests in the copied tree.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Question, TestsRun } from './tests-process.ts';

const lastWordsMax = 2_000;

export class Tests {
  readonly #tree: string;
  readonly #child: ChildProcess;
  #lastWords = '';

  private constructor(tree: string, child: ChildProcess) {
    this.#tree = tree;
    this.#child = child;
    child.stderr?.on('data', (words: Buffer) => {
      this.#lastWords = (this.#lastWords + words.toString()).slice(-lastWordsMax);
    });
  }

  static async start(tree: string): Promise<Tests> {
    const child = fork(join(tree, 'proof/src/teeth/tests-process.ts'), {
      cwd: tree,
      execArgv: ['--import', 'tsx'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    const tests = new Tests(tree, child);
    await tests.#heard();
    return tests;
  }

  async run({ changed, file, pattern }: Question): Promise<TestsRun> {
    const heard = this.#heard();
    this.#child.send({ changed: changed.map((each) => join(this.#tree, each)), file, pattern });
    return (await heard) as TestsRun;
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    const late = setTimeout(() => this.#child.kill('SIGKILL'), 30_000);
    await ended;
    clearTimeout(late);
  }

  async #heard(): Promise<unknown> {
    const stop = new AbortController();
    const { signal } = stop;
    const [answer] = (await Promise.race([
      once(this.#child, 'message', { signal }),
      once(this.#child, 'exit', { signal }).then(([status]) => {
        throw new Error(`The process of the tests ended with ${status}:\n${this.#lastWords}`);
      }),
    ]).finally(() => stop.abort())) as [unknown];
    return answer;
  }
}
