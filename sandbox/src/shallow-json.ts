// JSON that a sender wrote, as far as providers read it: Google's stops at a hundred levels, and what is nested further would break
// whoever writes it out again.

const LEVELS_MAX = 100;

/** Undefined: it is no JSON, or nested too deep. */
export function parseShallowJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  let level = [value];
  for (let levels = 0; level.length > 0; levels += 1) {
    if (levels > LEVELS_MAX) return undefined;
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  }
  return value;
}
