// Applies one fault to one request: turns the rule's action into frames, sockets and answers, and
// reports the result. It does not choose the request.
import type { Exchange } from './exchange.ts';
import type { FaultAction } from './faults.ts';
import type { Provider, Reception } from './provider.ts';
import type { Answer } from './vendors/vendor.ts';

export interface Faulted {
  /** The answer that goes or will go to the client; null when none does. */
  readonly answer: Answer | null;
  /** Whether the device still gets the push, if it would have without the fault. */
  readonly delivers: boolean;
  /** Resolves when a slow answer is sent. */
  readonly answered?: Promise<void>;
}

/** `provider` supplies the words of the answer when the script has none. */
export function applyFault(action: FaultAction, exchange: Exchange, reception: Reception, provider: Provider): Faulted {
  switch (action.type) {
    case 'status': {
      const answer = scripted(action, reception, provider);
      exchange.respond(answer);
      return { answer, delivers: action.status < 300 };
    }
    case 'error': {
      const words = provider.refuseWithReason(reception, action.reason) ?? provider.refuseWithStatus(reception, 500);
      const answer = { ...words, headers: { ...words.headers, ...comeBack(action.retryAfter) } };
      exchange.respond(answer);
      return { answer, delivers: false };
    }
    case 'settings':
      exchange.allowStreams(action.streams);
      exchange.respond(reception.answer);
      return { answer: reception.answer, delivers: true };
    case 'idle':
      exchange.closeWhenIdle(action.idleMs, provider.goawayWords.idle);
      exchange.respond(reception.answer);
      return { answer: reception.answer, delivers: true };
    case 'hang':
      return { answer: null, delivers: action.delivers };
    case 'slow':
      return {
        answer: reception.answer,
        delivers: true,
        answered: exchange.respondSlowly(reception.answer, action.delayMs, action.byteMs),
      };
    case 'reset':
      exchange.reset(action.code);
      return { answer: null, delivers: action.delivers };
    case 'goaway': {
      const answer = action.processed ? reception.answer : null;
      exchange.goaway(action.code, action.debug ?? provider.goawayWords.shutdown, answer);
      return { answer, delivers: action.processed };
    }
    case 'close': {
      const answer = action.afterAnswer ? reception.answer : null;
      exchange.close(answer);
      return { answer, delivers: action.afterAnswer || action.delivers };
    }
    case 'rubbish': {
      const answer = rubbish(action.kind, action.status);
      exchange.respond(answer);
      return { answer, delivers: action.status < 300 };
    }
  }
}

function scripted(action: FaultAction & { type: 'status' }, reception: Reception, provider: Provider): Answer {
  const isSuccess = action.status < 300;
  const plain: Answer = { status: action.status, headers: {}, body: '' };
  const words = isSuccess
    ? reception.answer.status < 300
      ? reception.answer
      : plain
    : provider.refuseWithStatus(reception, action.status);
  return {
    status: action.status,
    headers: { ...words.headers, ...comeBack(action.retryAfter), ...action.headers },
    body: action.body ?? words.body,
  };
}

function comeBack(retryAfter: number | string | null): Record<string, string> {
  return retryAfter === null ? {} : { 'retry-after': String(retryAfter) };
}

function rubbish(kind: (FaultAction & { type: 'rubbish' })['kind'], status: number): Answer {
  switch (kind) {
    case 'html':
      return {
        status,
        headers: { 'content-type': 'text/html' },
        body: '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n',
      };
    case 'truncated_json':
      return {
        status,
        headers: { 'content-type': 'application/json' },
        body: '{"code":502,"errno":902,"error":"Bad Gat',
      };
    case 'megabyte':
      return { status, headers: { 'content-type': 'application/json' }, body: `{"reason":"${'A'.repeat(1 << 20)}"}` };
  }
}
