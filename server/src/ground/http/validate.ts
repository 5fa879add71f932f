// Schema → value, or a 400 with `issues` (contract 2). Translates zod's findings into the
// contract's closed set of codes, each with the path a caller wrote.
import { z } from 'zod';
import { type Issue, type IssueCode, issuesMax, nameOfField } from '../values/issue.ts';
import { invalid } from './api-error.ts';

/** Parses or throws the 400. `at` is put before every path, for headers and path parameters. */
export function validate<Output>(
  schema: z.ZodType<Output>,
  value: unknown,
  at: readonly (string | number)[] = [],
): Output {
  // zod names the unknown keys of a strict object, but not the allowed ones. The error callback
  // sees the schema, so it remembers the allowed keys by the array of unknown keys.
  const knownKeys = new Map<unknown, readonly string[]>();
  const result = schema.safeParse(value, {
    reportInput: true,
    error: (issue) => {
      if (issue.code === 'unrecognized_keys' && issue.inst instanceof z.ZodObject) {
        knownKeys.set(issue['keys'], Object.keys(issue.inst.shape));
      }
      // zod writes a text for each issue without one, and repeats a megabyte of unknown names in
      // it. Only the texts of these two codes are used.
      return issue.code === 'custom' || issue.code === 'invalid_format' ? undefined : '';
    },
  });
  if (result.success) return result.data;
  const issues: Issue[] = [];
  for (const issue of result.error.issues) {
    if (issues.length >= issuesMax) break;
    for (const each of translate(issue, at, knownKeys)) {
      // zod also measures the length of a list where a text is required.
      if (issues.at(-1)?.code !== 'invalid_type' || !isSamePath(issues.at(-1)?.path, each.path)) issues.push(each);
    }
  }
  throw invalid(issues);
}

function translate(
  issue: z.core.$ZodIssue,
  at: readonly (string | number)[],
  knownKeys: Map<unknown, readonly string[]>,
): Issue[] {
  const path = [...at, ...issue.path.map((part) => (typeof part === 'number' ? part : String(part)))];
  const name = nameOfField(path);
  const one = (code: IssueCode, message: string, allowed?: readonly unknown[]): Issue[] => [
    { path, code, message, ...(allowed && { allowed }) },
  ];
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? one('required', path.length === 0 ? 'The body is empty: send a JSON object.' : `${name} is required.`)
        : one('invalid_type', `${name} must be ${article(issue.expected)}.`);
    case 'too_small':
      return one('too_small', `${name} is too small: at least ${issue.minimum}${unitOf(issue.origin)}.`);
    case 'too_big':
      return one('too_big', `${name} is too large: at most ${issue.maximum}${unitOf(issue.origin)}.`);
    case 'invalid_format':
      return one(
        'invalid_format',
        isOwnMessage(issue.message) ? issue.message : `${name} does not have the required form.`,
      );
    case 'invalid_value':
      if (issue.input === undefined) return one('required', `${name} is required.`);
      return one('invalid_value', `${name} must be one of: ${issue.values.map(String).join(', ')}.`, issue.values);
    case 'unrecognized_keys': {
      const allowed = knownKeys.get(issue.keys);
      return issue.keys.slice(0, issuesMax).map((key) => ({
        path: [...path, key],
        code: 'unrecognized_keys' as const,
        message: `${nameOfField([...path, key])} is not a known field.`,
        ...(allowed && { allowed }),
      }));
    }
    case 'invalid_union':
      return one('invalid_type', `${name} has none of the allowed forms.`);
    case 'invalid_key':
    case 'invalid_element':
      return issue.issues.flatMap((inner) =>
        translate({ ...inner, path: [...issue.path, ...inner.path] }, at, knownKeys),
      );
    case 'custom': {
      const params = (issue.params ?? {}) as {
        code?: IssueCode;
        allowed?: readonly unknown[];
        limit?: number | string;
      };
      return [
        {
          path,
          code: params.code ?? 'invalid_value',
          message: issue.message,
          ...(params.allowed && { allowed: params.allowed }),
          ...(params.limit !== undefined && { limit: params.limit }),
        },
      ];
    }
    default:
      return one('invalid_value', `${name} is invalid.`);
  }
}

function isSamePath(one: Issue['path'] = [], other: Issue['path']): boolean {
  return one.length === other.length && one.every((part, i) => part === other[i]);
}

function isOwnMessage(message: string): boolean {
  return !message.startsWith('Invalid');
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

// The unit with a space before it. A number has no unit.
function unitOf(origin: string): string {
  if (origin === 'string') return ' characters';
  if (origin === 'array' || origin === 'set' || origin === 'map') return ' items';
  return '';
}
