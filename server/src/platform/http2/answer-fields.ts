// What the header fields of an answer say: its status, and its headers as an object. A malformed answer (RFC 9113 8.1.1) is
// told apart from a good one and never guessed at.
import type { DecodedField } from './hpack.ts';

export interface AnswerFields {
  readonly status: number;
  readonly headers: Headers;
}

/** Empty, without what every object has, so that no header is mistaken for it; three times faster than `Object.create(null)`. */
class Headers {
  [name: string]: string | string[] | undefined;
}
Object.setPrototypeOf(Headers.prototype, null);
Reflect.deleteProperty(Headers.prototype, 'constructor');

/** RFC 9113 8.2.2: they speak of a connection of HTTP/1.1, and an answer that carries one may have been smuggled. */
const connectionFields = new Set(['connection', 'proxy-connection', 'keep-alive', 'transfer-encoding', 'upgrade']);

const statusPattern = /^[1-9][0-9]{2}$/;

/** Undefined when they are malformed. */
export function readAnswerFields(fields: readonly DecodedField[]): AnswerFields | undefined {
  const [first] = fields;
  if (first?.name !== ':status' || !statusPattern.test(first.value)) return undefined;
  const headers = new Headers();
  for (let i = 1; i < fields.length; i += 1) {
    const field = fields[i];
    // Another pseudo-field than the status, or one behind a header.
    if (!field?.isValid || field.name.startsWith(':') || connectionFields.has(field.name)) return undefined;
    const { name, value } = field;
    const before = headers[name];
    if (name === 'set-cookie') headers[name] = [...(before ?? []), value];
    else headers[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return { status: Number(first.value), headers };
}
