// The receiving end of every push: the sandbox in a process of its own, accepting without decrypting, the same for all that
// are measured against each other.
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { BenchError, progress, repository, startProgram, type Workbench } from './workbench.ts';

/** `PushSubscription.toJSON()`. */
export interface PushSubscriptionJson {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

/** What the peers need to reach it. */
export interface ReceiverAddress {
  readonly controlUrl: string;
  readonly origin: string;
  readonly certificateFile: string;
}

/** One request: who it was for, when it began to arrive (milliseconds since the epoch), and the Topic it carried. */
interface Arrival {
  readonly at: number;
  readonly topic: string;
}

export interface Receiver {
  readonly pid: number;
  readonly address: ReceiverAddress;
  /** The variables by which the service reaches it. */
  readonly environment: Readonly<Record<string, string>>;
  /** Forgets what it counted. */
  reset(): Promise<void>;
  /** Rejects when it did not accept exactly so many requests since the last reset, and no other. */
  expectAccepted(count: number): Promise<void>;
  /** Every request since the last reset, where a history was asked for. */
  arrivals(): Promise<Arrival[]>;
}

export async function startReceiver(
  workbench: Workbench,
  { keepsHistory = false }: { keepsHistory?: boolean } = {},
): Promise<Receiver> {
  const directory = await workbench.makeDirectory('receiver');
  const parameters = ['--blind', '--json', '--port=0', '--push-port=0', `--data-dir=${directory}`];
  if (keepsHistory) parameters.push('--history');
  const program = await startProgram({
    parameters: [join(repository, 'sandbox/bin/sandbox.mjs'), ...parameters],
    workingDir: directory,
    environment: {},
    logFile: join(directory, 'receiver.log'),
    readsOutput: true,
  });
  workbench.onClose(() => program.stop('SIGTERM'));
  const { stdout } = program.child;
  if (stdout === null) throw new BenchError('the receiver has no output');
  const lines = createInterface({ input: stdout });
  const ended = once(program.child, 'exit').then(async () => {
    throw new BenchError(`the receiver does not start: ${await program.lastWords()}`);
  });
  ended.catch(() => undefined);
  const [line] = await Promise.race([once(lines, 'line'), ended]);
  const said = JSON.parse(String(line)) as Announcement;
  progress(`receiver at ${said.push_origin}`);

  const ask = async (method: string, path: string): Promise<Response> => {
    const response = await fetch(said.control + path, { method });
    if (!response.ok) throw new BenchError(`the receiver answered ${response.status} to ${method} ${path}`);
    return response;
  };
  return {
    pid: program.pid,
    address: { controlUrl: said.control, origin: said.push_origin, certificateFile: said.certificate_file },
    environment: said.environment,
    reset: async () => {
      await ask('DELETE', '/log');
    },
    async expectAccepted(count) {
      const counters = (await (await ask('GET', '/counters')).json()) as { requests: number; accepted: number };
      if (counters.requests === count && counters.accepted === count) return;
      throw new BenchError(`the receiver counted ${counters.requests} requests where ${count} were expected`);
    },
    async arrivals() {
      const text = await (await ask('GET', '/history')).text();
      return text
        .split('\n')
        .filter((each) => each !== '')
        .map((each) => {
          const [, at, , topic] = JSON.parse(each) as [string, number, number, string];
          return { at, topic };
        });
    },
  };
}

interface Announcement {
  readonly control: string;
  readonly push_origin: string;
  readonly certificate_file: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Simulated browsers, each with keys of its own: as many as are read, line by line, in one order for one seed. */
export async function* subscribe(
  { controlUrl }: Pick<ReceiverAddress, 'controlUrl'>,
  request: { readonly count: number; readonly vapidKey: string; readonly seed: string },
): AsyncGenerator<PushSubscriptionJson> {
  const { count, vapidKey, seed } = request;
  const response = await fetch(`${controlUrl}/subscriptions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/x-ndjson' },
    body: JSON.stringify({ count, vendor: 'generic', vapid_key: vapidKey, seed }),
  });
  if (!response.ok || response.body === null) {
    throw new BenchError(`no subscriptions: ${response.status} ${await response.text()}`);
  }
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body) {
    const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const each of lines) yield JSON.parse(each) as PushSubscriptionJson;
  }
}
