// Parses a sender's JSON only as deep as providers do. Google stops at a hundred levels, and a
// deeper value would break code that serializes it.

const levelsMax = 100;

/** Undefined: not JSON, or nested too deep. */
export function parseShallowJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  let level = [value];
  for (let levels = 0; level.length > 0; levels += 1) {
    if (levels > levelsMax) return undefined;
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  }
  return value;
}
