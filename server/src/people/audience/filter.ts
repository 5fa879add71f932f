// The filter grammar (contract 6): reads unknown JSON into a tree, and reports every issue at its
// path. Pure. The catalog is unknown here; `check-filter.ts` checks whether a property exists and
// which operators it has.

import { instantForm, parseInstant } from '../../ground/values/instant.ts';
import { isRecord } from '../../ground/values/is-record.ts';
import { type Issue, type IssueCode, issuesMax } from '../../ground/values/issue.ts';

export type Path = readonly (string | number)[];

/** A comparison as it was written, not yet checked against the catalog. */
export interface Comparison {
  /** The comparison's path in the request. */
  readonly path: Path;
  readonly field: string;
  readonly op: string;
  /** Undefined when the comparison has no value. */
  readonly value: unknown;
}

export const countOperators = ['gte', 'lte', 'gt', 'lt', 'eq'] as const;
export type CountOperator = (typeof countOperators)[number];

export type Last =
  | { readonly op: 'before' | 'after'; readonly atMs: number }
  | { readonly op: 'within_last'; readonly durationMs: number };

export interface EventLeaf<Condition = Comparison> {
  readonly kind: 'event';
  readonly path: Path;
  readonly event: string;
  readonly count: { readonly op: CountOperator; readonly value: number };
  /** Null: events of all time count. */
  readonly withinMs: number | null;
  readonly last: Last | null;
  readonly where: readonly Condition[];
}

/** A node of a filter. The types of its comparisons depend on the stage of reading. */
export type Node<Leaf, Condition> =
  | { readonly kind: 'and' | 'or'; readonly nodes: readonly Node<Leaf, Condition>[] }
  | { readonly kind: 'not'; readonly node: Node<Leaf, Condition> }
  | Leaf
  | EventLeaf<Condition>;

export type Filter = Node<Comparison & { readonly kind: 'leaf' }, Comparison>;

export const nodesMax = 200;
export const depthMax = 10;
export const textLengthMax = 1_024;
export const listMax = 1_000;
export const conditionsMax = 5;
const countMax = Number.MAX_SAFE_INTEGER;
const eventNameMax = 128;
const daysMax = 365;
const dayMs = 86_400_000;

type Read = { readonly filter: Filter } | { readonly issues: readonly Issue[] };

/**
 * Reads a filter that stands at `path` of the request. Never throws, and stops reading at the
 * limits of nodes and depth.
 */
export function parseFilter(input: unknown, path: Path = []): Read {
  const reader = new FilterReader(path);
  const filter = reader.node(input, path, 1);
  return filter === undefined || reader.issues.length > 0 ? { issues: reader.issues } : { filter };
}

type Form = 'and' | 'or' | 'not' | 'leaf' | 'event';

const keysOfForm: Readonly<Record<Form, readonly string[]>> = {
  and: ['and'],
  or: ['or'],
  not: ['not'],
  leaf: ['field', 'op', 'value'],
  event: ['event', 'count', 'within', 'last', 'where'],
};

class FilterReader {
  readonly issues: Issue[] = [];
  readonly #root: Path;
  #nodes = 0;

  constructor(root: Path) {
    this.#root = root;
  }

  /** Returns undefined when an issue says why, and for every node past the limit. */
  node(input: unknown, path: Path, depth: number): Filter | undefined {
    if (!this.#countNode()) return undefined;
    if (depth > depthMax) return this.#refuse(path, 'too_deep', `A filter is at most ${depthMax} levels deep.`);
    if (!isRecord(input)) return this.#refuse(path, 'invalid_type', 'A filter node is an object.');
    const form = this.#formOf(input, path);
    switch (form) {
      case 'and':
      case 'or': {
        const nodes = this.#list(input[form], [...path, form], (item, at) => this.node(item, at, depth + 1));
        return nodes && { kind: form, nodes };
      }
      case 'not': {
        const node = this.node(input['not'], [...path, 'not'], depth + 1);
        return node && { kind: 'not', node };
      }
      case 'leaf': {
        const comparison = this.#comparison(input, path);
        return comparison && { kind: 'leaf', ...comparison };
      }
      case 'event':
        return this.#event(input, path);
      default:
        return undefined;
    }
  }

  #refuse(path: Path, code: IssueCode, message: string, allowed?: readonly unknown[]): undefined {
    if (this.issues.length < issuesMax) this.issues.push({ path, code, message, ...(allowed && { allowed }) });
    return undefined;
  }

