import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteWriter } from './byte-writer.ts';
import { fieldOverheadBytes, HpackDecoder, HpackEncoder, type Indexing } from './hpack.ts';
import { codeLengths, decodeHuffman, encodeHuffman } from './huffman.ts';
import { ProtocolError } from './protocol-error.ts';

type Pair = readonly [name: string, value: string];

const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');

function decodeAll(blocks: readonly string[], tableSizeMax = 4_096): Pair[][] {
  const decoder = new HpackDecoder({ tableSizeMax, listSizeMax: 65_536 });
  return blocks.map((block) => {
    const bytes = hex(block);
    return decoder.decode(bytes, 0, bytes.length).map(({ name, value }) => [name, value] as const);
  });
}

function decodeOne(block: string, options: { readonly listSizeMax?: number } = {}): Pair[] {
  const decoder = new HpackDecoder({ tableSizeMax: 4_096, listSizeMax: 65_536, ...options });
  const bytes = hex(block);
  return decoder.decode(bytes, 0, bytes.length).map(({ name, value }) => [name, value]);
}

const get = (path: string, scheme = 'http'): Pair[] => [
  [':method', 'GET'],
  [':scheme', scheme],
  [':path', path],
  [':authority', 'www.example.com'],
];

const answer = (status: string, date: string): Pair[] => [
  [':status', status],
  ['cache-control', 'private'],
  ['date', date],
  ['location', 'https://www.example.com'],
];
const thirteen21 = 'Mon, 21 Oct 2013 20:13:21 GMT';
const thirteen22 = 'Mon, 21 Oct 2013 20:13:22 GMT';

