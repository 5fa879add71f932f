// The child's side of a forked process: it answers one question after another until the parent is
// gone.
export type Reply<Answer> = { readonly answer: Answer } | { readonly failed: string };

/**
 * Answers the questions of the parent process. An error that `answer` throws is returned as text.
 */
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
