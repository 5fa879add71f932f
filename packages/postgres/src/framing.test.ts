import { describe, expect, it } from 'vitest';
import { Framing } from './framing.ts';

function message(letter: string, body: string | Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(letter);
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, Buffer.from(body)]);
}

const error = 'SERROR\0C57P01\0Mthe server stops\0\0';
const well = Buffer.concat([
  message('Z', 'I'),
  message('E', error),
  message('n', ''),
  message('D', 'a row that ends anyhow'),
  message('N', 'SNOTICE\0M\0\0'),
]);

describe('messages of a server', () => {
  it('may come in pieces of any size', () => {
    for (let size = 1; size <= well.length; size++) {
      const framing = new Framing();
      for (let at = 0; at < well.length; at += size) framing.follow(well.subarray(at, at + size));
    }
  });

  it.each<[string, Buffer]>([
    ['an error without its end', message('E', error.slice(0, -1))],
    ['an error whose last field has no end', message('E', error.slice(0, -2))],
    ['a notice without its end', message('N', 'SNOTICE\0')],
    ['an error without fields', message('E', '')],
    ['a length that does not count itself', Buffer.from('Z\0\0\0\x03')],
  ])('are refused with %s, in pieces of any size', (_what, wrong) => {
    const all = Buffer.concat([well, wrong]);
    for (let size = 1; size <= all.length; size++) {
      const framing = new Framing();
      const follow = (): void => {
        for (let at = 0; at < all.length; at += size) framing.follow(all.subarray(at, at + size));
      };
      expect(follow).toThrow(/the server sent/);
    }
  });
});
