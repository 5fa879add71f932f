// The client key of the demo: where it is found, what a wrong one looks like, where it is kept. Never sends it anywhere.

const storedAs = 'carillon-demo-client-key';
/** Kept for this page's life where the browser lets nothing be stored. */
let keyOfThisPage = null;

/** The key in a fragment such as `#ck_live_…`; null where there is none. A server key is found too, so that it can be refused. */
export function keyIn(fragment) {
  return /^#([cs]k_[^&]*)/.exec(fragment)?.[1] ?? null;
}

/** What is wrong with a key, in words; empty where nothing is. */
export function keyProblem(key) {
  if (!key) return 'Paste the client key first.';
  if (key.startsWith('sk_')) {
    return 'This is a server key. It must never be put into a browser; the client key starts with ck_live_.';
  }
  return /^ck_live_[0-9A-Za-z]{49}$/.test(key)
    ? ''
    : 'A client key is ck_live_ and 49 letters and digits. Is a part missing?';
}

/** Enough of a key to tell it from another. */
export function shortKey(key) {
  return `${key.slice(0, 12)}…${key.slice(-4)}`;
}

export function rememberedKey() {
  try {
    return localStorage.getItem(storedAs) ?? keyOfThisPage;
  } catch {
    return keyOfThisPage;
  }
}

export function rememberKey(key) {
  keyOfThisPage = key;
  try {
    localStorage.setItem(storedAs, key);
  } catch {
    // Asked again at the next load; everything else works.
  }
}
