// The parts of an answer that two equal answers have in common. Two ids are answered alike when the
// essences are equal.
import type { Response } from './setup.ts';

/** Removed are generated ids and instants, and `asked`, the id that the request named. */
export function essence({ status, headers, body }: Response, asked: string): unknown {
  const {
    'x-request-id': _id,
    date: _date,
    'keep-alive': _alive,
    connection: _held,
    ...rest
  } = Object.fromEntries(headers);
  const text = JSON.stringify(body)
    .replaceAll(JSON.stringify(asked).slice(1, -1), '<asked>')
    .replaceAll(/\b([a-z]{3})_[0-9A-Za-z]{22}\b/g, '$1_<id>')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<instant>');
  return { status, headers: { ...rest, 'content-length': '' }, text };
}
