// Checks a filter against the catalog (contract 6). For each comparison the check finds the column,
// tests whether the column's type has that operator, and converts the value to the form that the
// database compares. Otherwise it returns issues that name the accepted values. Pure.

import { instantForm, parseInstant } from '../../ground/values/instant.ts';
import type { Issue, IssueCode } from '../../ground/values/issue.ts';
import { spellingsOf, spellingsOfStart } from '../../sending/content/locales.ts';
import {
  type BuiltinField,
  builtinFields,
  type FieldType,
  type Operator,
  operatorsOfType,
} from '../properties/fields.ts';
import type { Property } from '../properties/property.ts';
import {
  type Comparison,
  durationForm,
  durationMsMax,
  type Filter,
  listMax,
  type Node,
  parseDuration,
  textLengthMax,
} from './filter.ts';

/** The field or property that a comparison reads. */
export type Operand = { readonly builtin: BuiltinField } | { readonly property: Property };

/** A positive test. Each negative operator is the exact negation of one of these tests. */
export type Test =
  | { readonly kind: 'exists' }
  | { readonly kind: 'is'; readonly values: readonly (string | number | boolean)[] }
  | { readonly kind: 'order'; readonly op: 'gt' | 'gte' | 'lt' | 'lte'; readonly value: number }
  | { readonly kind: 'text'; readonly op: 'contains' | 'starts_with' | 'ends_with'; readonly values: readonly string[] }
  | { readonly kind: 'time'; readonly op: 'before' | 'after'; readonly atMs: number }
  | { readonly kind: 'within_last'; readonly durationMs: number };

export interface CheckedLeaf {
  readonly kind: 'leaf';
  readonly path: Comparison['path'];
  readonly operand: Operand;
  readonly type: FieldType;
  readonly test: Test;
  readonly isNegated: boolean;
}

/**
 * A comparison of an event's property. Events have no catalog, so the type is that of the given
 * value.
 */
export interface CheckedCondition {
  readonly path: Comparison['path'];
  readonly key: string;
  /** Null for `exists`, which a value of any type fulfils. */
  readonly type: 'string' | 'number' | 'boolean' | null;
  readonly test: Test;
  readonly isNegated: boolean;
}

export type CheckedFilter = Node<CheckedLeaf, CheckedCondition>;

export type Checked = { readonly filter: CheckedFilter } | { readonly issues: readonly Issue[] };

const propertyPrefix = 'properties.';

/** The property keys of a filter, whose catalog entries `checkFilter` needs. */
export function propertyKeysOf(filter: Filter): string[] {
  const keys = new Set<string>();
  for (const field of fieldsOf(filter))
    if (field.startsWith(propertyPrefix)) keys.add(field.slice(propertyPrefix.length));
  return [...keys];
}

/**
 * The fields that a filter compares, each once, in the order of the filter. Properties of events
 * are not included.
 */
export function fieldsOf(filter: Filter): string[] {
  const fields = new Set<string>();
  const walk = (node: Filter): void => {
    if (node.kind === 'leaf') fields.add(node.field);
    else if (node.kind === 'not') walk(node.node);
    else if (node.kind !== 'event') node.nodes.forEach(walk);
  };
  walk(filter);
  return [...fields];
}

/**
 * Returns the checked filter, or every issue. `catalog` maps keys to entries; it needs at least the
 * existing entries of `propertyKeysOf(filter)`.
 */
export function checkFilter(filter: Filter, catalog: ReadonlyMap<string, Property>): Checked {
  const issues: Issue[] = [];
  const check = (node: Filter): CheckedFilter[] => {
    if (node.kind === 'leaf') return checkLeaf(node, catalog, issues);
    if (node.kind === 'event') {
      return [{ ...node, where: node.where.flatMap((condition) => checkCondition(condition, issues)) }];
    }
    if (node.kind === 'not') return check(node.node).map((inner) => ({ kind: 'not', node: inner }));
    return [{ kind: node.kind, nodes: node.nodes.flatMap(check) }];
  };
  const [checked] = check(filter);
  return checked === undefined || issues.length > 0 ? { issues } : { filter: spelled(checked) };
}

// This comes after all checks, because reading a language takes microseconds, and a refused filter
// may contain two hundred thousand values.
function spelled(node: CheckedFilter): CheckedFilter {
  if (node.kind === 'leaf') return { ...node, test: withSpellings(node.operand, node.test) };
  if (node.kind === 'not') return { ...node, node: spelled(node.node) };
  return node.kind === 'event' ? node : { ...node, nodes: node.nodes.map(spelled) };
}

function checkLeaf(leaf: Comparison, catalog: ReadonlyMap<string, Property>, issues: Issue[]): CheckedLeaf[] {
  const found = operandOf(leaf, catalog);
  if ('code' in found) {
    issues.push(found);
    return [];
  }
  const { operand, type } = found;
  const checked = checkComparison(leaf, operatorsOfType[type], `${type} ${nameOf(leaf.field)}`, (value, isWhole) =>
    readFieldValue(value, type, isWhole && 'builtin' in operand ? operand.builtin : null),
  );
  if ('issue' in checked) {
    issues.push(checked.issue);
    return [];
  }
  return [{ kind: 'leaf', path: leaf.path, operand, type, ...checked }];
}

