// What a process needs to work batches, put together for one command: the channels behind the operator's outbound rules, and
// everything that records an outcome.
import { createCredentials } from '../apps/credentials.ts';
import { createWebPush, transportSettings } from '../channels/webpush/send.ts';
import { createAnswerForms } from '../delivery/answer-forms.ts';
import { createLanes } from '../delivery/lanes.ts';
import { createLeases } from '../delivery/leases.ts';
import type { MessageLedger } from '../delivery/message-ledger.ts';
import { createPushSlots } from '../delivery/push-slots.ts';
import { createCompiledMessages, type RunDeps } from '../delivery/run-batch.ts';
import { createSenders } from '../delivery/senders.ts';
import { advanceMessage, findMessageToSend } from '../messages/queries.ts';
import { createAddressGuard } from '../platform/address-guard.ts';
import { nodeEngine } from '../platform/http2/node-session.ts';
import { loadInstance } from '../platform/instance.ts';
import { createLog } from '../platform/log.ts';
import { createOutboundHttp } from '../platform/outbound-http.ts';
import { createOutboundSockets } from '../platform/outbound-socket.ts';
import { createOutboundTransport } from '../platform/outbound-transport.ts';
import type { CommandContext } from './context.ts';
import { endpointRulesOf } from './endpoint-rules.ts';

export interface Sending {
  readonly run: RunDeps;
  close(): Promise<void>;
}

export async function createSending({ config, sql, clock, loadSeal }: CommandContext): Promise<Sending> {
  const seal = await loadSeal();
  const { receiptKeys } = await loadInstance(sql, seal);
  const [receiptKey] = receiptKeys;
  if (!receiptKey) throw new Error('the instance has no receipt key');
  const log = createLog(config.logLevel, 'command');
  const rules = endpointRulesOf(config);
  const sockets = createOutboundSockets(createAddressGuard({ exceptions: rules.exceptions }));
  const http1 = createOutboundHttp(sockets);
  const transport = createOutboundTransport({ sockets, http1, engine: nodeEngine, ...transportSettings });
  const senders = createSenders(createWebPush({ transport, rules, clock }));
  const ledger: MessageLedger = {
    find: findMessageToSend,
    advance: (tx, appId, messageId, counts) => advanceMessage(tx, clock, appId, messageId, counts),
  };
  const leases = createLeases({ sql, clock, log });
  return {
    run: {
      sql,
      clock,
      log,
      forms: createAnswerForms({ sql }),
      ledger,
      senders,
      lanes: createLanes(() => clock.nowMs()),
      random: Math.random,
      credentials: createCredentials({ sql, seal }),
      leases,
      slots: createPushSlots(1),
      compiled: createCompiledMessages({ sql, ledger }),
      receiptKey,
      publicUrl: config.publicUrl,
    },
    async close() {
      leases.stop();
      await senders.webpush?.close();
    },
  };
}
