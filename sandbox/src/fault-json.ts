// The documented JSON of fault rules, which `PUT /faults` accepts and `GET /faults` returns.
// Strict: an unknown or misspelt member is an error, because a fault that silently does nothing
// makes a test that proves nothing.
import { apnsReasons } from './apns-answers.ts';
import { type FaultAction, type FaultRule, makeFaultId, type ResetCode, resetCodes } from './faults.ts';
import { fcmErrorNames, oauthErrorNames } from './fcm-answers.ts';
import { Fields, InputError } from './json-input.ts';
import { type SenderName, senderNames } from './senders.ts';
import { vendorNames, vendors } from './vendors/vendors.ts';

const actions = ['status', 'error', 'hang', 'slow', 'reset', 'goaway', 'settings', 'idle', 'close', 'rubbish'] as const;

/** The rules in `{"faults": [...]}`. Throws InputError with the path of the wrong member. */
export function parseFaults(value: unknown): FaultRule[] {
  const fields = new Fields(value, '');
  const rules = fields.list('faults').map((rule, index) => parseFaultRule(rule, `faults[${index}]`));
  fields.end();
  return rules;
}

export function parseFaultRule(value: unknown, path: string): FaultRule {
  const fields = new Fields(value, path);
  const id = fields.optional('id', (name) => fields.text(name)) ?? makeFaultId();
  const match = new Fields(fields.take('match') ?? {}, `${path}.match`);
  const action = parseAction(fields.take('action'), `${path}.action`);
  const vendor = match.optional('vendor', (name) => match.oneOf(name, senderNames));
  const rule: FaultRule = {
    id,
    match: {
      vendor: action.type === 'error' ? vendorOfReason(action.reason, vendor, `${path}.action.reason`) : vendor,
      token: match.optional('token', (name) => match.text(name)),
      tokenPrefix: match.optional('token_prefix', (name) => match.text(name)),
      share: match.optional('share', (name) => match.number(name, 0, 1)),
      connectionShare: match.optional('connection_share', (name) => match.number(name, 0, 1)),
      seed: match.optional('seed', (name) => match.text(name)) ?? '',
    },
    timing: {
      count: match.optional('count', (name) => match.oneOf(name, ['all', 'token', 'connection'] as const)) ?? 'all',
      nth: match.optional('nth', (name) => match.integers(name, 1)),
      every: match.optional('every', (name) => match.integer(name, 1)),
      after: match.optional('after', (name) => match.integer(name, 0)) ?? 0,
      times: match.optional('times', (name) => match.integer(name, 1)),
    },
    action,
  };
  // `GET /faults` adds `hits`, so that its answer can be sent back unchanged.
  fields.take('hits');
  match.end();
  fields.end();
  return rule;
}

/**
 * A rule with an error's name matches one provider alone: the one that it names, else the first
 * that has the error. Apple's two services share some names.
 */
function vendorOfReason(reason: string, vendor: SenderName | null, path: string): SenderName {
  const owners: readonly [SenderName, readonly string[]][] = [
    ['apns', apnsReasons],
    ['fcm_v1', fcmErrorNames],
    ['google_oauth', oauthErrorNames],
    ...vendorNames.map((name): [SenderName, readonly string[]] => [name, Object.keys(vendors[name].named)]),
  ];
  const having = owners.filter(([, reasons]) => reasons.includes(reason)).map(([owner]) => owner);
  const [first] = having;
  if (first === undefined) throw new InputError(path, 'is no error of any push service or of Google’s token endpoint');
  if (vendor !== null && !having.includes(vendor)) {
    throw new InputError(path, `is an error of ${having.join(' and ')}, not of ${vendor}`);
  }
  return vendor ?? first;
}

