// Makes one text of the metrics of several processes. The process that serves /metrics asks the
// supervisor, which asks all of its processes and adds up their answers. The counts of a process
// that died stay in the sums, so that no counter goes back.
import { countersOf, type FamilySnapshot, mergeSnapshots } from './registry.ts';

/** From a process to the supervisor: the process wants the sums. */
export type MetricsAsked = { readonly type: 'metrics-asked'; readonly question: number };
/** From the supervisor to a process: the supervisor wants the process's metrics. */
export type MetricsWanted = { readonly type: 'metrics-wanted'; readonly question: number };
/** The answer to either question. */
export type MetricsTold = {
  readonly type: 'metrics-told';
  readonly question: number;
  readonly families: readonly FamilySnapshot[];
};

/**
 * Milliseconds. Of a process that does not answer in this time, only the last known counters are in
 * the text.
 */
const answerWithinMs = 4_000;
/**
 * A process waits for the supervisor a little longer than the supervisor waits for its processes.
 */
const sumsWithinMs = 5_000;

/** The open questions of one side. An answer that comes too late is ignored. */
export class MetricsQuestions {
  readonly #open = new Map<number, (families: readonly FamilySnapshot[]) => void>();
  #asked = 0;

  /**
   * Asks the supervisor; `send` carries the number of the question. Resolves with undefined where
   * no answer comes in time.
   */
  askForSums(send: (question: number) => void): Promise<readonly FamilySnapshot[] | undefined> {
    return this.ask(send, sumsWithinMs);
  }

  ask(send: (question: number) => void, withinMs = answerWithinMs): Promise<readonly FamilySnapshot[] | undefined> {
    const question = ++this.#asked;
    return new Promise((resolve) => {
      const close = (families?: readonly FamilySnapshot[]): void => {
        clearTimeout(timer);
        this.#open.delete(question);
        resolve(families);
      };
      const timer = setTimeout(close, withinMs);
      timer.unref();
      this.#open.set(question, close);
      send(question);
    });
  }

  hear({ question, families }: MetricsTold): void {
    this.#open.get(question)?.(families);
  }
}

/**
 * The supervisor's side: the last answers of its processes, and the sums of the processes that have
 * ended.
 */
export class GatheredMetrics<Process> {
  readonly #questions = new MetricsQuestions();
  readonly #last = new Map<Process, readonly FamilySnapshot[]>();
  #gone: readonly FamilySnapshot[] = [];

  hear(told: MetricsTold): void {
    this.#questions.hear(told);
  }

  /** Asks all processes, and adds up the answers that come in time. */
  async gather(
    processes: Iterable<Process>,
    ask: (process: Process, wanted: MetricsWanted) => void,
  ): Promise<FamilySnapshot[]> {
    const told = await Promise.all(
      [...processes].map(async (process) => {
        const families = await this.#questions.ask((question) => ask(process, { type: 'metrics-wanted', question }));
        if (families) this.#last.set(process, families);
        // The process's last counters are added instead, because decreasing sums would look like a
        // restart.
        return families ?? countersOf(this.#last.get(process) ?? []);
      }),
    );
    return mergeSnapshots([this.#gone, ...told]);
  }

  /** Notes that a process has ended: its last counters stay in the sums. */
  forget(process: Process): void {
    this.#gone = mergeSnapshots([this.#gone, countersOf(this.#last.get(process) ?? [])]);
    this.#last.delete(process);
  }
}
