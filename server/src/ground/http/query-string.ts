// Reads the query of a URL into its parameters, or throws the 400 that names the issues
// (contract 1).

import type { Issue } from '../values/issue.ts';
import { invalid } from './api-error.ts';
import { isStorable } from './json.ts';

/**
 * Refuses a repeated parameter, and text that is not percent-encoded UTF-8 or cannot be stored.
 * With `ignoresUnknown` nothing is refused: the last of repeated parameters counts, and an
 * unreadable one is dropped.
 */
export function readQuery(url: string, ignoresUnknown: boolean): Record<string, string> {
  const query: Record<string, string> = Object.create(null);
  const start = url.indexOf('?');
  if (start < 0) return query;
  const issues: Issue[] = [];
  for (const pair of url.slice(start + 1).split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const rawName = equals < 0 ? pair : pair.slice(0, equals);
    const name = decodeFormText(rawName);
    const value = equals < 0 ? '' : decodeFormText(pair.slice(equals + 1));
    if (name === undefined || value === undefined) {
      const message = 'A query parameter holds U+0000 or is not percent-encoded UTF-8.';
      issues.push({ path: [name ?? rawName], code: 'invalid_format', message });
    } else if (name in query && !ignoresUnknown) {
      issues.push({ path: [name], code: 'invalid_value', message: `${name} is given more than once.` });
    } else query[name] = value;
  }
  if (issues.length > 0 && !ignoresUnknown) throw invalid(issues);
  return query;
}

/** Returns undefined for text that is not percent-encoded UTF-8 or cannot be stored. */
function decodeFormText(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '));
    return isStorable(decoded) ? decoded : undefined;
  } catch {
    return undefined;
  }
}
