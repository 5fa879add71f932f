// Reads keys as browsers and other push services' exports write them. Strict, because Node's own
// decoder skips characters that it does not know.

/**
 * Exactly `length` bytes of base64url or Base64 text, with or without padding; undefined for
 * anything else.
 */
export function decodeBase64(text: string, length: number): Buffer | undefined {
  if (text.length > 2 * length || !/^(?:[A-Za-z0-9_-]+|[A-Za-z0-9+/]+)={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  return bytes.length === length ? bytes : undefined;
}
