// Ids of objects that a page makes, in the form of the service: a prefix and 128 bits in base 62.

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const letters = 22;

/** A random id such as `drf_02y9GVDsTuJUi2BOoCH5G3`. */
export function mintId(prefix: string): string {
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
  let rest = bytes.reduce((all, byte) => all * 256n + BigInt(byte), 0n);
  let text = '';
  for (let place = 0; place < letters; place++) {
    text = `${alphabet[Number(rest % 62n)]}${text}`;
    rest /= 62n;
  }
  return `${prefix}_${text}`;
}
