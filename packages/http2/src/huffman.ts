// The Huffman code of HPACK. Only secrets that repeat are written in it, because other fields of a
// request are indexed, short or unique. The reader checks the padding and the end of a string.

/**
 * The bits in the code of each symbol: 0 to 255, then EOS (RFC 7541 Appendix B). The code is
 * canonical, so the lengths define it.
 */
export const codeLengths: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
  28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6,
  5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23,
  22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22,
  23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26,
  20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27,
  27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27,
  27, 27, 27, 26, 30,
];

const endOfString = 256;

/** The code of each symbol; it is valid together with its length. */
function buildCodes(): Int32Array {
  const codes = new Int32Array(endOfString + 1);
  const symbols = codeLengths.map((_, symbol) => symbol);
  const length = (symbol: number) => codeLengths[symbol] ?? 0;
  symbols.sort((a, b) => length(a) - length(b) || a - b);
  let code = 0;
  let bits = 0;
  for (const symbol of symbols) {
    code <<= length(symbol) - bits;
    bits = length(symbol);
    codes[symbol] = code;
    code += 1;
  }
  return codes;
}

const codes = buildCodes();

/**
 * The inner nodes of the code's tree: each has two entries, and the root is 0. A symbol is stored
 * as `-1 - symbol`.
 */
function buildTree(): Int32Array {
  const tree = new Int32Array(2 * endOfString);
  let nodes = 1;
  for (const [symbol, bits] of codeLengths.entries()) {
    const code = codes[symbol] ?? 0;
    let node = 0;
    for (let bit = bits - 1; bit > 0; bit -= 1) {
      const branch = 2 * node + ((code >> bit) & 1);
      if (tree[branch] === 0) tree[branch] = nodes++;
      node = tree[branch] ?? 0;
    }
    tree[2 * node + (code & 1)] = -1 - symbol;
  }
  return tree;
}

/** Encodes a text with one byte in each character, padded with ones (RFC 7541 5.2). */
export function encodeHuffman(text: string): Buffer {
  const bytes: number[] = [];
  let open = 0n;
  let bits = 0n;
  for (const byte of Buffer.from(text, 'latin1')) {
    const length = BigInt(codeLengths[byte] ?? 0);
    open = (open << length) | BigInt(codes[byte] ?? 0);
    for (bits += length; bits >= 8n; bits -= 8n) bytes.push(Number((open >> (bits - 8n)) & 0xffn));
    open &= (1n << bits) - 1n;
  }
  if (bits > 0n) bytes.push(Number(((open << (8n - bits)) | ((1n << (8n - bits)) - 1n)) & 0xffn));
  return Buffer.from(bytes);
}

/**
 * For a state and four bits: the next state, and the symbol that ended on the way plus one (0:
 * none).
 */
const nextStates = new Uint16Array(endOfString * 16);
const symbolsEnded = new Uint16Array(endOfString * 16);
/** States in which a string may end: only a partial byte of ones is left (RFC 7541 5.2). */
const mayEnd = new Uint8Array(endOfString);

/** EOS inside a string is an error (RFC 7541 5.2). */
const failed = 0xffff;

function fillStates(tree: Int32Array): void {
  for (let state = 0; state < endOfString; state += 1) {
    for (let nibble = 0; nibble < 16; nibble += 1) {
      let node = state;
      for (let bit = 3; bit >= 0; bit -= 1) {
        const next = tree[2 * node + ((nibble >> bit) & 1)] ?? 0;
        if (next >= 0) node = next;
        else {
          // The shortest code has five bits, so at most one symbol ends within four.
          symbolsEnded[state * 16 + nibble] = -next;
          node = 0;
        }
      }
      const hasEos = symbolsEnded[state * 16 + nibble] === endOfString + 1;
      nextStates[state * 16 + nibble] = hasEos ? failed : node;
    }
  }
  let node = 0;
  for (let ones = 0; ones < 8; ones += 1) {
    mayEnd[node] = 1;
    node = tree[2 * node + 1] ?? 0;
  }
}

fillStates(buildTree());

/** Decodes to a text with one byte in each character; undefined when the bytes are not valid. */
export function decodeHuffman(bytes: Buffer, start: number, end: number): string | undefined {
  // A symbol takes at least five bits.
  const text = Buffer.allocUnsafe(Math.ceil(((end - start) * 8) / 5));
  let length = 0;
  let state = 0;
  for (let i = start; i < end; i += 1) {
    const byte = bytes[i] ?? 0;
    for (let shift = 4; shift >= 0; shift -= 4) {
      const move = state * 16 + ((byte >> shift) & 15);
      state = nextStates[move] ?? failed;
      if (state === failed) return undefined;
      const symbol = symbolsEnded[move] ?? 0;
      if (symbol > 0) text[length++] = symbol - 1;
    }
  }
  return mayEnd[state] === 1 ? text.toString('latin1', 0, length) : undefined;
}
