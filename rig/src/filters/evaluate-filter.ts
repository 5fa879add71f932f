// A second, independent implementation of filters: evaluates a caller's JSON over a device in
// memory. It was written from the contract's table alone and shares no code with the compiler.

export interface Device {
  /** Every field of a filter by its name, properties included; a missing value is absent. */
  readonly fields: ReadonlyMap<string, string | number | boolean | Date>;
  readonly person: string;
}

export interface Event {
  /** The user of the event, once the devices' owners are known. */
  readonly person: string;
  readonly name: string;
  readonly at: Date;
  readonly properties: Readonly<Record<string, unknown>>;
}

type Json = Readonly<Record<string, unknown>>;

export function matches(node: Json, device: Device, events: readonly Event[], now: Date): boolean {
  if (Array.isArray(node['and'])) return node['and'].every((one: Json) => matches(one, device, events, now));
  if (Array.isArray(node['or'])) return node['or'].some((one: Json) => matches(one, device, events, now));
  if ('not' in node) return !matches(node['not'] as Json, device, events, now);
  if ('event' in node) return matchesEvent(node, device, events, now);
  const field = String(node['field']);
  return compare(
    String(node['op']),
    device.fields.get(field),
    canonical(field, String(node['op']), node['value']),
    now,
  );
}

const negations: Readonly<Record<string, string>> = {
  neq: 'eq',
  not_in: 'in',
  not_contains: 'contains',
  not_exists: 'exists',
};

function compare(op: string, stored: unknown, value: unknown, now: Date): boolean {
  const positive = negations[op];
  if (positive !== undefined) return !compare(positive, stored, value, now);
  if (stored === undefined) return false;
  switch (op) {
    case 'exists':
      return true;
    case 'eq':
      return stored === value;
    case 'in':
      return (value as unknown[]).includes(stored);
    case 'contains':
      return String(stored).includes(String(value));
    case 'starts_with':
      return String(stored).startsWith(String(value));
    case 'ends_with':
      return String(stored).endsWith(String(value));
    case 'gt':
      return Number(stored) > Number(value);
    case 'gte':
      return Number(stored) >= Number(value);
    case 'lt':
      return Number(stored) < Number(value);
    case 'lte':
      return Number(stored) <= Number(value);
    case 'before':
      return (stored as Date).getTime() < Date.parse(String(value));
    case 'after':
      return (stored as Date).getTime() > Date.parse(String(value));
    case 'within_last': {
      const ago = now.getTime() - (stored as Date).getTime();
      return ago >= 0 && ago <= durationMs(String(value));
    }
    default:
      throw new Error(`no operator ${op}`);
  }
}

function matchesEvent(node: Json, { person }: Device, events: readonly Event[], now: Date): boolean {
  const where = (node['where'] ?? []) as Json[];
  const own = events.filter(
    (event) =>
      event.person === person &&
      event.name === node['event'] &&
      where.every((condition) => matchesCondition(condition, event, now)),
  );
  const within = node['within'] === undefined ? Number.POSITIVE_INFINITY : durationMs(String(node['within']));
  const counted = own.filter(({ at }) => now.getTime() - at.getTime() <= within).length;
  const { op, value } = (node['count'] ?? { op: 'gte', value: 1 }) as { op: string; value: number };
  if (!compare(op, counted, value, now)) return false;
  const last = node['last'] as { op: string; value: unknown } | undefined;
  if (last === undefined) return true;
  const latest = own.length === 0 ? undefined : new Date(Math.max(...own.map(({ at }) => at.getTime())));
  return compare(last.op, latest, last.value, now);
}

function matchesCondition(condition: Json, event: Event, now: Date): boolean {
  const key = String(condition['field']).slice('properties.'.length);
  const op = String(condition['op']);
  const held = Object.hasOwn(event.properties, key) ? event.properties[key] : undefined;
  const value = condition['value'];
  const type = typeof (Array.isArray(value) ? value[0] : value);
  const isComparable = op.endsWith('exists') ? held !== null : typeof held === type;
  return compare(op, isComparable ? held : undefined, value, now);
}

/**
 * Normalizes whole values of `country`, `language` and `device.locale` to their stored form. Other
 * values stay as they are.
 */
function canonical(field: string, op: string, value: unknown): unknown {
  if (!['eq', 'neq', 'in', 'not_in'].includes(op)) return value;
  if (Array.isArray(value)) return value.map((one) => canonical(field, 'eq', one));
  if (field === 'country') return String(value).toUpperCase();
  if (field === 'language' || field === 'device.locale') {
    const [language = '', ...rest] = String(value).split('-');
    return [
      language.toLowerCase(),
      ...rest.map((part) => (part.length === 2 ? part.toUpperCase() : part.toLowerCase())),
    ].join('-');
  }
  return value;
}

function durationMs(text: string): number {
  const unit = { m: 60_000, h: 3_600_000, d: 86_400_000 }[text.at(-1) as 'm' | 'h' | 'd'];
  return Number(text.slice(0, -1)) * unit;
}
