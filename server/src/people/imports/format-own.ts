// Our own files of devices and users, which `carillon export` writes and anybody can write
// (docs/import.md). A CSV names its columns in the first line. NDJSON has in each line the same
// object as a request to the API. Pure.
import { readTextCell } from '../../ground/values/csv.ts';
import { instantForm, parseInstant } from '../../ground/values/instant.ts';
import { isRecord } from '../../ground/values/is-record.ts';
import { keyPattern, propertyTypes } from '../properties/property.ts';
import type { Cell } from './cells.ts';
import { emptyRow, type Fields, type Format, type GivenRow, present, Refused, textOf } from './given-row.ts';

const deviceFields = [
  'platform',
  'token',
  'locale',
  'timezone',
  'app_version',
  'sdk',
  'os',
  'os_version',
  'model',
  'environment',
];
const userFields = ['first_name', 'country', 'language', 'timezone'];
const keyColumns = ['endpoint', 'p256dh', 'auth', 'vapid_public_key'];
const instants = ['created_at', 'last_seen_at'];
/** Columns of an export or of a list of rejected lines that an import ignores silently. */
const silent = ['id', 'channel', 'token_hint', 'updated_at', 'line', 'reason', 'devices'];

/** A header that makes the file unusable. */
export class HeaderError extends Error {
  override readonly name = 'HeaderError';
}

export interface OwnCsv extends Format<readonly string[]> {
  /** Columns that an import ignores. */
  readonly ignored: readonly string[];
}

/**
 * Returns undefined when the columns are not ours. Throws `HeaderError` when they are ours and not
 * usable.
 */
export function ownCsv(names: readonly string[]): OwnCsv | undefined {
  const header = names.map(columnName);
  const isDevices = header.includes('platform') && (header.includes('token') || header.includes('endpoint'));
  if (!isDevices && !header.includes('external_id')) return undefined;
  if (!isDevices && (header.includes('platform') || header.includes('token'))) {
    throw new HeaderError('A file of devices has the columns platform and token.');
  }
  const columns = header.map((name) => readColumn(name, isDevices));
  return {
    name: isDevices ? 'Carillon devices' : 'Carillon users',
    ignored: names.filter((_name, i) => columns[i] === null),
    read: (cells) => [isDevices ? readDevice(gather(columns, cells)) : readUser(gather(columns, cells))],
  };
}

/** Columns are recognised in any letter case. The key of a property is taken as written. */
export function columnName(name: string): string {
  const [, prefix, key] = /^((?:user\.)?properties\.)(.*)$/is.exec(name) ?? [];
  return prefix === undefined || key === undefined ? name.toLowerCase() : prefix.toLowerCase() + key;
}

/** The target of a cell; null: the cell is ignored. */
type Column =
  | { readonly to: 'device' | 'user' | 'other'; readonly name: string }
  | { readonly to: 'deviceCells' | 'userCells'; readonly key: string; readonly type: Cell['type'] }
  | null;

function readColumn(name: string, isDevices: boolean): Column {
  const property = /^(user\.)?properties\.(.*)$/s.exec(name);
  if (property) return readPropertyColumn(property[2] ?? '', isDevices && property[1] === undefined);
  if (name === 'external_id') return { to: 'user', name };
  if ([...instants, ...silent, 'status', 'status_reason'].includes(name)) return { to: 'other', name };
  if (!isDevices) return userFields.includes(name) ? { to: 'user', name } : null;
  if (deviceFields.includes(name)) return { to: 'device', name };
  if (keyColumns.includes(name)) return { to: 'other', name };
  const ofUser = name.startsWith('user.') ? name.slice('user.'.length) : '';
  return userFields.includes(ofUser) ? { to: 'user', name: ofUser } : null;
}

function readPropertyColumn(text: string, isDevice: boolean): Column {
  const [key = '', typeName] = text.split(':');
  const type = propertyTypes.find((each) => each === typeName?.toLowerCase()) ?? null;
  if (typeName !== undefined && type === null) {
    throw new HeaderError(`A property is a ${propertyTypes.join(', a ')}: not a '${typeName}', as the header says.`);
  }
  if (!keyPattern.test(key)) {
    throw new HeaderError(
      `'${key}' cannot be the key of a property: 1 to 64 of A-Z a-z 0-9 _ -, beginning with a letter or _.`,
    );
  }
  return { to: isDevice ? 'deviceCells' : 'userCells', key, type };
}

