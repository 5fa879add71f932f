// The parent's side of a forked process, such as a peer or the receiver. It asks one question at a
// time and ends the child when the benchmark ends.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { plainEnvironment, RunError, repository, stopChild, type Workbench } from '../../rig/src/workbench.ts';
import type { Reply } from './child-end.ts';

export interface Child<Question> {
  readonly pid: number;
  /** Rejects with the error that the child reports, or when the child ends before it answers. */
  ask<Answer = void>(question: Question): Promise<Answer>;
  stop(): Promise<void>;
}

/** Forks a program that calls `serveParent`. `name` appears in error messages. */
export function startChild<Question extends object>(
  workbench: Workbench,
  name: string,
  program: URL,
  parameters: readonly string[] = [],
): Child<Question> {
  const child = fork(fileURLToPath(program), [...parameters], {
    cwd: repository,
    execArgv: ['--import', 'tsx'],
    env: plainEnvironment(),
  });
  const stop = () => stopChild(child, 'SIGTERM');
  workbench.onClose(stop);
  return {
    pid: child.pid ?? 0,
    ask: <Answer>(question: Question) =>
      new Promise<Answer>((resolve, reject) => {
        const onExit = () => reject(new RunError(`${name} ended by itself`));
        child.once('exit', onExit);
        child.once('message', (reply: Reply<Answer>) => {
          child.off('exit', onExit);
          if ('failed' in reply) reject(new RunError(`${name} failed: ${reply.failed}`));
          else resolve(reply.answer);
        });
        child.send(question);
      }),
    stop,
  };
}
