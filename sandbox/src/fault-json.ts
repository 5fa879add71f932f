// The documented JSON of fault rules, as `PUT /faults` takes it and `GET /faults` gives it back. Strict: an unknown
// or misspelt member is an error, because a fault that silently does nothing makes a test that proves nothing.
import { type FaultAction, type FaultRule, makeFaultId, RESET_CODES, type ResetCode } from './faults.ts';
import { Fields, InputError } from './json-input.ts';
import { VENDOR_NAMES } from './vendors/vendors.ts';

/** The rules in `{"faults": [...]}`. Throws InputError with the path of the member that is wrong. */
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
  const rule: FaultRule = {
    id,
    match: {
      vendor: match.optional('vendor', (name) => match.oneOf(name, VENDOR_NAMES)),
      token: match.optional('token', (name) => match.text(name)),
      tokenPrefix: match.optional('token_prefix', (name) => match.text(name)),
      share: match.optional('share', (name) => match.number(name, 0, 1)),
    },
    timing: {
      count: match.optional('count', (name) => match.oneOf(name, ['all', 'token'] as const)) ?? 'all',
      nth: match.optional('nth', (name) => match.integers(name, 1)),
      every: match.optional('every', (name) => match.integer(name, 1)),
      after: match.optional('after', (name) => match.integer(name, 0)) ?? 0,
      times: match.optional('times', (name) => match.integer(name, 1)),
    },
    action: parseAction(fields.take('action'), `${path}.action`),
  };
  // What `GET /faults` adds may come back as it was.
  fields.take('hits');
  match.end();
  fields.end();
  return rule;
}

function parseAction(value: unknown, path: string): FaultAction {
  const fields = new Fields(value, path);
  const type = fields.oneOf('type', ['status', 'hang', 'slow', 'reset', 'goaway', 'close', 'rubbish'] as const);
  const flag = (name: string): boolean => fields.optional(name, (each) => fields.flag(each)) ?? false;
  const code = (otherwise: ResetCode): ResetCode =>
    fields.optional('code', (name) => fields.oneOf(name, Object.keys(RESET_CODES) as ResetCode[])) ?? otherwise;
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
          debug: fields.optional('debug', (name) => fields.text(name)) ?? '',
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
  return action;
}

/** The rules of that document, with what each has done so far. */
export function presentFaults(list: readonly { rule: FaultRule; hits: number }[]): unknown[] {
  return list.map(({ rule, hits }) => ({
    id: rule.id,
    match: {
      vendor: rule.match.vendor,
      token: rule.match.token,
      token_prefix: rule.match.tokenPrefix,
      share: rule.match.share,
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
    case 'slow':
      return { type: action.type, delay_ms: action.delayMs, byte_ms: action.byteMs };
    case 'close':
      return { type: action.type, after_answer: action.afterAnswer, delivers: action.delivers };
    case 'hang':
    case 'reset':
    case 'goaway':
    case 'rubbish':
      return action;
  }
}
