// One process of the service. The supervisor (process/supervisor.ts) starts it and tells it its
// role. It serves the API or works batches until it is told to drain, or until the supervisor is
// gone.
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../../config.ts';
import { createLog, dieOfTheUnforeseen, type Log } from '../../ground/host/log.ts';
import { MetricsQuestions } from '../metrics/gather.ts';
import { explainListenError } from './listen-port.ts';
import { loadMasterKey } from './master-key.ts';
import { createService, type Service } from './service.ts';
import type { FromProcess, ToProcess } from './supervisor.ts';

const config = loadConfig();
/**
 * Milliseconds from the failure of /readyz to the drain, because load balancers need a moment to
 * notice.
 */
const lameDuckMs = 5000;
/**
 * Milliseconds after which a draining process ends itself. The supervisor kills it sooner.
 * Without a supervisor the process would wait for ever to write outcomes to a database that is
 * gone.
 */
const drainMsMax = 23_500;
const pollToldEveryMs = 2000;
/** A loop that has not looked for work for this long never will. */
const stuckMs = 60_000;

let service: Service | undefined;
let isApi = false;
let isDraining = false;
/** This process's questions to the supervisor. */
const metricsQuestions = new MetricsQuestions();

function tell(message: FromProcess): void {
  if (process.connected) process.send?.(message);
}

async function start({ role, name, databaseUrl }: Extract<ToProcess, { type: 'start' }>): Promise<void> {
  const log = createLog(config.logLevel, role);
  dieOfTheUnforeseen(log);
  service = await createService({
    config,
    role,
    databaseUrl,
    masterKeys: await loadMasterKey(config),
    log,
    metrics: {
      name,
      gather: () => metricsQuestions.askForSums((question) => tell({ type: 'metrics-asked', question })),
    },
  });
  isApi = role === 'api';
  if (role === 'worker') {
    const workers = service.startWorkers();
    tell({ type: 'ready', address: null });
    setInterval(() => watchPoll(performance.now() - workers.lastLookedAt, log), pollToldEveryMs).unref();
    return;
  }
  const address = await service.server
    .listen({ host: config.host, port: config.port })
    .catch(async (error: unknown) => {
      throw await explainListenError(error, config);
    });
  tell({ type: 'ready', address });
}

// Only the API's process asks the database for metrics.
async function tellMetrics(question: number): Promise<void> {
  const families = (await service?.snapshotMetrics({ includesDatabase: isApi })) ?? [];
  tell({ type: 'metrics-told', question, families });
}

// The API answers /readyz for the workers, which listen on no port. A worker whose loop is stuck
// exits, and the supervisor starts another one.
function watchPoll(pollAgeMs: number, log: Log): void {
  tell({ type: 'polled', pollAgeMs });
  if (pollAgeMs < stuckMs || isDraining) return;
  log.fatal({ poll_age_ms: pollAgeMs }, 'the send loop is stuck');
  process.exit(1);
}

async function drain(isHurried: boolean): Promise<void> {
  if (isDraining) return;
  isDraining = true;
  setTimeout(() => process.exit(1), drainMsMax).unref();
  if (service) {
    service.leave();
    const isApi = service.server.server.listening;
    if (isApi && !isHurried) await sleep(lameDuckMs);
    const drained = service.drain();
    await service.server.close();
    await drained;
    await service.close();
  }
  process.exit(0);
}

// Ctrl-C and `kill -TERM` of the group reach every process. A process obeys only its supervisor, so
// that all stop in order.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.on('disconnect', () => void drain(true));
process.on('message', (message: ToProcess) => {
  if (message.type === 'drain') return void drain(message.isHurried);
  if (message.type === 'workers') return service?.noteWorkers(message.pollAgeMs);
  if (message.type === 'metrics-wanted') return void tellMetrics(message.question);
  if (message.type === 'metrics-told') return metricsQuestions.hear(message);
  start(message).catch((error: unknown) => {
    // The message must have left before the process exits.
    const failed: FromProcess = { type: 'failed', reason: error instanceof Error ? error.message : String(error) };
    process.send?.(failed, () => process.exit(1));
  });
});
