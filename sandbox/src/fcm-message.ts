// The shape of an FCM v1 message, after Google's discovery document: the members, their types, in
// either spelling. Faults are worded as by Google's API front, which reads a message before FCM
// does.

type Kind =
  | 'string'
  | 'bool'
  | 'int'
  | 'number'
  | 'duration'
  | 'timestamp'
  | 'texts'
  | 'any'
  | { readonly values: readonly string[] }
  | { readonly list: Kind }
  | { readonly members: Readonly<Record<string, Kind>> };

const values = (...names: string[]): Kind => ({ values: names });
const members = (kinds: Readonly<Record<string, Kind>>): Kind => ({ members: kinds });
const texts: Kind = { list: 'string' };

const colorMembers = members({ red: 'number', green: 'number', blue: 'number', alpha: 'number' });
const priorities = ['UNSPECIFIED', 'MIN', 'LOW', 'DEFAULT', 'HIGH', 'MAX'].map((name) => `PRIORITY_${name}`);

const androidNotificationMembers = members({
  title: 'string',
  body: 'string',
  icon: 'string',
  color: 'string',
  sound: 'string',
  tag: 'string',
  click_action: 'string',
  body_loc_key: 'string',
  body_loc_args: texts,
  title_loc_key: 'string',
  title_loc_args: texts,
  channel_id: 'string',
  ticker: 'string',
  sticky: 'bool',
  event_time: 'timestamp',
  local_only: 'bool',
  notification_priority: values(...priorities),
  default_sound: 'bool',
  default_vibrate_timings: 'bool',
  default_light_settings: 'bool',
  vibrate_timings: { list: 'duration' },
  visibility: values('VISIBILITY_UNSPECIFIED', 'PRIVATE', 'PUBLIC', 'SECRET'),
  notification_count: 'int',
  light_settings: members({ color: colorMembers, light_on_duration: 'duration', light_off_duration: 'duration' }),
  image: 'string',
  bypass_proxy_notification: 'bool',
  proxy: values('PROXY_UNSPECIFIED', 'ALLOW', 'DENY', 'IF_PRIORITY_LOWERED'),
});

const messageMembers = members({
  name: 'string',
  data: 'texts',
  notification: members({ title: 'string', body: 'string', image: 'string' }),
  android: members({
    collapse_key: 'string',
    priority: values('NORMAL', 'HIGH'),
    ttl: 'duration',
    restricted_package_name: 'string',
    data: 'texts',
    notification: androidNotificationMembers,
    fcm_options: members({ analytics_label: 'string' }),
    direct_boot_ok: 'bool',
    bandwidth_constrained_ok: 'bool',
    restricted_satellite_ok: 'bool',
  }),
  webpush: members({
    headers: 'texts',
    data: 'texts',
    notification: 'any',
    fcm_options: members({ link: 'string', analytics_label: 'string' }),
  }),
  apns: members({
    headers: 'texts',
    payload: 'any',
    fcm_options: members({ analytics_label: 'string', image: 'string' }),
    live_activity_token: 'string',
  }),
  fcm_options: members({ analytics_label: 'string' }),
  token: 'string',
  topic: 'string',
  condition: 'string',
  fid: 'string',
});

const requestMembers = members({ validate_only: 'bool', message: messageMembers });

/** A fault of the message: a sentence, and the member that it is about. */
export interface MessageFault {
  readonly message: string;
  readonly field: string | null;
}

/** The first member that is unknown or has a wrong type, or null. */
export function shapeFault(request: unknown): MessageFault | null {
  return faultOf(request, requestMembers, '');
}

function faultOf(value: unknown, kind: Kind, path: string): MessageFault | null {
  if (value === null) return null;
  if (typeof kind === 'object') {
    if ('values' in kind) {
      // Upper or lower case: Google's own examples and libraries write "high".
      const isNamed = typeof value === 'string' && kind.values.includes(value.toUpperCase());
      const isKnown = isNamed || isIndexOf(value, kind.values);
      return isKnown ? null : invalid(path, 'TYPE_ENUM', value);
    }
    if ('list' in kind) {
      if (!Array.isArray(value)) return faultOf(value, kind.list, `${path}[0]`);
      return first(value.map((each, index) => faultOf(each, kind.list, `${path}[${index}]`)));
    }
    if (!isObject(value)) return invalid(path, 'TYPE_MESSAGE', value);
    return first(
      Object.entries(value).map(([name, each]) => {
        const member = snake(name);
        const inner = Object.hasOwn(kind.members, member) ? kind.members[member] : undefined;
        return inner === undefined ? unknown(name, path) : faultOf(each, inner, join(path, member));
      }),
    );
  }
  switch (kind) {
    case 'any':
      return isObject(value) ? null : invalid(path, 'type.googleapis.com/google.protobuf.Struct', value);
    case 'texts':
      if (!isObject(value)) return invalid(path, 'TYPE_MESSAGE', value);
      return first(
        Object.values(value).map((each, index) =>
          typeof each === 'string'
            ? null
            : isObject(each) || Array.isArray(each)
              ? unknown(Object.keys(each)[0] ?? '', `${path}[${index}].value`)
              : invalid(`${path}[${index}].value`, 'TYPE_STRING', each),
        ),
      );
    case 'string':
      return typeof value === 'string' ? null : invalid(path, 'TYPE_STRING', value);
    case 'bool':
      return typeof value === 'boolean' ? null : invalid(path, 'TYPE_BOOL', value);
    case 'int':
      return Number.isInteger(value) ? null : invalid(path, 'TYPE_INT32', value);
    case 'number':
      return typeof value === 'number' ? null : invalid(path, 'TYPE_FLOAT', value);
    case 'duration':
      return typeof value === 'string' && /^-?\d+(\.\d{1,9})?s$/.test(value)
        ? null
        : invalid(path, 'type.googleapis.com/google.protobuf.Duration', value);
    case 'timestamp':
      return typeof value === 'string' && !Number.isNaN(Date.parse(value))
        ? null
        : invalid(path, 'type.googleapis.com/google.protobuf.Timestamp', value);
  }
}

/** Google also accepts the number of an enumeration's value. */
function isIndexOf(value: unknown, names: readonly string[]): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < names.length;
}

function unknown(name: string, path: string): MessageFault {
  const at = path === '' ? '' : ` at '${path}'`;
  return {
    message: `Invalid JSON payload received. Unknown name "${name}"${at}: Cannot find field.`,
    field: path === '' ? null : path,
  };
}

function invalid(path: string, type: string, value: unknown): MessageFault {
  return { message: `Invalid value at '${path}' (${type}), ${JSON.stringify(value)}`, field: path };
}

function first(faults: readonly (MessageFault | null)[]): MessageFault | null {
  return faults.find((fault) => fault !== null) ?? null;
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * The value with all member names of the message in snake case. Names in maps and free objects stay
 * unchanged.
 */
export function canonical(value: unknown, kind: Kind = requestMembers): unknown {
  if (typeof kind !== 'object' || !('members' in kind) || !isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [snake(name), canonical(each, kind.members[snake(name)] ?? 'any')]),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
