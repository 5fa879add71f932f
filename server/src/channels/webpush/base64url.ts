// Reads keys as browsers write them. Strict, because Node's own decoder skips characters that it
// does not know.

/**
 * Exactly `length` bytes of base64url text, with or without padding; undefined for anything else.
 */
export function decodeBase64Url(text: string, length: number): Buffer | undefined {
  if (text.length > 2 * length || !/^[A-Za-z0-9_-]+={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  return bytes.length === length ? bytes : undefined;
}