/**
 * A language is stored as its writer spelled it, and devices may have former codes. So a whole tag
 * is compared with each of its spellings, and so is the beginning of a locale: a stored
 * `starts_with: iw` selects the same devices before and after their locales became canonical.
 */
function withSpellings(operand: Operand, test: Test): Test {
  if (!('builtin' in operand)) return test;
  if (test.kind === 'text' && operand.builtin === 'device.locale' && test.op !== 'ends_with') {
    return { ...test, values: test.values.flatMap(spellingsOfStart) };
  }
  if (test.kind !== 'is') return test;
  // Stored countries are in upper case.
  if (operand.builtin === 'country')
    return { kind: 'is', values: test.values.map((value) => String(value).toUpperCase()) };
  if (operand.builtin !== 'language' && operand.builtin !== 'device.locale') return test;
  return { kind: 'is', values: [...new Set(test.values.flatMap((value) => spellingsOf(String(value))))] };
}

function operandOf(
  { field, path }: Comparison,
  catalog: ReadonlyMap<string, Property>,
): { operand: Operand; type: FieldType } | Issue {
  if (field.startsWith(propertyPrefix)) {
    const key = field.slice(propertyPrefix.length);
    const property = catalog.get(key);
    if (property) return { operand: { property }, type: property.type };
    const message = `No user or device has a property '${key.slice(0, 64)}' yet.`;
    return { path: [...path, 'field'], code: 'unknown_property', message };
  }
  if (Object.hasOwn(builtinFields, field)) {
    const builtin = field as BuiltinField;
    return { operand: { builtin }, type: builtinFields[builtin] };
  }
  const allowed = [...Object.keys(builtinFields), 'properties.<key>'];
  const message = `'${field.slice(0, 64)}' is not a field of a filter.`;
  return { path: [...path, 'field'], code: 'invalid_value', message, allowed };
}

function nameOf(field: string): string {
  return field.startsWith(propertyPrefix)
    ? `property '${field.slice(propertyPrefix.length, propertyPrefix.length + 64)}'`
    : `field '${field}'`;
}

function checkCondition(condition: Comparison, issues: Issue[]): CheckedCondition[] {
  const { path, field } = condition;
  const key = field.slice(propertyPrefix.length);
  if (!field.startsWith(propertyPrefix) || key === '' || key.length > 64) {
    const message = 'A condition compares a property of the event: properties.<key>.';
    issues.push({ path: [...path, 'field'], code: 'invalid_value', message, allowed: ['properties.<key>'] });
    return [];
  }
  const type = typeOfCondition(condition);
  if (type === undefined) {
    const message = 'A condition compares with a string, a number or a boolean, or with a list of one of them.';
    issues.push({ path: [...path, 'value'], code: 'value_type_mismatch', message });
    return [];
  }
  // Without a value any operator is accepted here; all except `exists` and `not_exists` are then
  // refused because they need a value.
  const operators = type === null ? operatorsOfEvents : operatorsOfType[type];
  const what = type === null ? 'a property of an event' : `${type} value`;
  const checked = checkComparison(condition, operators, what, (value) => readConditionValue(value, type));
  if ('issue' in checked) {
    issues.push(checked.issue);
    return [];
  }
  return [{ path, key, type, ...checked }];
}

const operatorsOfEvents = [
  ...new Set([...operatorsOfType.string, ...operatorsOfType.number, ...operatorsOfType.boolean]),
];

function readConditionValue(value: unknown, type: CheckedCondition['type']): ReadValue {
  if (typeof value !== type) return mismatch(type ?? 'missing');
  if (typeof value === 'string' && value.length > textLengthMax) return tooLong;
  return typeof value === 'number' ? finite(value) : (value as string | boolean);
}

/**
 * Returns null when the condition has no value, and undefined when the value's type cannot be
 * compared with an event's property.
 */
function typeOfCondition({ value }: Comparison): CheckedCondition['type'] | undefined {
  const one: unknown = Array.isArray(value) ? value[0] : value;
  if (value === undefined) return null;
  if (Array.isArray(value) && value.length === 0) return 'string';
  const type = typeof one;
  return type === 'string' || type === 'number' || type === 'boolean' ? type : undefined;
}

type Problem = { readonly code: IssueCode; readonly message: string; readonly allowed?: readonly unknown[] };
/**
 * A bare value, without an object around it, because a refused filter may contain two hundred
 * thousand.
 */
type ReadValue = string | number | boolean | Problem;
/** `isWhole`: the value is compared as a whole and not as a part of a text. */
type Reader = (value: unknown, isWhole: boolean) => ReadValue;

const tooLong: Problem = { code: 'too_big', message: `A value has at most ${textLengthMax} characters.` };

