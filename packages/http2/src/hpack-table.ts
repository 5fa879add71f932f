// The two tables of HPACK: the static one, and a dynamic one that never exceeds its size (RFC 7541
// 2.3, 4).

export interface HeaderField {
  readonly name: string;
  readonly value: string;
}

/** RFC 7541 Appendix A; the first field has index 1. */
export const staticFields: readonly HeaderField[] = [
  ...fields(
    ':authority',
    ':method GET',
    ':method POST',
    ':path /',
    ':path /index.html',
    ':scheme http',
    ':scheme https',
  ),
  ...fields(':status 200', ':status 204', ':status 206', ':status 304', ':status 400', ':status 404', ':status 500'),
  ...fields('accept-charset', 'accept-encoding gzip, deflate', 'accept-language', 'accept-ranges', 'accept'),
  ...fields('access-control-allow-origin', 'age', 'allow', 'authorization', 'cache-control', 'content-disposition'),
  ...fields('content-encoding', 'content-language', 'content-length', 'content-location', 'content-range'),
  ...fields('content-type', 'cookie', 'date', 'etag', 'expect', 'expires', 'from', 'host', 'if-match'),
  ...fields('if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since', 'last-modified', 'link'),
  ...fields('location', 'max-forwards', 'proxy-authenticate', 'proxy-authorization', 'range', 'referer', 'refresh'),
  ...fields('retry-after', 'server', 'set-cookie', 'strict-transport-security', 'transfer-encoding', 'user-agent'),
  ...fields('vary', 'via', 'www-authenticate'),
];

function fields(...lines: readonly string[]): HeaderField[] {
  return lines.map((line) => {
    const space = line.indexOf(' ');
    return space < 0 ? { name: line, value: '' } : { name: line.slice(0, space), value: line.slice(space + 1) };
  });
}

/** The size with which both sides begin (RFC 9113 6.5.2). */
export const tableSizeDefault = 4_096;

/** The size of a field in the table (RFC 7541 4.1). */
export const sizeOf = ({ name, value }: HeaderField): number => name.length + value.length + 32;

/** First in, first out. A field has a fixed number: the count of fields added before it. */
export class DynamicTable<Field extends HeaderField> {
  readonly #onEvict: ((field: Field) => void) | undefined;
  #fields: (Field | undefined)[] = [];
  /** The index of the oldest field in `#fields`: shifting the array would copy it each time. */
  #from = 0;
  #size = 0;
  #sizeMax = tableSizeDefault;
  /** The number of fields ever added. */
  added = 0;

  constructor(onEvict?: (field: Field) => void) {
    this.#onEvict = onEvict;
  }

  get sizeMax(): number {
    return this.#sizeMax;
  }

  /** The field at an index; 0 is the newest. */
  at(index: number): Field | undefined {
    const position = this.#fields.length - 1 - index;
    return position >= this.#from ? this.#fields[position] : undefined;
  }

  resize(sizeMax: number): void {
    this.#sizeMax = sizeMax;
    this.#evictTo(sizeMax);
  }

  /**
   * Makes room and adds a field. A field larger than the whole table empties it and is not stored
   * (RFC 7541 4.4).
   */
  add(field: Field): void {
    const size = sizeOf(field);
    this.#evictTo(this.#sizeMax - size);
    if (size > this.#sizeMax) return;
    this.#fields.push(field);
    this.#size += size;
    this.added += 1;
  }

  #evictTo(size: number): void {
    while (this.#size > Math.max(0, size)) {
      const field = this.#fields[this.#from];
      if (field === undefined) break;
      this.#fields[this.#from] = undefined;
      this.#from += 1;
      this.#size -= sizeOf(field);
      this.#onEvict?.(field);
    }
    if (this.#from > 64) {
      this.#fields = this.#fields.slice(this.#from);
      this.#from = 0;
    }
  }
}
