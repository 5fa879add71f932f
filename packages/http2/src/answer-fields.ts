// The header fields of an answer: its status, and its headers as an object. A malformed answer (RFC
// 9113 8.1.1) is detected and never interpreted.
import type { DecodedField } from './hpack.ts';

export interface AnswerFields {
  readonly status: number;
  readonly headers: Headers;
}

/**
 * An empty object without the properties that every object has, so that no header is mistaken for
 * one. Three times faster than `Object.create(null)` (measured).
 */
class Headers {
  [name: string]: string | string[] | undefined;
}
Object.setPrototypeOf(Headers.prototype, null);
Reflect.deleteProperty(Headers.prototype, 'constructor');

/**
 * Fields of an HTTP/1.1 connection (RFC 9113 8.2.2). An answer with one of them is malformed and
 * may have been smuggled.
 */
const connectionFields = new Set(['connection', 'proxy-connection', 'keep-alive', 'transfer-encoding', 'upgrade']);

const statusPattern = /^[1-9][0-9]{2}$/;

/** Returns undefined when the fields are malformed. */
export function readAnswerFields(fields: readonly DecodedField[]): AnswerFields | undefined {
  const [first] = fields;
  if (first?.name !== ':status' || !statusPattern.test(first.value)) return undefined;
  const headers = new Headers();
  for (let i = 1; i < fields.length; i += 1) {
    const field = fields[i];
    // A second pseudo-field, or one after a header.
    if (!field?.isValid || field.name.startsWith(':') || connectionFields.has(field.name)) return undefined;
    const { name, value } = field;
    const before = headers[name];
    if (name === 'set-cookie') headers[name] = [...(before ?? []), value];
    else headers[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return { status: Number(first.value), headers };
}
