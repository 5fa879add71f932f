// Scans the bytes of a body before it is parsed. Finds too deep nesting and objects with too many
// members, which no body may have (contract 1). It also finds parts that a body of this route
// cannot have. These are not parsed: V8 takes a microsecond for an object with new names, fifty
// times as long as for its text.
import { issuesMax } from '../values/issue.ts';
import { anyShape, type BodyShape, scalar } from './body-shape.ts';

const depthMax = 32;
const membersMax = 1000;
/** No schema has a field name with more bytes, even if each of its characters is escaped. */
const nameBytesMax = 1024;

export interface Scan {
  /** The reason to refuse the body unparsed, or null. */
  readonly excess: string | null;
  /** True when an object or list does not end, so that the body is no JSON. */
  readonly isOpen: boolean;
  /**
   * Pairs of offsets, from and to, of what can be left out without a change of the answer: the
   * inside of objects and lists that stand in the place of a scalar, items far beyond the length of
   * their list, and unknown fields after the fiftieth.
   */
  readonly dropped: readonly number[];
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const tooDeep = `The body is nested deeper than ${depthMax} levels.`;
const tooManyMembers = `An object of the body has more than ${membersMax} members.`;

export function scanJson(bytes: Buffer, shape: BodyShape): Scan {
  const scanner = new Scanner(bytes, shape);
  const excess = scanner.run();
  return { excess, isOpen: scanner.isOpen, dropped: scanner.dropped };
}

/** An open object or list whose shape describes its contents. */
interface Level {
  shape: BodyShape;
  isObject: boolean;
  /** Members of an object; items of a list, the first left out. */
  count: number;
  /** The shape of the member whose value comes next. */
  member: BodyShape;
  /** The offset of the comma before the member; without a comma, the offset of the member. */
  memberFrom: number;
  hasKept: boolean;
}

class Scanner {
  readonly dropped: number[] = [];
  readonly #bytes: Buffer;
  readonly #levels: Level[];
  /** Members of each object that is skipped, by depth. */
  readonly #skippedMembers = new Uint32Array(depthMax + 1);
  #depth = 0;
  #excess: string | null = null;
  #nameFrom = 0;
  #nameTo = 0;
  #unknown = 0;

  constructor(bytes: Buffer, shape: BodyShape) {
    this.#bytes = bytes;
    this.#levels = Array.from({ length: depthMax + 1 }, () => ({ ...closed }));
    this.#at(0).member = shape;
  }

  get isOpen(): boolean {
    return this.#depth > 0;
  }

  run(): string | null {
    const bytes = this.#bytes;
    for (let i = 0; i < bytes.length && this.#excess === null; i++) {
      switch (bytes[i]) {
        case quote:
          this.#nameFrom = i + 1;
          i = endOfString(bytes, i + 1);
          this.#nameTo = i;
          break;
        case 0x7b:
        case 0x5b:
          i = this.#open(i, bytes[i] === 0x7b);
          break;
        case 0x7d:
        case 0x5d:
          if (this.#depth > 0) this.#depth--;
          break;
        case 0x3a:
          i = this.#name(i);
          break;
        case comma:
          i = this.#comma(i);
      }
    }
    return this.#excess;
  }

  // Each of these three functions returns the offset of the last byte that it read.

  #open(at: number, isObject: boolean): number {
    const parent = this.#at(this.#depth);
    const place = parent.isObject ? parent.member : (parent.shape.items ?? anyShape);
    if (++this.#depth > depthMax) return this.#refuse(tooDeep);
    const fits = place.isAny || (isObject ? place.members !== null : place.items !== null);
    if (place.isAny || !fits) {
      const end = this.#skip(at + 1);
      if (!fits) this.#drop(at + 1, end);
      return end - 1;
    }
    const level = this.#at(this.#depth);
    level.shape = place;
    level.isObject = isObject;
    level.count = 0;
    level.memberFrom = at + 1;
    level.hasKept = false;
    return at;
  }

  #name(at: number): number {
    const level = this.#at(this.#depth);
    if (++level.count > membersMax) return this.#refuse(tooManyMembers);
    const { shape } = level;
    const isLong = this.#nameTo - this.#nameFrom > nameBytesMax;
    const known = (isLong ? undefined : shape.members?.get(this.#readName())) ?? shape.others;
    level.member = known ?? scalar;
    if (known !== null || ++this.#unknown <= issuesMax) {
      level.hasKept = true;
      return at;
    }
    // Drops the member and the comma before it. For the first remaining member it drops the comma
    // after it.
    const end = this.#skip(at + 1, true);
    const to = this.#bytes[end] === comma && !level.hasKept ? end + 1 : end;
    this.#drop(level.memberFrom, to);
    level.memberFrom = to;
    return to - 1;
  }

  #comma(at: number): number {
    const level = this.#at(this.#depth);
    if (level.isObject) level.memberFrom = at;
    else if (++level.count > level.shape.itemsMax) {
      const end = this.#skip(at + 1);
      this.#drop(at, end);
      return end - 1;
    }
    return at;
  }

  /**
   * Skips a part that needs no shape, up to the end of the open object or list or of its member.
   * Returns the offset of the bracket or comma.
   */
  #skip(from: number, isMember = false): number {
    const bytes = this.#bytes;
    const members = this.#skippedMembers;
    const outer = this.#depth;
    let depth = outer;
    members[depth] = 0;
    let i = from;
    for (; i < bytes.length; i++) {
      switch (bytes[i]) {
        case quote:
          i = endOfString(bytes, i + 1);
          break;
        case 0x7b:
        case 0x5b:
          if (++depth > depthMax) return this.#refuse(tooDeep);
          members[depth] = 0;
          break;
        case 0x7d:
        case 0x5d:
          if (depth === outer) return i;
          depth--;
          break;
        case 0x3a: {
          const count = (members[depth] ?? 0) + 1;
          if (count > membersMax) return this.#refuse(tooManyMembers);
          members[depth] = count;
          break;
        }
        case comma:
          if (isMember && depth === outer) return i;
      }
    }
    return bytes.length;
  }

  #refuse(excess: string): number {
    this.#excess = excess;
    return this.#bytes.length;
  }

  #drop(from: number, to: number): void {
    if (to > from) this.dropped.push(from, to);
  }

  #readName(): string {
    const text = this.#bytes.toString('latin1', this.#nameFrom, this.#nameTo);
    if (!text.includes('\\')) return text;
    try {
      return String(JSON.parse(`"${text}"`));
    } catch {
      return text;
    }
  }

  #at(depth: number): Level {
    return this.#levels[depth] as Level;
  }
}

const closed: Level = {
  shape: anyShape,
  isObject: true,
  count: 0,
  member: anyShape,
  memberFrom: 0,
  hasKept: false,
};

/** The offset of the quote that ends a string which begins at `from`. */
function endOfString(bytes: Buffer, from: number): number {
  let i = from;
  for (; i < bytes.length && bytes[i] !== quote; i++) if (bytes[i] === backslash) i++;
  return i;
}
