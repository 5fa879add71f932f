// Texts as URLs. Pure.

/**
 * The URL that a text is, or null. `URL.canParse` is not used: on Node 20, once it is compiled, it
 * refuses every text with a letter of Latin-1 outside ASCII, such as `https://bücher.example/`.
 */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
