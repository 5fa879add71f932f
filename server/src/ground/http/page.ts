// Pages: keyset only, with cursors that are opaque, authenticated, and bound to app, endpoint and
// filters (contract 17).
import { z } from 'zod';
import { isSame, isSignedBy, sign, signedFormerly, signingKey } from '../secrets/signed-text.ts';
import type { Issue } from '../values/issue.ts';
import { invalid } from './api-error.ts';

/** The position of a walk: the values of the last row's sort columns. */
export type Position = readonly (string | number)[];

export interface Cursors {
  /**
   * Writes a cursor. `scope` names app, endpoint and filters; a cursor opens only under the same
   * scope.
   */
  write(position: Position, scope: readonly unknown[]): string;
  /** Throws the 400 for a cursor that is altered, foreign, or from other filters. */
  read(cursor: string, scope: readonly unknown[]): Position;
}

export interface Page<Item> {
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/**
 * The query parameter `limit`: 1 to `most` in its only spelling, without leading zeros; default 50.
 */
function limitField(most: number) {
  return z
    .string()
    .regex(/^(?:0|[1-9]\d{0,8})$/)
    .transform(Number)
    .pipe(z.int().min(1).max(most))
    .default(50);
}

/** The query parameters of a page. */
export function pageQuery(most: number) {
  return { limit: limitField(most), cursor: z.string().optional() };
}

const invalidCursor: Issue = {
  path: ['cursor'],
  code: 'invalid_value',
  message: 'This cursor does not belong to this list and these filters.',
};

function textOf(scope: readonly unknown[]): string {
  return JSON.stringify(scope);
}

/** Keys are derived from the master key, so that every process has them and nothing is stored. */
export function createCursors(masterKey: Buffer, { nowMs }: { nowMs(): number }): Cursors {
  const [key, formerKey] = [signingKey('cursor', masterKey), signingKey('formerCursor', masterKey)];
  return {
    write(position, scope) {
      const payload = Buffer.from(JSON.stringify(position)).toString('base64url');
      return `${payload}.${sign(key, textOf(scope), payload)}`;
    },
    read(cursor, scope) {
      const [payload, tag, ...rest] = cursor.split('.');
      if (!payload || !tag || rest.length > 0) throw invalid([invalidCursor]);
      const text = textOf(scope);
      const isFormer = () => isSame(tag, signedFormerly(formerKey, nowMs(), `${text}\n${payload}`));
      if (!isSignedBy([key], tag, text, payload) && !isFormer()) throw invalid([invalidCursor]);
      return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Position;
    },
  };
}

/**
 * Shapes one page out of up to `limit + 1` rows. The extra row says that there is more and is not
 * shown.
 */
export function toPage<Row, Item>(
  rows: readonly Row[],
  limit: number,
  present: (row: Row) => Item,
  nextCursor: (last: Row) => string,
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const hasMore = rows.length > limit && last !== undefined;
  return { data: shown.map(present), has_more: hasMore, next_cursor: hasMore ? nextCursor(last) : null };
}
