// Texts as URLs. Pure.

/**
 * The URL that a text is, or null. `URL.canParse` is not used. On Node 20 its compiled form refuses
 * every text with a letter of Latin-1 outside ASCII, such as `https://bücher.example/`.
 */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
