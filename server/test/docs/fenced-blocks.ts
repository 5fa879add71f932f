// Reads the fenced blocks of a page in docs/, in order. It does not know their meaning.
import { readFileSync } from 'node:fs';

export interface FencedBlock {
  /** The words after the fence; the language is the first. */
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

/** Parses a request in the form of HTTP/1.1: a line, headers, an empty line and a body. */
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
