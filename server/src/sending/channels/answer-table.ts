// The form of a vendor's documented answers, and how an answer finds its row. A row that retires a
// device must be the vendor's word about that token (contract 7.6), so an answer without a row has
// no meaning beyond its status. Pure.
import type { ErrorCode } from './error-code.ts';

/** One answer that a vendor documents, or is known to give. */
export interface VendorAnswer {
  /** The status that the vendor gives. It alone decides when the row has neither word nor text. */
  readonly status: number;
  /** The vendor's reason word. Letter case is ignored. */
  readonly word?: string;
  /** A pattern of the body's text, in JSON, plain text or HTML. */
  readonly text?: RegExp;
  /** An example of a text with the pattern, in the vendor's words. */
  readonly example?: string;
  /** True: the word means this only with this status. */
  readonly isOfStatus?: true;
  readonly code: ErrorCode;
  /** The vendor's page that documents the answer, or the place where the answer was seen. */
  readonly source: string;
}

type Row = readonly [status: number, word: string | null, code: ErrorCode];

/** Rows of one source. A null word stands for the status alone. */
export function documentedBy(source: string, rows: readonly Row[]): VendorAnswer[] {
  return rows.map(([status, word, code]) => ({ status, ...(word !== null && { word }), code, source }));
}

/** The parts of an answer that rows are compared with. */
export interface SaidAnswer {
  readonly status: number;
  readonly words: readonly string[];
  readonly text: string;
}

/** The first row whose word or text fits the answer, whatever its status. */
export function findByReason(rows: readonly VendorAnswer[], { status, words, text }: SaidAnswer) {
  return rows.find((row) => {
    if (row.word === undefined && row.text === undefined) return false;
    if (row.isOfStatus && row.status !== status) return false;
    const word = row.word?.toLowerCase();
    if (word !== undefined && !words.some((said) => said.toLowerCase() === word)) return false;
    return row.text === undefined || row.text.test(text);
  });
}

/** The meaning of a bare status, by the first table that has it. */
export function codeOfStatus(status: number, ...tables: (readonly VendorAnswer[])[]): ErrorCode {
  const row = tables
    .flat()
    .find((each) => each.status === status && each.word === undefined && each.text === undefined);
  return row?.code ?? (status >= 500 ? 'provider_unavailable' : 'unknown_error');
}

/** The readable parts of an answer's body. Empty where the body has none. */
export interface AnswerBody {
  readonly text: string;
  /** The object, if the whole body is a JSON object. */
  readonly json: Readonly<Record<string, unknown>>;
  /** The title of an HTML page, or a plain text. */
  readonly words: string;
}

/**
 * Reads a body by its first character, because proxies and vendors give wrong content types. A body
 * that was cut off has no JSON.
 */
export function readBody(body: string | null): AnswerBody {
  const text = (body ?? '').replace(/^\uFEFF/, '').trim();
  if (text.startsWith('<')) {
    const title = /<title(?:\s[^>]{0,200})?>([^<]{1,200})<\/title>/i.exec(text)?.[1] ?? '';
    return { text, json: {}, words: title.trim() };
  }
  if (!/^[{[]/.test(text)) return { text, json: {}, words: text };
  try {
    const json: unknown = JSON.parse(text);
    return { text, json: Array.isArray(json) ? {} : (json as Record<string, unknown>), words: '' };
  } catch {
    return { text, json: {}, words: '' };
  }
}
