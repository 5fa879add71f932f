// `http2`: the HTTP/2 client alone, CPU time of its own process for each request, beside a bare loop over `node:http2` to the
// same receiver. Both take turns, so that a busy machine is no one's advantage.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { watchOthers } from './costs.ts';
import { type ClientName, inFlight, type Measured } from './http2/plan.ts';
import { median, requireProc, rounded } from './measure.ts';
import { completeResult, type Http2Measured, type Result } from './results.ts';
import { BenchError, plainEnvironment, progress, repository, stopChild, type Workbench } from './workbench.ts';

const receiverProgram = new URL('./http2/receiver.ts', import.meta.url);
const clientProgram = new URL('./http2/client.ts', import.meta.url);

const rounds = { full: 5, quick: 1 };
const requests = { own: { full: 300_000, quick: 20_000 }, node: { full: 60_000, quick: 5_000 } };

export async function measureHttp2(
  workbench: Workbench,
  { isQuick }: { readonly isQuick: boolean },
): Promise<Result<Http2Measured>> {
  await requireProc();
  const size = isQuick ? 'quick' : 'full';
  const receiver = start(workbench, receiverProgram, []);
  const { port } = await hear<{ port: number }>(receiver);
  const runs: Record<ClientName, Measured[]> = { own: [], node: [] };
  const countOthers = await watchOthers();
  for (let round = 1; round <= rounds[size]; round++) {
    for (const name of ['node', 'own'] as const) {
      const count = requests[name][size];
      const measured = await hear<Measured>(start(workbench, clientProgram, [name, port, count / 5, count]));
      runs[name].push(measured);
      progress(`round ${round}, ${name}: ${rounded(measured.cpuUs)} µs of CPU a request`);
    }
  }
  const foreignCores = await countOthers();
  await stopChild(receiver, 'SIGTERM');
  const figuresOf = (name: ClientName) => ({
    cpu_us_per_request: rounded(median(runs[name].map(({ cpuUs }) => cpuUs))),
    per_second: rounded(median(runs[name].map(({ perSecond }) => perSecond))),
  });
  const [ours, limit] = [figuresOf('own'), figuresOf('node')];
  return completeResult(
    {
      work: 'http2',
      params: { rounds: rounds[size], requests: requests.own[size], in_flight: inFlight, quick: isQuick },
      ours: { ...ours, foreign_cores: foreignCores },
      limit: { name: 'bare node:http2 loop', ...limit },
      ratio_cpu: rounded(limit.cpu_us_per_request / ours.cpu_us_per_request),
      ratio_rate: rounded(ours.per_second / limit.per_second),
    },
    null,
  );
}

function start(workbench: Workbench, program: URL, parameters: readonly (string | number)[]): ChildProcess {
  const child = fork(fileURLToPath(program), parameters.map(String), {
    cwd: repository,
    execArgv: ['--import', 'tsx'],
    env: plainEnvironment(),
  });
  workbench.onClose(() => stopChild(child, 'SIGTERM'));
  return child;
}

/** The first message of a child. */
async function hear<Message>(child: ChildProcess): Promise<Message> {
  const ended = once(child, 'exit').then(() => {
    throw new BenchError('a client or the receiver of http2 ended by itself');
  });
  ended.catch(() => undefined);
  const [message] = await Promise.race([once(child, 'message'), ended]);
  return message as Message;
}
