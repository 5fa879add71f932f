// Scans the bytes of a body before it is parsed. Finds what no body may have: too deep nesting and
// objects of too many members (contract 1). Finds also what a body of this route cannot have, and
// what is therefore not worth parsing: V8 takes a microsecond for an object whose names it has not
// seen, fifty times longer than for the text.
import { issuesMax } from '../ground/issue.ts';
import { anyShape, type BodyShape, scalar } from './body-shape.ts';

const depthMax = 32;
const membersMax = 1000;

export interface Scan {
  /** The reason to refuse the body unparsed, or null. */
  readonly excess: string | null;
  /** True when an object or list has no end, so that the body is no JSON. */
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
const none = -1;

export function scanJson(bytes: Buffer, shape: BodyShape): Scan {
  const scanner = new Scanner(bytes, shape);
  const excess = scanner.run();
  return { excess, isOpen: scanner.isOpen, dropped: scanner.dropped };
}

/** An object or list that is open. */
interface Level {
  shape: BodyShape;
  isObject: boolean;
  /** Members of an object; items of a list, the first left out. */
  count: number;
  /** The shape of the member whose value comes. */
  member: BodyShape;
  /** Where the member begins: at the comma before it, or behind the bracket or a dropped member. */
  memberFrom: number;
  hasKept: boolean;
  isDropping: boolean;
  /** Where the items begin that are too many. */
  excessFrom: number;
}

class Scanner {
  readonly dropped: number[] = [];
  readonly #bytes: Buffer;
  readonly #levels: Level[];
  #depth = 0;
  #nameFrom = 0;
  #nameTo = 0;
  #unknown = 0;
  /** The depth of the outermost object or list that stands in the place of a scalar. */
  #misplacedDepth = 0;
  #misplacedFrom = none;

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
    for (let i = 0; i < bytes.length; i++) {
      switch (bytes[i]) {
        case quote:
          this.#nameFrom = i + 1;
          i = endOfString(bytes, i + 1);
          this.#nameTo = i;
          break;
        case 0x7b:
        case 0x5b:
          if (++this.#depth > depthMax) return `The body is nested deeper than ${depthMax} levels.`;
          this.#open(i, bytes[i] === 0x7b);
          break;
        case 0x7d:
        case 0x5d:
          if (this.#depth > 0) this.#close(i);
          break;
        case 0x3a:
          if (!this.#name()) return `An object of the body has more than ${membersMax} members.`;
          break;
        case 0x2c:
          this.#comma(i);
      }
    }
    return null;
  }

  #open(at: number, isObject: boolean): void {
    const parent = this.#at(this.#depth - 1);
    const place = parent.isObject ? parent.member : (parent.shape.items ?? anyShape);
    const fits = place.isAny || (isObject ? place.members !== null : place.items !== null);
    const level = this.#at(this.#depth);
    level.shape = fits ? place : anyShape;
    level.isObject = isObject;
    level.count = 0;
    level.memberFrom = at + 1;
    level.hasKept = false;
    level.isDropping = false;
    level.excessFrom = none;
    if (!fits && this.#misplacedFrom === none) {
      this.#misplacedFrom = at + 1;
      this.#misplacedDepth = this.#depth;
    }
  }

  #close(at: number): void {
    const level = this.#at(this.#depth);
    if (level.isDropping) this.#endMember(level, at, false);
    if (level.excessFrom !== none) this.#drop(level.excessFrom, at);
    if (this.#misplacedFrom !== none && this.#misplacedDepth === this.#depth) {
      this.#drop(this.#misplacedFrom, at);
      this.#misplacedFrom = none;
    }
    this.#depth--;
  }

  /** Reads the name before a colon. Returns false when the object has too many. */
  #name(): boolean {
    const level = this.#at(this.#depth);
    if (++level.count > membersMax) return false;
    const { shape } = level;
    if (shape.isAny || shape.members === null) level.member = anyShape;
    else {
      const known = shape.members.get(this.#readName()) ?? shape.others;
      level.member = known ?? scalar;
      level.isDropping = known === null && ++this.#unknown > issuesMax;
    }
    level.hasKept ||= !level.isDropping;
    return true;
  }

  #comma(at: number): void {
    const level = this.#at(this.#depth);
    if (level.isObject) {
      if (level.isDropping) this.#endMember(level, at, true);
      else level.memberFrom = at;
    } else if (++level.count > level.shape.itemsMax && level.excessFrom === none && !level.shape.isAny) {
      level.excessFrom = at;
    }
  }

  // Drops a member with the comma before it, or behind it where it is the first that would be left.
  #endMember(level: Level, at: number, isComma: boolean): void {
    const to = isComma && !level.hasKept ? at + 1 : at;
    this.#drop(level.memberFrom, to);
    level.memberFrom = to;
    level.isDropping = false;
  }

  #drop(from: number, to: number): void {
    const { dropped } = this;
    while (dropped.length > 0 && (dropped.at(-2) ?? 0) >= from) dropped.length -= 2;
    if (to > from) dropped.push(from, to);
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
  isDropping: false,
  excessFrom: none,
};

/** The offset of the quote that ends a string which begins at `from`. */
function endOfString(bytes: Buffer, from: number): number {
  let i = from;
  for (; i < bytes.length && bytes[i] !== quote; i++) if (bytes[i] === backslash) i++;
  return i;
}
