// A filter as a sentence: "country is DE and plan is not free".
import { count, formatExact } from '../../format.ts';
import { countNames, formOf, latestNames, nameOfField, nameOfOperator, readDuration, unitNames } from './fields.ts';
import { isGroup, type Json, jsonOf, type Tree } from './tree.ts';

const missing = '…';

/** The sentence of a tree. Negated parts and nested groups are put in brackets. */
export function tell(tree: Tree, isInner = false): string {
  if (tree.kind === 'not') return `not (${tell(tree.node)})`;
  if (isGroup(tree)) {
    const parts = tree.nodes.map((node) => tell(node, tree.nodes.length > 1));
    const text = parts.length === 0 ? 'nothing yet' : parts.join(` ${tree.kind} `);
    return isInner && parts.length > 1 ? `(${text})` : text;
  }
  if (tree.kind === 'field') return tellComparison(jsonOf(tree));
  return tree.kind === 'event' ? tellEvent(jsonOf(tree)) : 'a part that is no filter';
}

function tellComparison({ field, op, value }: Json): string {
  const name = typeof field === 'string' && field !== '' ? nameOfField(field) : missing;
  if (typeof value === 'boolean' && field === 'device.identified') {
    return (op === 'eq') === value ? name : 'device belongs to no user';
  }
  const words = `${name} ${nameOfOperator(op)}`;
  return formOf(op) === 'none' ? words : `${words} ${tellValue(op, value)}`;
}

function tellValue(op: unknown, value: unknown): string {
  const form = formOf(op);
  if (form === 'duration') return tellDuration(value);
  if (form === 'instant') return tellInstant(value);
  if (!Array.isArray(value)) return tellScalar(value);
  const words = value.slice(0, 8).map(tellScalar);
  if (value.length > words.length) return `${words.join(', ')} or ${count(value.length - words.length, 'other')}`;
  const last = words.pop() ?? missing;
  return words.length === 0 ? last : `${words.join(', ')} or ${last}`;
}

function tellScalar(value: unknown): string {
  if (value === undefined || value === null) return missing;
  if (typeof value === 'string') return value === '' || /\s/.test(value) ? `“${value}”` : value;
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value);
}

/** The words behind `the last`: `day`, `30 days`. */
function tellDuration(value: unknown): string {
  const read = readDuration(value);
  if (!read) return missing;
  const one = unitNames[read.unit].slice(0, -1);
  return read.number === 1 ? one : count(read.number, one);
}

function tellInstant(value: unknown): string {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? formatExact(value) : missing;
}

function tellEvent({ event, count: times, within, last, where }: Json): string {
  const { op = 'gte', value = 1 } = (times ?? {}) as { op?: string; value?: number };
  const name = event === '' || event === undefined ? missing : tellScalar(event);
  const often = op === 'gte' && value === 1 ? '' : ` ${countNames[op] ?? op} ${count(Number(value), 'time')}`;
  const conditions = Array.isArray(where) ? where.map((each) => tellComparison(each as Json)) : [];
  const did = op === 'eq' && value === 0 ? `did not do ${name}` : `did ${name}${often}`;
  const parts = [
    did,
    ...(conditions.length > 0 ? [`where ${conditions.join(' and ')}`] : []),
    ...(within ? [`in the last ${tellDuration(within)}`] : []),
  ];
  const latest = (last ?? null) as { op?: string; value?: unknown } | null;
  if (latest === null) return parts.join(' ');
  const when = latest.op === 'within_last' ? tellDuration(latest.value) : tellInstant(latest.value);
  return `${parts.join(' ')}, the latest ${latestNames[String(latest.op)] ?? latest.op} ${when}`;
}
