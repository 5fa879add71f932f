// Handles each request on any port: the provider judges it, a fault may change the answer, and the
// log records the result.
import { applyFault } from './apply-fault.ts';
import type { Exchange } from './exchange.ts';
import type { Faults } from './faults.ts';
import type { Provider, PushRequest, Reception } from './provider.ts';
import type { PushLog } from './push-log.ts';
import type { PushServerOptions } from './push-server.ts';

/** Returns the handler of a provider's port. */
export function requestHandler(
  providerOf: () => Provider | undefined,
  faults: Faults,
  log: PushLog,
  isBlind: boolean,
): (request: PushRequest, exchange: Exchange) => void {
  let blindId = 0;
  const handle = (request: PushRequest, exchange: Exchange): void => {
    const provider = providerOf();
    if (provider === undefined) {
      exchange.close(null);
      return;
    }
    blindId += 1;
    const reception = isBlind ? blindReception(provider, request, blindId) : provider.receive(request);
    if (reception.streamsMax !== null) exchange.allowStreams(reception.streamsMax);
    const rule = faults.isEmpty ? undefined : faults.next(reception, request.connectionId);
    if (rule === undefined) {
      exchange.respond(reception.answer);
      log.add(reception, request, reception.answer, null);
      return;
    }
    const { answer, delivers, answered } = applyFault(rule.action, exchange, reception, provider);
    log.add({ ...reception, isDelivered: reception.isDelivered && delivers }, request, answer, rule.id, answered);
  };
  return (request, exchange) => {
    try {
      handle(request, exchange);
    } catch (error) {
      // An unexpected error in one push must not end the sandbox.
      const path = JSON.stringify(request.path.slice(0, 100));
      process.stderr.write(`carillon-sandbox: a request to ${path} failed: ${JSON.stringify(String(error))}\n`);
      exchange.reset('INTERNAL_ERROR');
    }
  };
}

/** A shortcut for benchmarks: a browser's push is answered from its address alone. */
export function blindWire(faults: Faults, log: PushLog): Pick<PushServerOptions, 'answerBlindly'> {
  let id = 0;
  return {
    answerBlindly: (authority, path, topic) => {
      if (!faults.isEmpty) return null;
      id += 1;
      log.count(null, 201, false);
      log.remember([path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('=')) + 1), Date.now(), 201, topic]);
      return { location: `https://${authority}/message/${id}` };
    },
  };
}

/** The record of a request that was accepted blindly. */
function blindReception(provider: Provider, request: PushRequest, id: number): Reception {
  const target = provider.target(request.authority, request.path, request.body);
  return {
    ...target,
    endpoint: null,
    checks: [],
    vapid: null,
    providerToken: null,
    payload: null,
    notification: null,
    answer: provider.acceptBlindly(target, request, id),
    isDelivered: false,
    streamsMax: null,
  };
}
