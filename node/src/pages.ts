// Walks a list: page after page, each fetched when the one before it has been used up.

export interface Page<Item> {
  readonly data: readonly Item[];
  readonly next_cursor: string | null;
}

/** Every item that is there during the whole walk, once. Leaving the loop asks for nothing more. */
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
