// Parses request bodies into JSON values. Refuses input that would do harm later: too deep nesting
// and objects of too many members (both before parsing), bytes that are not UTF-8, and strings that
// PostgreSQL cannot store.
import { isUtf8 } from 'node:buffer';
import type { Issue } from '../ground/issue.ts';
import { ApiError, invalid } from './api-error.ts';
import { findJsonFault } from './json-fault.ts';

const depthMax = 32;
const membersMax = 1000;
// Leaves out a leading byte order mark, as contract 1 requires; JSON.parse refuses it.
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses a body. Throws `invalid_json`, or the 400 that names each string with U+0000 or an
 * unpaired surrogate.
 */
export function parseJson(bytes: Uint8Array): unknown {
  const excess = findExcess(bytes);
  if (excess !== null) throw invalidJson(excess);
  let text: string;
  let value: unknown;
  try {
    text = utf8.decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw invalidJson(describeFault(bytes));
  }
  // Raw control characters are not JSON and unpaired surrogates are not UTF-8, so only an escape
  // can contain one of them.
  if (text.includes('\\u')) {
    const issues = listBadStrings(value);
    if (issues.length > 0) throw invalid(issues);
  }
  return value;
}

function describeFault(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) return 'The body is not UTF-8.';
  const text = utf8.decode(bytes);
  if (text.trim() === '') return 'The body is empty but for white space: send JSON.';
  const fault = findJsonFault(text);
  if (!fault) return 'The body is not valid JSON.';
  const { line, column, found } = fault;
  const what = found === null ? 'it ends too early' : `unexpected ${JSON.stringify(found)}`;
  return `The body is not valid JSON: ${what}, at line ${line}, column ${column}.`;
}

export function invalidJson(message: string): ApiError {
  return new ApiError('invalid_json', { message, issues: [{ path: [], code: 'invalid_json', message }] });
}

export function isStorable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

// Scans the bytes first: JSON.parse alone takes 0.4 s for a 2 MB body nested a million deep. Outside
// of strings, each colon is one member of the innermost object.
function findExcess(bytes: Uint8Array): string | null {
  const members = new Uint32Array(depthMax + 1);
  let depth = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (inString) {
      if (byte === 0x5c) i++;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > depthMax) return `The body is nested deeper than ${depthMax} levels.`;
      members[depth] = 0;
    } else if (byte === 0x7d || byte === 0x5d) depth = Math.max(depth - 1, 0);
    else if (byte === 0x3a) {
      const count = (members[depth] ?? 0) + 1;
      if (count > membersMax) return `An object of the body has more than ${membersMax} members.`;
      members[depth] = count;
    }
  }
  return null;
}

/** The strings in a value that PostgreSQL cannot store, each with its path. */
export function listBadStrings(value: unknown): Issue[] {
  const issues: Issue[] = [];
  findBadStrings(value, [], issues);
  return issues;
}

function findBadStrings(value: unknown, path: readonly (string | number)[], issues: Issue[]): void {
  if (typeof value === 'string') {
    if (!isStorable(value)) issues.push(badString(path));
  } else if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) findBadStrings(item, [...path, i], issues);
  } else if (value !== null && typeof value === 'object') {
    for (const [key, item] of Object.entries(value)) {
      // The key cannot be repeated in an answer, which must be storable, so the issue has the path
      // of the object.
      if (!isStorable(key)) issues.push(badString(path));
      else findBadStrings(item, [...path, key], issues);
    }
  }
}

function badString(path: readonly (string | number)[]): Issue {
  return { path, code: 'invalid_format', message: 'A string holds U+0000 or an unpaired surrogate.' };
}
