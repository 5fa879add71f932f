// However the octets are split, the output is the input, except for the colon after a scheme.
import { expect, test } from 'vitest';
import { SchemeReader } from './loose-scheme.ts';

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const loose = Buffer.from('46859d29ad173f', 'hex');
const strict = Buffer.from('46859d29ad177f', 'hex');

function frame(type: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  return Buffer.concat([header, payload]);
}

function readAll(octets: Buffer, chunkBytes: number): { whole: Buffer; last: number } {
  const reader = new SchemeReader();
  const ready: Buffer[] = [];
  let last = 0;
  for (let at = 0; at < octets.length; at += chunkBytes) {
    const now = reader.read(octets.subarray(at, at + chunkBytes));
    last = now.reduce((sum, { length }) => sum + length, 0);
    ready.push(...now);
  }
  return { whole: Buffer.concat(ready), last };
}

const blocks = [Buffer.from([0x83]), loose, Buffer.from('0685687474703a', 'hex')];

test.each([1, 2, 7, 16, 9_999])('the scheme is made strict, also in pieces of %i octets', (chunkBytes) => {
  const settings = frame(4, Buffer.alloc(0));
  const body = frame(0, Buffer.concat([loose, Buffer.from('F')]));
  const octets = Buffer.concat([preface, settings, frame(1, Buffer.concat(blocks)), body, frame(9, loose), body]);
  const { whole } = readAll(octets, chunkBytes);
  const headers = Buffer.concat(blocks.map((block) => (block === loose ? strict : block)));
  expect(whole).toEqual(Buffer.concat([preface, settings, frame(1, headers), body, frame(9, strict), body]));
});

test('a scheme without Huffman’s code is made strict too, and a strict one is unchanged', () => {
  const headers = (text: string): Buffer => Buffer.concat([preface, frame(1, Buffer.from(text, 'latin1'))]);
  expect(readAll(headers('\x46\x06https:'), 5).whole).toEqual(headers('\x46\x06httpsB'));
  for (const good of ['\x87\x84', '\x46\x05https', '\x46\x04http']) {
    expect(readAll(headers(good), 5).whole).toEqual(headers(good));
  }
});

test('no part of a body is held back, and the server gets a frame that is too large', () => {
  const body = Buffer.concat([preface, frame(0, loose.subarray(0, 3))]);
  expect(readAll(body, body.length)).toEqual({ whole: body, last: body.length });
  const large = Buffer.concat([preface, frame(1, Buffer.alloc(16_385)).subarray(0, 100)]);
  expect(readAll(large, large.length).whole).toEqual(large);
});
