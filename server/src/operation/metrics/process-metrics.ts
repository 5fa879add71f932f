// Metrics of the process itself (CPU, memory, event loop), read at the scrape.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { linesDropped } from '../../ground/host/log-lines.ts';
import { createMetrics, type FamilySnapshot } from './registry.ts';

/** `name` tells the process from the others: `supervisor`, `api`, `worker-1`. */
export function createProcessMetrics(name: string): () => FamilySnapshot[] {
  const metrics = createMetrics();
  const labels = ['process'];
  const cpu = metrics.counter({ name: 'carillon_process_cpu_seconds_total', help: 'Seconds of CPU time.', labels });
  const resident = metrics.gauge({ name: 'carillon_process_resident_memory_bytes', help: 'Resident memory.', labels });
  const heap = metrics.gauge({ name: 'carillon_process_heap_used_bytes', help: 'JavaScript heap in use.', labels });
  const begun = metrics.gauge({
    name: 'carillon_process_start_time_seconds',
    help: 'Start of the process, in seconds since the epoch, by its own clock.',
    labels,
  });
  begun([name], performance.timeOrigin / 1000);
  const lag = metrics.gauge({
    name: 'carillon_process_event_loop_lag_seconds',
    help: 'The 99th percentile of the event loop lag since the last scrape.',
    labels,
  });
  const delays = monitorEventLoopDelay({ resolution: 20 });
  delays.enable();
  const droppedLines = metrics.counter({
    name: 'carillon_log_lines_dropped_total',
    help: 'Lines of the log that were dropped, because its destination took none.',
    labels,
  });
  let cpuToldSeconds = 0;
  let linesTold = 0;
  return () => {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    const cpuSeconds = (user + system) / 1e6;
    cpu([name], cpuSeconds - cpuToldSeconds);
    cpuToldSeconds = cpuSeconds;
    const lines = linesDropped();
    droppedLines([name], lines - linesTold);
    linesTold = lines;
    resident([name], rss);
    heap([name], heapUsed);
    lag([name], delays.count === 0 ? 0 : delays.percentile(99) / 1e9);
    delays.reset();
    return metrics.snapshot();
  };
}