  #countNode(): boolean {
    this.#nodes++;
    if (this.#nodes === nodesMax + 1) {
      // This issue is put first, because an answer does not list every issue.
      const message = `A filter has at most ${nodesMax} nodes.`;
      this.issues.unshift({ path: this.#root, code: 'too_many_nodes', message });
    }
    return this.#nodes <= nodesMax && this.issues.length < issuesMax;
  }

  /** A node has the keys of exactly one form. */
  #formOf(input: Readonly<Record<string, unknown>>, path: Path): Form | undefined {
    const keys = Object.keys(input);
    if (keys.length === 0) return this.#refuse(path, 'empty_group', 'An empty object is no filter.');
    const forms = (['and', 'or', 'not', 'leaf', 'event'] as const).filter((form) =>
      keys.some((key) => (form === 'leaf' ? key === 'field' || key === 'op' : key === form)),
    );
    const [form] = forms;
    if (forms.length > 1) {
      const message = 'A filter node has exactly one of these forms.';
      return this.#refuse(path, 'exactly_one_required', message, ['and', 'or', 'not', 'field', 'event']);
    }
    const allowed = form ? keysOfForm[form] : ['and', 'or', 'not', 'field', 'op', 'value', 'event'];
    for (const key of keys) {
      if (!allowed.includes(key)) {
        this.#refuse([...path, key], 'unrecognized_keys', `'${key.slice(0, 64)}' has no place in this node.`, allowed);
      }
    }
    if (form === undefined && keys.every((key) => allowed.includes(key))) {
      this.#refuse([...path, 'field'], 'required', 'A comparison names its field.');
    }
    return form;
  }

  #list<Item>(input: unknown, path: Path, read: (item: unknown, at: Path) => Item | undefined): Item[] | undefined {
    if (!Array.isArray(input)) return this.#refuse(path, 'invalid_type', 'It must be an array.');
    if (input.length === 0) return this.#refuse(path, 'empty_group', 'An empty group matches nobody and everybody.');
    const items: Item[] = [];
    for (const [index, item] of input.entries()) {
      if (this.#nodes > nodesMax) break;
      const one = read(item, [...path, index]);
      if (one !== undefined) items.push(one);
    }
    return items;
  }

