// A sentence of the service, cut where it names an object that has a page. Pure.
import { pageOfId } from '../paths.ts';

export interface TextPart {
  readonly text: string;
  /** The page of the object; undefined for plain text. */
  readonly to?: string | undefined;
}

/** A name in the sentence, such as an external id, and the page of its object. */
export interface NamedObject {
  readonly name: string;
  readonly to: string;
}

const ids = /\b[a-z]{3}_[0-9A-Za-z]{22}\b/g;
const isPartOfWord = (letter: string | undefined): boolean => letter !== undefined && /[\p{L}\p{N}_-]/u.test(letter);

/** Every id becomes a link. Of each name, the first occurrence as a whole word becomes a link. */
export function linkParts(text: string, app: string, named: readonly NamedObject[] = []): readonly TextPart[] {
  const found = [
    ...[...text.matchAll(ids)].map(({ index, 0: id }) => ({ at: index, name: id, to: pageOfId(app, id) })),
    ...named.map(({ name, to }) => ({ at: placeOf(text, name), name, to })),
  ]
    .filter(({ at, to }) => at >= 0 && to !== undefined)
    .sort((one, other) => one.at - other.at || other.name.length - one.name.length);
  const parts: TextPart[] = [];
  let end = 0;
  for (const { at, name, to } of found) {
    if (at < end) continue;
    if (at > end) parts.push({ text: text.slice(end, at) });
    parts.push({ text: name, to });
    end = at + name.length;
  }
  if (end < text.length) parts.push({ text: text.slice(end) });
  return parts;
}

function placeOf(text: string, name: string): number {
  if (name === '') return -1;
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    if (!isPartOfWord(text[at - 1]) && !isPartOfWord(text[at + name.length])) return at;
  }
  return -1;
}
