// The strict sandbox as a process of its own, with the history of every request in a file, which
// checkers compare with the service's claims. This module knows only the sandbox's command and its
// control address.
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { ArmedOptions } from './failpoints.ts';
import { repository, startProgram, type Workbench } from './workbench.ts';

/** One request in the sandbox's history. */
export type HistoryLine = readonly [
  token: string,
  /** Milliseconds since the epoch, when the request was complete. */
  at: number,
  /** 0: not answered. */
  status: number,
  topic: string,
  apnsId: string,
  tag: string,
  title: string,
  connectionId: number,
  /** The id of the fault that interfered; empty for none. */
  fault: string,
  /** When the answer was sent. */
  answeredAt: number,
];

export interface SandboxProcess {
  readonly pid: number;
  /** The environment variables by which a service reaches the sandbox. */
  readonly environment: Readonly<Record<string, string>>;
  readonly historyFile: string;
  post<Json>(path: string, body: object): Promise<Json>;
  /** Makes simulated browsers or phones and yields them one by one. */
  makeMany<Json>(path: '/subscriptions' | '/devices', request: object): AsyncGenerator<Json>;
  /** Replaces all faults. */
  setFaults(faults: readonly object[]): Promise<void>;
  counters(): Promise<{
    readonly requests: number;
    readonly streams_exceeded: number;
    readonly by_status: Readonly<Record<string, number>>;
  }>;
  /** Ends the sandbox; its history is complete after that. */
  stop(): Promise<void>;
}

export async function startSandboxProcess(
  workbench: Workbench,
  directory: string,
  { nodeOptions, environment: given }: ArmedOptions = { nodeOptions: [], environment: {} },
): Promise<SandboxProcess> {
  const historyFile = join(directory, 'history.ndjson');
  const program = await startProgram({
    parameters: [
      ...nodeOptions,
      join(repository, 'sandbox/bin/sandbox.mjs'),
      ...['--json', '--port=0', '--push-port=0', `--data-dir=${directory}`, `--history-file=${historyFile}`],
    ],
    workingDir: directory,
    environment: given,
    logFile: join(directory, 'sandbox.log'),
    readsOutput: true,
  });
  const stop = (): Promise<void> => program.stop('SIGTERM');
  workbench.onClose(stop);
  const ended = once(program.child, 'exit').then(async () => {
    throw new Error(`the sandbox does not start:\n${await program.lastWords()}`);
  });
  ended.catch(() => undefined);
  const output = program.child.stdout;
  if (output === null) throw new Error('the sandbox has no output');
  const [line] = await Promise.race([once(createInterface({ input: output }), 'line'), ended]);
  const { control, environment } = JSON.parse(String(line)) as {
    readonly control: string;
    readonly environment: Readonly<Record<string, string>>;
  };

  const ask = async (method: string, path: string, body?: object, accept = 'application/json'): Promise<Response> => {
    const response = await fetch(control + path, {
      method,
      headers: { 'content-type': 'application/json', accept },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`sandbox: ${response.status} to ${method} ${path}: ${await response.text()}`);
    return response;
  };
  return {
    pid: program.pid,
    environment,
    historyFile,
    post: async <Json>(path: string, body: object) => (await ask('POST', path, body)).json() as Promise<Json>,
    async *makeMany<Json>(path: string, request: object) {
      const { body } = await ask('POST', path, request, 'application/x-ndjson');
      if (body === null) throw new Error(`sandbox: no answer to ${path}`);
      const decoder = new TextDecoder();
      let rest = '';
      for await (const chunk of body) {
        const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n');
        rest = lines.pop() ?? '';
        for (const each of lines) yield JSON.parse(each) as Json;
      }
    },
    async setFaults(faults) {
      await ask('PUT', '/faults', { faults });
    },
    counters: async () => (await ask('GET', '/counters')).json() as ReturnType<SandboxProcess['counters']>,
    stop,
  };
}