const requests = [
  get('/'),
  [...get('/'), ['cache-control', 'no-cache'] as const],
  [...get('/index.html', 'https'), ['custom-key', 'custom-value'] as const],
];
const responses = [
  answer('302', thirteen21),
  answer('307', thirteen21),
  [
    ...answer('200', thirteen22),
    ['content-encoding', 'gzip'] as const,
    ['set-cookie', 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'] as const,
  ],
];

describe('RFC 7541 Appendix C', () => {
  test.each([
    ['C.2.1', '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572', 'custom-key', 'custom-header'],
    ['C.2.2', '040c 2f73 616d 706c 652f 7061 7468', ':path', '/sample/path'],
    ['C.2.3', '1008 7061 7373 776f 7264 0673 6563 7265 74', 'password', 'secret'],
    ['C.2.4', '82', ':method', 'GET'],
  ])('%s', (_section, block, name, value) => {
    expect(decodeOne(block)).toEqual([[name, value]]);
  });

  test('C.3 and C.4: requests, plain and in the Huffman code', () => {
    const plain = [
      '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '8286 84be 5808 6e6f 2d63 6163 6865',
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
    ];
    const huffman = [
      '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
      '8286 84be 5886 a8eb 1064 9cbf',
      '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
    ];
    expect(decodeAll(plain)).toEqual(requests);
    expect(decodeAll(huffman)).toEqual(requests);
  });

  test('C.5 and C.6: answers, with a table so small that fields are evicted', () => {
    const plain = [
      `4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d
       546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
      '4803 3330 37c1 c0bf',
      `88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f
       6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b
       2076 6572 7369 6f6e 3d31`,
    ];
    const huffman = [
      `4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7
       8f0b 97c8 e9ae 82ae 43d3`,
      '4883 640e ffc1 c0bf',
      `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335
       dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07`,
    ];
    expect(decodeAll(plain, 256)).toEqual(responses);
    expect(decodeAll(huffman, 256)).toEqual(responses);
  });
});

test('the Huffman code is complete: its lengths fill the tree exactly', () => {
  expect(codeLengths).toHaveLength(257);
  expect(codeLengths.reduce((sum, bits) => sum + 2 ** -bits, 0)).toBe(1);
});

test.each([
  ['eight bits of padding', 'ff'],
  ['a byte too many behind a letter', '1fff'],
  ['padding that is not ones', '00'],
  ['the end of the string inside it', 'fffffffc'],
  ['a symbol that breaks off', 'ffffffff'],
])('a string with %s is no Huffman code', (_what, text) => {
  const bytes = hex(text);
  expect(decodeHuffman(bytes, 0, bytes.length)).toBeUndefined();
});

describe('a block that is broken ends the connection', () => {
  test.each([
    ['index 0', '80'],
    ['an index beyond the table', 'be'],
    ['a number without end', 'ffffffffffffffffff01'],
    ['a number that breaks off', 'ff'],
    ['a string that breaks off', '400a6375'],
    ['a string that is missing', '0f0d'],
    ['no Huffman code', '0081ff0161'],
    ['a table larger than was allowed', '3fe21f'],
    ['a table resized between fields', '8220'],
  ])('%s', (_what, block) => {
    expect(() => decodeOne(block)).toThrow(ProtocolError);
  });

  test('a small block that means much', () => {
    // A field of 3 KB, and then its index a thousand times.
    const bomb = `40 01 61 7f 81 16 ${'62'.repeat(2_944)} ${'be'.repeat(1_000)}`;
    expect(() => decodeOne(bomb)).toThrow(/too many/);
    expect(decodeOne(`40 01 61 7f 81 16 ${'62'.repeat(2_944)} ${'be'.repeat(20)}`)).toHaveLength(21);
  });
});

test('a name or value that HTTP does not allow is decoded and said to be invalid', () => {
  const decoder = new HpackDecoder({ tableSizeMax: 4_096, listSizeMax: 65_536 });
  const validity = (block: string) => decoder.decode(hex(block), 0, hex(block).length).map(({ isValid }) => isValid);
  expect(validity('00 01 61 01 62  00 01 41 01 62  00 00 01 62  00 01 61 01 0a  00 01 61 02 6200')).toEqual([
    true,
    false,
    false,
    false,
    false,
  ]);
});

const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/);
const value = fc.oneof(
  fc.constantFrom('POST', 'https', '200', 'a', 'b'),
  fc.string({ unit: fc.integer({ min: 32, max: 255 }).map((code) => String.fromCharCode(code)), maxLength: 200 }),
);
const field = fc.tuple(fc.oneof(name, fc.constantFrom(':method', ':path', 'x', 'y', 'ttl')), value);
const indexing = fc.constantFrom<Indexing>('indexed', 'plain', 'never');
const block = fc.record({
  resizes: fc.array(fc.integer({ min: 0, max: 8_192 }), { maxLength: 2 }),
  fields: fc.array(fc.tuple(field, indexing), { maxLength: 12 }),
});

test('encoded fields decode to themselves, whatever the table went through', () => {
  fc.assert(
    fc.property(fc.array(block, { maxLength: 20 }), (blocks) => {
      const encoder = new HpackEncoder();
      const decoder = new HpackDecoder({ tableSizeMax: 4_096, listSizeMax: 1_000_000 });
      for (const { resizes, fields } of blocks) {
        for (const size of resizes) encoder.resize(size);
        const out = new ByteWriter();
        out.reserve(64);
        encoder.begin(out);
        for (const [[fieldName, fieldValue], how] of fields) {
          out.reserve(fieldName.length + fieldValue.length + fieldOverheadBytes);
          encoder.write(out, fieldName, fieldValue, how);
        }
        const decoded = decoder.decode(out.bytes, 0, out.length).map((each) => [each.name, each.value]);
        expect(decoded).toEqual(fields.map(([pair]) => [...pair]));
      }
    }),
  );
});

test('a field that repeats takes one byte, and what may not be indexed is never kept', () => {
  const encoder = new HpackEncoder();
  const encode = (how: Indexing) => {
    const out = new ByteWriter();
    encoder.write(out, 'authorization', 'vapid t=abc', how);
    return out.bytes.subarray(0, out.length).toString('hex');
  };
  const literal = '080b766170696420743d616263';
  expect(encode('never')).toBe(`1f${literal}`);
  expect(encode('indexed')).toBe('570b766170696420743d616263');
  expect(encode('indexed')).toBe('be');
  expect(encode('plain')).toBe(`0f${literal}`);
});

test.each([
  // RFC 7541 C.4 and C.6.
  ['www.example.com', 'f1e3c2e5f23a6ba0ab90f4ff'],
  ['no-cache', 'a8eb10649cbf'],
  ['custom-key', '25a849e95ba97d7f'],
  ['Mon, 21 Oct 2013 20:13:21 GMT', 'd07abe941054d444a8200595040b8166e082a62d1bff'],
  ['', ''],
])('%j is in the Huffman code as the RFC has it', (text, coded) => {
  expect(encodeHuffman(text).toString('hex')).toBe(coded);
});

test('a secret that repeats is written whole each time, never to be indexed, and reads the same', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.oneof(name, fc.constant('authorization')), value), { maxLength: 12 }),
      (secrets) => {
        const encoder = new HpackEncoder();
        const decoder = new HpackDecoder({ tableSizeMax: 4_096, listSizeMax: 1_000_000 });
        for (const [secretName, secret] of secrets.flatMap((one) => [one, one])) {
          const out = new ByteWriter();
          out.reserve(secretName.length + secret.length + fieldOverheadBytes);
          encoder.writeSecret(out, secretName, secret);
          // The first bits 0001 mark a literal that no intermediary may index (RFC 7541 6.2.3).
          expect((out.bytes[0] ?? 0) >> 4).toBe(1);
          expect(out.length).toBeLessThanOrEqual(secretName.length + secret.length + fieldOverheadBytes);
          const decoded = decoder.decode(out.bytes, 0, out.length);
          expect(decoded.map((each) => [each.name, each.value])).toEqual([[secretName, secret]]);
        }
      },
    ),
  );
});

test('any bytes at all are decoded or refused as a broken protocol', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const decoder = new HpackDecoder({ tableSizeMax: 4_096, listSizeMax: 65_536 });
      try {
        decoder.decode(Buffer.from(bytes), 0, bytes.length);
      } catch (error) {
        expect(error).toBeInstanceOf(ProtocolError);
      }
    }),
    { numRuns: 2_000 },
  );
});