interface Gathered {
  readonly device: Fields;
  readonly user: Fields;
  readonly other: Readonly<Record<string, string>>;
  readonly deviceCells: Cell[];
  readonly userCells: Cell[];
}

// An empty cell neither sets nor clears a value.
function gather(columns: readonly Column[], cells: readonly string[]): Gathered {
  const gathered = { device: {} as Fields, user: {} as Fields, other: {} as Record<string, string> };
  const [deviceCells, userCells]: [Cell[], Cell[]] = [[], []];
  for (const [i, cell] of cells.entries()) {
    const column = columns[i];
    if (!column || cell === '') continue;
    const text = readTextCell(cell);
    if ('name' in column) gathered[column.to][column.name] = text;
    else (column.to === 'deviceCells' ? deviceCells : userCells).push({ key: column.key, text, type: column.type });
  }
  return { ...gathered, deviceCells, userCells };
}

function readDevice({ device, user, other, deviceCells, userCells }: Gathered): GivenRow {
  refuseInactive(other['status']);
  const { endpoint, p256dh, auth } = other;
  const token = endpoint === undefined ? {} : { token: { endpoint, keys: present({ p256dh, auth }) } };
  const names = Object.keys(user);
  if (!names.includes('external_id') && (names.length > 0 || userCells.length > 0)) {
    throw new Refused('It has fields of a user and no external_id.');
  }
  return {
    ...emptyRow,
    ...readInstants(other),
    device: { ...device, ...token },
    user: names.length > 0 ? user : null,
    deviceCells,
    userCells,
    vapidKey: other['vapid_public_key'] ?? null,
  };
}

function readUser({ user, other, userCells }: Gathered): GivenRow {
  return { ...emptyRow, ...readInstants(other), user, userCells };
}

function readInstants(given: Fields): Pick<GivenRow, 'createdAt' | 'lastSeenAt'> {
  const read = (name: string): Date | null => {
    const text = given[name] ?? undefined;
    if (text === undefined) return null;
    const instant = typeof text === 'string' ? parseInstant(text) : undefined;
    if (!instant) throw new Refused(`${name} must be ${instantForm}.`);
    return new Date(instant.ms);
  };
  return { createdAt: read('created_at'), lastSeenAt: read('last_seen_at') };
}

function refuseInactive(status: unknown): void {
  if (status === 'unsubscribed') throw new Refused('This device has opted out.');
  if (status === 'invalid') throw new Refused('This device was retired: its push service knows its token no more.');
}

/** A line that names a platform is a device; any other line is a user. */
export const ownNdjson: Format<unknown> = {
  name: 'Carillon NDJSON',
  read(value) {
    if (!isRecord(value)) throw new Refused('A line must be an object.');
    return ['platform' in value ? deviceOf(value) : userOf(value)];
  },
};

function deviceOf(value: Readonly<Record<string, unknown>>): GivenRow {
  refuseInactive(value['status']);
  const { external_id: externalId, user, vapid_public_key: vapidKey, ...more } = omit(value);
  const instantsGiven = readInstants(value);
  if (user !== undefined && user !== null && (!isRecord(user) || (externalId ?? null) === null)) {
    throw new Refused('user must be an object, with external_id beside it.');
  }
  const named = (externalId ?? null) === null ? null : { ...(isRecord(user) && user), external_id: externalId };
  return {
    ...emptyRow,
    ...instantsGiven,
    device: withoutNames(more, ['status', 'status_reason']),
    user: named,
    vapidKey: textOf(vapidKey) ?? null,
  };
}

function userOf(value: Readonly<Record<string, unknown>>): GivenRow {
  return { ...emptyRow, ...readInstants(value), user: omit(value) };
}

function omit(value: Readonly<Record<string, unknown>>): Fields {
  return withoutNames(value, [...instants, ...silent]);
}

function withoutNames(value: Readonly<Record<string, unknown>>, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}
