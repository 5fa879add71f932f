// Parses request bodies into JSON values. Refuses input that would do harm later: what the scan
// before parsing finds (`scan-json.ts`), bytes that are not UTF-8, and strings that PostgreSQL
// cannot store.
import { isUtf8 } from 'node:buffer';
import { type Issue, issuesMax } from '../values/issue.ts';
import { ApiError, invalid } from './api-error.ts';
import { anyShape, type BodyShape } from './body-shape.ts';
import { findJsonFault } from './json-fault.ts';
import { scanJson } from './scan-json.ts';

/** Characters that are searched for the fault, so that a long body is not read twice. */
const faultSoughtIn = 16 * 1024;
/** Parts up to this many bytes are parsed and not left out, because their cost does not matter. */
const leftOutMin = 4096;
/** The escapes of U+0000 and of surrogates; the latter may be paired. */
const escapeOfBadString = /\\u(?:0000|[dD][89a-fA-F])/;
// Leaves out a leading byte order mark, as contract 1 requires; JSON.parse refuses it.
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses a body of this shape. Long parts that cannot belong to such a body are not parsed. The
 * rest is then refused as the whole body would be. Throws `invalid_json`, or the 400 that names
 * each string with U+0000 or an unpaired surrogate.
 */
export function parseJson(bytes: Buffer, shape: BodyShape = anyShape): unknown {
  const { excess, dropped, isOpen } = scanJson(bytes, shape);
  if (excess !== null) throw invalidJson(excess);
  if (isOpen) throw invalidJson(describeFault(bytes));
  let text: string;
  let value: unknown;
  try {
    text = utf8.decode(leaveOut(bytes, dropped));
    value = JSON.parse(text);
  } catch {
    throw invalidJson(describeFault(bytes));
  }
  // Raw control characters are not JSON and unpaired surrogates are not UTF-8, so only an escape
  // can contain one of them.
  if (escapeOfBadString.test(text)) {
    const issues = listBadStrings(value);
    if (issues.length > 0) throw invalid(issues);
  }
  return value;
}

function describeFault(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) return 'The body is not UTF-8.';
  const text = utf8.decode(bytes);
  if (text.trim() === '') return 'The body is empty but for white space: send JSON.';
  const fault = findJsonFault(text.slice(0, faultSoughtIn));
  if (!fault || (fault.found === null && text.length > faultSoughtIn)) return 'The body is not valid JSON.';
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

// Leaves out the pairs of offsets, unless they are too few bytes to matter.
function leaveOut(bytes: Buffer, dropped: readonly number[]): Buffer {
  const kept: Buffer[] = [];
  let at = 0;
  let count = 0;
  for (let i = 0; i < dropped.length; i += 2) {
    const [from = 0, to = 0] = [dropped[i], dropped[i + 1]];
    kept.push(bytes.subarray(at, from));
    count += to - from;
    at = to;
  }
  return count < leftOutMin ? bytes : Buffer.concat([...kept, bytes.subarray(at)]);
}

/** The strings in a value that PostgreSQL cannot store, up to fifty, each with its path. */
export function listBadStrings(value: unknown): Issue[] {
  const issues: Issue[] = [];
  findBadStrings(value, [], issues);
  return issues;
}

// One array is reused as the path of every place, because a copy for each value would cost more
// than reading the body.
function findBadStrings(value: unknown, path: (string | number)[], issues: Issue[]): void {
  if (issues.length >= issuesMax) return;
  if (typeof value === 'string') {
    if (!isStorable(value)) issues.push(badString(path));
    return;
  }
  if (value === null || typeof value !== 'object') return;
  const isArray = Array.isArray(value);
  for (const key in value) {
    // The issue has the path of the object, because an answer must be storable and so cannot repeat
    // the key.
    if (!isArray && !isStorable(key)) {
      if (issues.length < issuesMax) issues.push(badString(path));
      continue;
    }
    path.push(isArray ? Number(key) : key);
    findBadStrings((value as Record<string, unknown>)[key], path, issues);
    path.pop();
  }
}

function badString(path: readonly (string | number)[]): Issue {
  return { path: [...path], code: 'invalid_format', message: 'A string holds U+0000 or an unpaired surrogate.' };
}
