// The end of a process that the benchmark forked: one question, one answer, in order, until the other end is gone.
export type Reply<Answer> = { readonly answer: Answer } | { readonly failed: string };

/** Serves the process that forked this one. What `answer` throws is told in words. */
export function serveParent<Question>(answer: (question: Question) => unknown): void {
  const reply = async (question: Question): Promise<Reply<unknown>> => {
    try {
      return { answer: await answer(question) };
    } catch (error) {
      return { failed: error instanceof Error ? (error.stack ?? error.message) : JSON.stringify(error) };
    }
  };
  process.on('message', (question: Question) => {
    reply(question).then(
      (message) => process.send?.(message),
      () => process.exit(1),
    );
  });
  process.on('disconnect', () => process.exit(0));
}
