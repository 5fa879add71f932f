// How the metrics of several processes become one text: whoever is asked asks the supervisor, which asks all of its processes and
// adds up what they say. What a process that died had counted stays in the sums, so that no counter goes back.
import { countersOf, type FamilySnapshot, mergeSnapshots } from './platform/metrics.ts';

/** From a process to the supervisor: it wants the sums. */
export type MetricsAsked = { readonly type: 'metrics-asked'; readonly question: number };
/** From the supervisor to a process. */
export type MetricsWanted = { readonly type: 'metrics-wanted'; readonly question: number };
/** The answer, either way. */
export type MetricsTold = {
  readonly type: 'metrics-told';
  readonly question: number;
  readonly families: readonly FamilySnapshot[];
};

/** A process that is too busy to answer is left out of this one text. */
const answerWithinMs = 4_000;
/** Whoever asks the supervisor waits a little longer than the supervisor does. */
const sumsWithinMs = 5_000;

/** One side of a conversation in questions: an answer that comes too late is not waited for. */
export class MetricsQuestions {
  readonly #open = new Map<number, (families: readonly FamilySnapshot[]) => void>();
  #asked = 0;

  /** Asks the supervisor. Resolves with undefined when there is no answer in time; `send` carries the number. */
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

/** The supervisor's side: what its processes said last, and the sums of those that are gone. */
export class GatheredMetrics<Process> {
  readonly #questions = new MetricsQuestions();
  readonly #last = new Map<Process, readonly FamilySnapshot[]>();
  #gone: readonly FamilySnapshot[] = [];

  hear(told: MetricsTold): void {
    this.#questions.hear(told);
  }

  /** Asks all of them, and adds up what they say in time. */
  async gather(
    processes: Iterable<Process>,
    ask: (process: Process, wanted: MetricsWanted) => void,
  ): Promise<FamilySnapshot[]> {
    const told = await Promise.all(
      [...processes].map(async (process) => {
        const families = await this.#questions.ask((question) => ask(process, { type: 'metrics-wanted', question }));
        if (families) this.#last.set(process, families);
        // Its counters as they were: a sum that went back would look like a start.
        return families ?? countersOf(this.#last.get(process) ?? []);
      }),
    );
    return mergeSnapshots([this.#gone, ...told]);
  }

  /** A process has ended. */
  forget(process: Process): void {
    this.#gone = mergeSnapshots([this.#gone, countersOf(this.#last.get(process) ?? [])]);
    this.#last.delete(process);
  }
}
