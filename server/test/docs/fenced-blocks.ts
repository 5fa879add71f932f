// Reads a page of docs/ as what a reader would try: its fenced blocks, in order. Knows nothing of what they say.
import { readFileSync } from 'node:fs';

export interface FencedBlock {
  /** The words behind the fence: the language first. */
  readonly info: string;
  readonly text: string;
}

export interface WrittenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function readBlocks(page: string): FencedBlock[] {
  const text = readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8');
  return [...text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map(([, info = '', inner = '']) => ({ info, text: inner }));
}

/** A request as HTTP/1.1 writes it: a line, headers, and a body behind an empty line. */
export function parseRequest(text: string): WrittenRequest {
  const [head = '', ...rest] = text.split('\n\n');
  const [line = '', ...fields] = head.trim().split('\n');
  const [method = '', path = ''] = line.split(' ');
  const headers = fields.map((field) => {
    const [name = '', ...value] = field.split(': ');
    return [name.toLowerCase(), value.join(': ')];
  });
  return { method, path, headers: Object.fromEntries(headers), body: rest.join('\n\n').trim() };
}
