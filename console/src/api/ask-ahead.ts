// Requests the data of a page while its script is still loaded. The page makes the same requests by
// itself, so nothing waits for this, and the page reports errors.
import type { FetchQueryOptions } from '@tanstack/react-query';
import { queryClient, queryOf } from './queries.ts';

// Each question has an answer of its own type, which nobody reads here.
// biome-ignore lint/suspicious/noExplicitAny: no other type admits all of them
export type Question = FetchQueryOptions<any, any, any, any>;

/**
 * Makes the requests without an answer yet, all at once, as soon as there is a session. Without a
 * session they would be refused. Every role may make them.
 */
export async function askAhead(questionsOf: () => readonly Question[]): Promise<void> {
  try {
    const session = await queryClient.ensureQueryData(queryOf('getSession', {}));
    if (session.must_set_up_two_factor) return;
    for (const question of questionsOf()) {
      if (queryClient.getQueryData(question.queryKey) === undefined) void queryClient.prefetchQuery(question);
    }
  } catch {
    // The frame leads to the sign-in page, or shows the error.
  }
}
