// Walks a list page by page. Each page is fetched when the one before it is used up.

export interface Page<Item> {
  readonly data: readonly Item[];
  readonly next_cursor: string | null;
}

/**
 * Yields every item that exists during the whole walk, once. Leaving the loop sends no further
 * request.
 */
export async function* walk<Item>(
  fetchPage: (cursor: string | undefined) => Promise<Page<Item>>,
  from: string | undefined,
): AsyncGenerator<Item, void, undefined> {
  for (let cursor = from; ; ) {
    const { data, next_cursor: next } = await fetchPage(cursor);
    yield* data;
    if (next === null) return;
    cursor = next;
  }
}