function parseAction(value: unknown, path: string): FaultAction {
  const fields = new Fields(value, path);
  const type = fields.oneOf('type', [...actions]);
  const flag = (name: string): boolean => fields.optional(name, (each) => fields.flag(each)) ?? false;
  const code = (otherwise: ResetCode): ResetCode =>
    fields.optional('code', (name) => fields.oneOf(name, Object.keys(resetCodes) as ResetCode[])) ?? otherwise;
  const action = ((): FaultAction => {
    switch (type) {
      case 'status':
        return {
          type,
          status: fields.integer('status', 200, 599),
          retryAfter: fields.optional('retry_after', (name) => fields.numberOrText(name)),
          headers: fields.optional('headers', (name) => fields.texts(name)) ?? {},
          body: fields.optional('body', (name) => fields.text(name)),
        };
      case 'error':
        return {
          type,
          reason: fields.text('reason'),
          retryAfter: fields.optional('retry_after', (name) => fields.numberOrText(name)),
        };
      case 'settings':
        return { type, streams: fields.integer('streams', 0, 10_000) };
      case 'idle':
        return { type, idleMs: fields.integer('idle_ms', 1, 600_000) };
      case 'hang':
        return { type, delivers: flag('delivers') };
      case 'slow':
        return {
          type,
          delayMs: fields.integer('delay_ms', 0, 600_000),
          byteMs: fields.optional('byte_ms', (name) => fields.integer(name, 0, 60_000)) ?? 0,
        };
      case 'reset':
        return { type, code: code('INTERNAL_ERROR'), delivers: flag('delivers') };
      case 'goaway':
        return {
          type,
          code: code('NO_ERROR'),
          debug: fields.optional('debug', (name) => fields.text(name)),
          processed: flag('processed'),
        };
      case 'close':
        return { type, afterAnswer: flag('after_answer'), delivers: flag('delivers') };
      case 'rubbish':
        return {
          type,
          kind: fields.oneOf('kind', ['html', 'truncated_json', 'megabyte'] as const),
          status: fields.optional('status', (name) => fields.integer(name, 200, 599)) ?? 502,
        };
    }
  })();
  fields.end();
  if (action.type === 'status' && (action.status === 204 || action.status === 304) && action.body !== null) {
    throw new InputError(`${path}.body`, `a ${action.status} has no body`);
  }
  if (action.type === 'status') checkHeaders(action.headers, `${path}.headers`);
  if ('retryAfter' in action) checkHeaders({ retry_after: String(action.retryAfter ?? '') }, path);
  return action;
}

/** Headers of a single connection, which HTTP/2 does not allow. */
const connectionHeaders = [
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
];

/** Headers that cannot be sent are refused here and not when the first push comes. */
function checkHeaders(headers: Readonly<Record<string, string>>, path: string): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name) || connectionHeaders.includes(name)) {
      throw new InputError(`${path}.${name}`, 'is no header of an answer');
    }
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) throw new InputError(`${path}.${name}`, 'cannot stand in a header');
  }
}

/** The rules in the documented JSON, with the number of times each has acted. */
export function presentFaults(list: readonly { rule: FaultRule; hits: number }[]): unknown[] {
  return list.map(({ rule, hits }) => ({
    id: rule.id,
    match: {
      vendor: rule.match.vendor,
      token: rule.match.token,
      token_prefix: rule.match.tokenPrefix,
      share: rule.match.share,
      connection_share: rule.match.connectionShare,
      seed: rule.match.seed,
      count: rule.timing.count,
      nth: rule.timing.nth,
      every: rule.timing.every,
      after: rule.timing.after,
      times: rule.timing.times,
    },
    action: presentAction(rule.action),
    hits,
  }));
}

function presentAction(action: FaultAction): unknown {
  switch (action.type) {
    case 'status': {
      const { retryAfter, ...rest } = action;
      return { ...rest, retry_after: retryAfter };
    }
    case 'error':
      return { type: action.type, reason: action.reason, retry_after: action.retryAfter };
    case 'idle':
      return { type: action.type, idle_ms: action.idleMs };
    case 'slow':
      return { type: action.type, delay_ms: action.delayMs, byte_ms: action.byteMs };
    case 'close':
      return { type: action.type, after_answer: action.afterAnswer, delivers: action.delivers };
    case 'hang':
    case 'reset':
    case 'settings':
    case 'goaway':
    case 'rubbish':
      return action;
  }
}
