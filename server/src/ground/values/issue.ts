// One fault of a value that a caller wrote, as answers list it under `issues` (contract 2).
import type { z } from 'zod';

/** The closed set of `issues[].code` (contract 2). */
export const issueCodes = [
  'required',
  'invalid_type',
  'invalid_value',
  'invalid_format',
  'too_small',
  'too_big',
  'too_soon',
  'unrecognized_keys',
  'exactly_one_required',
  'unknown_property',
  'operator_not_allowed',
  'value_type_mismatch',
  'empty_group',
  'too_many_nodes',
  'too_deep',
  'too_many_properties',
  'segment_invalid',
  'name_taken',
  'in_use',
  'not_cancelable',
  'template_syntax',
  'empty_content',
  'reserved_key',
  'unknown_timezone',
  'host_not_allowed',
  'idempotency_key_reused',
  'invalid_json',
  'body_too_large',
] as const;
export type IssueCode = (typeof issueCodes)[number];

/** The check of a request stops at this many issues, and an answer lists no more (contract 1). */
export const issuesMax = 50;

/**
 * One fault of a request. `allowed` is set only for a closed list, `limit` only where the contract
 * names it.
 */
export interface Issue {
  readonly path: readonly (string | number)[];
  readonly code: IssueCode;
  readonly message: string;
  readonly allowed?: readonly unknown[];
  readonly limit?: number | string;
}

/** A longer name of a field is cut in a message. */
const nameLengthMax = 200;

/** The name of the field at `path`, as messages write it. */
export function nameOfField(path: Issue['path']): string {
  const name = path.join('.');
  if (name.length > nameLengthMax) return `${name.slice(0, nameLengthMax).toWellFormed()}…`;
  return path.length === 0 ? 'The body' : name;
}

/** For a refinement: an issue with one of the contract's own codes. */
export function issueOf(issue: Issue, input: unknown = undefined): z.core.$ZodRawIssue {
  const { code, message, allowed, limit, path } = issue;
  return { code: 'custom', input, message, path: [...path], params: { code, allowed, limit } };
}