  #comparison(input: Readonly<Record<string, unknown>>, path: Path): Comparison | undefined {
    const field = this.#text(input['field'], [...path, 'field']);
    const op = this.#text(input['op'], [...path, 'op']);
    const value = Object.hasOwn(input, 'value') ? input['value'] : undefined;
    return field === undefined || op === undefined ? undefined : { path, field, op, value };
  }

  #text(input: unknown, path: Path): string | undefined {
    if (input === undefined) return this.#refuse(path, 'required', `'${path.at(-1)}' is missing.`);
    if (typeof input !== 'string') return this.#refuse(path, 'invalid_type', 'It must be a string.');
    return input;
  }

  #event(input: Readonly<Record<string, unknown>>, path: Path): Filter | undefined {
    const event = this.#eventName(input['event'], [...path, 'event']);
    const count = this.#count(input['count'], [...path, 'count']);
    const within = given(input['within']) ? this.#duration(input['within'], [...path, 'within']) : null;
    const last = given(input['last']) ? this.#last(input['last'], [...path, 'last']) : null;
    const where = given(input['where']) ? this.#where(input['where'], [...path, 'where']) : [];
    if (event === undefined || count === undefined || within === undefined) return undefined;
    if (last === undefined || where === undefined) return undefined;
    return { kind: 'event', path, event, count, withinMs: within, last, where };
  }

  #eventName(input: unknown, path: Path): string | undefined {
    const name = this.#text(input, path);
    if (name === undefined) return undefined;
    if (name.length === 0) return this.#refuse(path, 'too_small', 'An event has a name.');
    if (name.length > eventNameMax) {
      return this.#refuse(path, 'too_big', `The name of an event has at most ${eventNameMax} characters.`);
    }
    return name;
  }

  #count(input: unknown, path: Path): EventLeaf['count'] | undefined {
    if (!given(input)) return { op: 'gte', value: 1 };
    const parts = this.#pair(input, path);
    if (!parts) return undefined;
    const { op, value } = parts;
    if (!isOneOf(countOperators, op)) {
      return this.#refuse([...path, 'op'], 'operator_not_allowed', 'A count has these operators.', countOperators);
    }
    if (typeof value !== 'number' || !Number.isInteger(value)) {
      return this.#refuse([...path, 'value'], 'invalid_type', 'A count is a whole number.');
    }
    if (value < 0) return this.#refuse([...path, 'value'], 'too_small', 'A count is at least 0.');
    if (value > countMax) return this.#refuse([...path, 'value'], 'too_big', 'No count is that high.');
    return { op, value };
  }

  #last(input: unknown, path: Path): Last | undefined {
    const parts = this.#pair(input, path);
    if (!parts) return undefined;
    const { op, value } = parts;
    const at = [...path, 'value'];
    if (op === 'within_last') {
      const durationMs = this.#duration(value, at);
      return durationMs === undefined ? undefined : { op, durationMs };
    }
    if (op === 'before' || op === 'after') {
      const instant = typeof value === 'string' ? parseInstant(value) : undefined;
      return instant ? { op, atMs: instant.ms } : this.#refuse(at, 'invalid_format', `It must be ${instantForm}.`);
    }
    const allowed = ['before', 'after', 'within_last'];
    return this.#refuse([...path, 'op'], 'operator_not_allowed', 'The latest event has these operators.', allowed);
  }

  /** Reads `{op, value}`; any other key is an issue. */
  #pair(input: unknown, path: Path): { op: unknown; value: unknown } | undefined {
    if (!isRecord(input)) return this.#refuse(path, 'invalid_type', 'It must be an object with op and value.');
    const allowed = ['op', 'value'];
    const unknown = Object.keys(input).filter((key) => !allowed.includes(key));
    for (const key of unknown) this.#refuse([...path, key], 'unrecognized_keys', 'It has op and value only.', allowed);
    const missing = allowed.filter((key) => !given(input[key]));
    for (const key of missing) this.#refuse([...path, key], 'required', `'${key}' is missing.`);
    return unknown.length + missing.length > 0 ? undefined : { op: input['op'], value: input['value'] };
  }

  #duration(input: unknown, path: Path): number | undefined {
    const read = typeof input === 'string' ? parseDuration(input) : undefined;
    if (read === undefined) return this.#refuse(path, 'invalid_format', durationForm);
    if (read > daysMax * dayMs) return this.#refuse(path, 'too_big', `A duration is at most ${daysMax} days.`);
    return read;
  }

  #where(input: unknown, path: Path): Comparison[] | undefined {
    if (Array.isArray(input) && input.length > conditionsMax) {
      return this.#refuse(path, 'too_big', `An event has at most ${conditionsMax} conditions.`);
    }
    return this.#list(input, path, (item, at) => {
      if (!this.#countNode()) return undefined;
      if (!isRecord(item)) return this.#refuse(at, 'invalid_type', 'A condition is an object.');
      const unknown = Object.keys(item).filter((key) => !keysOfForm.leaf.includes(key));
      for (const key of unknown) {
        this.#refuse([...at, key], 'unrecognized_keys', 'A condition has field, op and value.', keysOfForm.leaf);
      }
      return unknown.length > 0 ? undefined : this.#comparison(item, at);
    });
  }
}

export const durationForm = 'A duration is 1 to 9999 followed by m, h or d, such as 30d.';

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: dayMs };

/**
 * Returns milliseconds, or undefined when the text is no duration. The caller checks the maximum.
 */
export function parseDuration(text: string): number | undefined {
  const [, digits = '', unit = ''] = /^([1-9]\d{0,3})([mhd])$/.exec(text) ?? [];
  const each = unitMs[unit];
  return each === undefined ? undefined : Number(digits) * each;
}

/** The longest duration that a filter accepts, in milliseconds. */
export const durationMsMax = daysMax * dayMs;

function given(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isOneOf<Word extends string>(words: readonly Word[], value: unknown): value is Word {
  return typeof value === 'string' && (words as readonly string[]).includes(value);
}
