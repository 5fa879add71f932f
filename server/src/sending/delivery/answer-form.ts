// Answer forms. A success answer that a provider repeats is stored once, as a form. A delivery
// keeps the form's number and the provider's reference. So its row is small, and the answer still
// reads back byte for byte (design 4). Pure.
import type { ProviderAnswer } from '../channels/channel.ts';

/**
 * The private-use character that replaces the reference in a form. An answer that contains it gets
 * no form.
 */
const placeholder = '\uE000';

/**
 * The limit of forms per credential. A provider that varies its answers endlessly must not fill the
 * table, so answers beyond this limit are stored whole.
 */
export const formsMax = 100;

export interface FormedAnswer {
  /** The answer without its reference, as canonical text. */
  readonly form: string;
  readonly ref: string;
}

interface FormBody {
  readonly status: number | null;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | null;
  /** The part of the provider's message id before the reference. */
  readonly idPrefix: string;
}

/**
 * Takes the reference out of a success. Undefined when the reference does not stand in exactly one
 * place; then the answer must be stored whole.
 */
export function takeForm(answer: ProviderAnswer, providerMessageId: string | null): FormedAnswer | undefined {
  if (providerMessageId === null || answer.truncated) return undefined;
  const cut = providerMessageId.lastIndexOf('/') + 1;
  const ref = providerMessageId.slice(cut);
  if (ref.length < 4) return undefined;
  const body: FormBody = {
    status: answer.httpStatus,
    headers: Object.entries(answer.headers),
    body: answer.body,
    idPrefix: providerMessageId.slice(0, cut),
  };
  const text = JSON.stringify(body);
  const escapedRef = JSON.stringify(ref).slice(1, -1);
  const at = text.indexOf(escapedRef);
  if (at < 0 || text.indexOf(escapedRef, at + 1) >= 0 || text.includes(placeholder)) return undefined;
  return { form: text.slice(0, at) + placeholder + text.slice(at + escapedRef.length), ref };
}

/**
 * A success of a known form, cut at its reference. The next answers are compared with this pattern,
 * which is cheaper than writing each of them as text.
 */
export interface AnswerPattern {
  readonly status: number | null;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | null;
  readonly idPrefix: string;
  /**
   * The place of the reference (the name of a header, or null for the body), and the text before
   * and after it there.
   */
  readonly place: string | null;
  readonly before: string;
  readonly after: string;
}

/**
 * The pattern of an answer from which `ref` was taken. Undefined when no single value contains the
 * whole reference.
 */
export function patternOf(answer: ProviderAnswer, providerMessageId: string, ref: string): AnswerPattern | undefined {
  const headers = Object.entries(answer.headers);
  const [place, text] = headers.find(([, value]) => value.includes(ref)) ?? [null, answer.body ?? ''];
  const at = text.indexOf(ref);
  if (at < 0) return undefined;
  return {
    status: answer.httpStatus,
    headers,
    body: answer.body,
    idPrefix: providerMessageId.slice(0, providerMessageId.length - ref.length),
    place,
    before: text.slice(0, at),
    after: text.slice(at + ref.length),
  };
}

/**
 * The reference of an answer that otherwise equals the pattern; undefined for every other answer.
 */
export function refWithin(
  pattern: AnswerPattern,
  answer: ProviderAnswer,
  providerMessageId: string | null,
): string | undefined {
  const { idPrefix, place } = pattern;
  if (answer.httpStatus !== pattern.status || answer.truncated || !providerMessageId?.startsWith(idPrefix))
    return undefined;
  const ref = idPrefix === '' ? providerMessageId : providerMessageId.slice(idPrefix.length);
  if (place === null ? !isAround(pattern, answer.body, ref) : answer.body !== pattern.body) return undefined;
  let count = 0;
  for (const name in answer.headers) {
    const value = answer.headers[name] ?? '';
    const known = pattern.headers[count++];
    if (known === undefined || known[0] !== name) return undefined;
    if (place === name ? !isAround(pattern, value, ref) : value !== known[1]) return undefined;
  }
  return count === pattern.headers.length ? ref : undefined;
}

/** Whether the text is the pattern's text with `ref` in place of the pattern's reference. */
function isAround({ before, after }: AnswerPattern, text: string | null, ref: string): boolean {
  if (text === null || text.length !== before.length + ref.length + after.length) return false;
  return text.startsWith(before) && text.endsWith(after) && text.startsWith(ref, before.length);
}

/** The answer and the provider's message id that belong to a form and a reference. */
export function fillForm(
  name: ProviderAnswer['name'],
  form: string,
  ref: string,
): { answer: ProviderAnswer; providerMessageId: string } {
  const escapedRef = JSON.stringify(ref).slice(1, -1);
  const body = JSON.parse(form.replace(placeholder, () => escapedRef)) as FormBody;
  return {
    answer: {
      name,
      httpStatus: body.status,
      headers: Object.fromEntries(body.headers),
      body: body.body,
      truncated: false,
      transportError: null,
    },
    providerMessageId: body.idPrefix + ref,
  };
}