const positiveOf: Partial<Record<Operator, Operator>> = {
  neq: 'eq',
  not_in: 'in',
  not_contains: 'contains',
  not_exists: 'exists',
};

function checkComparison(
  { path, op, value }: Comparison,
  operators: readonly Operator[],
  what: string,
  read: Reader,
): { test: Test; isNegated: boolean } | { issue: Issue } {
  const refuse = (at: Comparison['path'], { code, message, allowed }: Problem) => ({
    issue: { path: [...path, ...at], code, message, ...(allowed && { allowed }) },
  });
  if (!(operators as readonly string[]).includes(op)) {
    const message = `Operator '${op.slice(0, 32)}' is not allowed on ${what}.`;
    return refuse(['op'], { code: 'operator_not_allowed', message, allowed: operators });
  }
  const operator = op as Operator;
  const positive = positiveOf[operator] ?? operator;
  const isNegated = positive !== operator;
  if (positive === 'exists') {
    if (value === undefined) return { test: { kind: 'exists' }, isNegated };
    const allowed = ['field', 'op'];
    return refuse(['value'], { code: 'unrecognized_keys', message: `'${op}' takes no value.`, allowed });
  }
  if (value === undefined) return refuse(['value'], { code: 'required', message: `'${op}' needs a value.` });
  if (positive === 'in') {
    const list = readList(value, read);
    return 'values' in list ? { test: { kind: 'is', values: list.values }, isNegated } : refuse(list.at, list.problem);
  }
  if (positive === 'before' || positive === 'after') {
    const instant = typeof value === 'string' ? parseInstant(value) : undefined;
    if (instant) return { test: { kind: 'time', op: positive, atMs: instant.ms }, isNegated };
    const code = typeof value === 'string' ? 'invalid_format' : 'value_type_mismatch';
    return refuse(['value'], { code, message: `It must be ${instantForm}.` });
  }
  if (positive === 'within_last') {
    const durationMs = typeof value === 'string' ? parseDuration(value) : undefined;
    if (durationMs === undefined) {
      const code = typeof value === 'string' ? 'invalid_format' : 'value_type_mismatch';
      return refuse(['value'], { code, message: durationForm });
    }
    if (durationMs <= durationMsMax) return { test: { kind: 'within_last', durationMs }, isNegated };
    return refuse(['value'], { code: 'too_big', message: 'A duration is at most 365 days.' });
  }
  const single = read(value, positive === 'eq');
  if (typeof single === 'object') return refuse(['value'], single);
  const test = testOf(positive, single);
  return 'code' in test ? refuse(['value'], test) : { test, isNegated };
}

function readList(
  value: unknown,
  read: Reader,
): { values: (string | number | boolean)[] } | { at: Comparison['path']; problem: Problem } {
  const at = ['value'];
  if (!Array.isArray(value)) return { at, problem: mismatch('array') };
  if (value.length === 0) return { at, problem: { code: 'empty_group', message: 'An empty list matches nobody.' } };
  if (value.length > listMax) {
    return { at, problem: { code: 'too_big', message: `A list has at most ${listMax} values.` } };
  }
  const values: (string | number | boolean)[] = [];
  for (let index = 0; index < value.length; index++) {
    const one = read(value[index], true);
    if (typeof one === 'object') return { at: ['value', index], problem: one };
    values.push(one);
  }
  return { values };
}

function testOf(op: Operator, value: string | number | boolean): Test | Problem {
  switch (op) {
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return { kind: 'order', op, value: Number(value) };
    case 'contains':
    case 'starts_with':
    case 'ends_with':
      if (value === '')
        return { code: 'too_small', message: 'Every text has an empty part: give at least a character.' };
      return { kind: 'text', op, values: [String(value)] };
    default:
      return { kind: 'is', values: [value] };
  }
}

/**
 * `builtin` is the field that a whole value is compared with; null for a property and for a part of
 * a text.
 */
function readFieldValue(value: unknown, type: FieldType, builtin: BuiltinField | null): ReadValue {
  if (typeof value === 'number' && type === 'number') return finite(value);
  if (typeof value === 'boolean' && type === 'boolean') return value;
  if (typeof value !== 'string' || type !== 'string') return mismatch(type);
  if (value.length > textLengthMax) return tooLong;
  if (builtin !== 'device.platform' || platforms.includes(value)) return value;
  return { code: 'invalid_value', message: 'A platform is web, ios or android.', allowed: platforms };
}

const platforms = ['web', 'ios', 'android'];

/** JSON.parse reads a number beyond all doubles as infinity, which would be stored as null. */
function finite(value: number): ReadValue {
  if (!Number.isFinite(value)) return { code: 'invalid_value', message: 'A number must be finite.' };
  return value === 0 ? 0 : value;
}

function mismatch(expected: string): Problem {
  const article = /^[aeiou]/.test(expected) ? 'an' : 'a';
  return { code: 'value_type_mismatch', message: `The value must be ${article} ${expected}.` };
}
