// Works one claimed batch: the devices still without an outcome are loaded, rendered and pushed together; outcomes go to the
// recorder as they come. Ends with the batch done, or handed back with a time, or lost to another process.
import type { Credentials } from '../apps/credentials.ts';
import { channelOfPlatform } from '../channels/channel.ts';
import { type CompiledContent, compileContent } from '../content/compile-content.ts';
import { encodeId, type Uuid } from '../platform/ids.ts';
import { findPropertiesByKeys } from '../properties/queries.ts';
import { type ClaimedBatch, claimsMax } from './batch.ts';
import { type Attempt, statusOfNumber } from './delivery.ts';
import type { Leases } from './leases.ts';
import type { MessageToSend } from './message-ledger.ts';
import { type BatchContext, type PushDeps, type PushResult, pushOne, type Target } from './push-one.ts';
import type { PushSlots } from './push-slots.ts';
import { handBackBatch, listRecorded } from './queries.ts';
import { receiptTokensOf } from './receipt-token.ts';
import { createRecorder, type Recorder, type RecorderDeps } from './record-outcomes.ts';
import { listTargets } from './targets.ts';

export interface RunDeps extends RecorderDeps, PushDeps {
  readonly credentials: Credentials;
  readonly leases: Leases;
  readonly slots: PushSlots;
  readonly compiled: CompiledMessages;
  /** The key that receipt tokens are signed with. */
  readonly receiptKey: Buffer;
  readonly publicUrl: string | null;
}

/** `done`: every delivery is final. `waiting`: handed back. `lost`: another process holds it, or will. */
export type BatchEnd = 'done' | 'waiting' | 'lost';

/** `isStopping` is asked before every push: a stop finishes what is on the wire and hands the rest back. */
export async function runBatch(deps: RunDeps, batch: ClaimedBatch, isStopping: () => boolean): Promise<BatchEnd> {
  const lease = deps.leases.hold(batch.claimId);
  const recorder = createRecorder(deps, batch, lease);
  try {
    const nextAtMs = await pushAll(deps, batch, recorder, () => isStopping() || !lease.isHeld());
    if (!(await recorder.close())) return 'lost';
    if (nextAtMs === undefined) return 'done';
    return (await handBackBatch(deps.sql, batch, new Date(nextAtMs))) ? 'waiting' : 'lost';
  } finally {
    lease.release();
  }
}

/** Returns when the batch must be looked at again, or undefined when every delivery is final. */
async function pushAll(
  deps: RunDeps,
  batch: ClaimedBatch,
  recorder: Recorder,
  isStopping: () => boolean,
): Promise<number | undefined> {
  const before = await loadBefore(deps, batch);
  const pending = batch.deviceIds.filter((deviceId) => before.get(deviceId) !== 'final');
  if (batch.claims > claimsMax) {
    await failAll(deps, batch, recorder, pending, before);
    return undefined;
  }
  const message = await deps.compiled.get(batch.appId, batch.messageId);
  const targets = await listTargets(deps.sql, batch.appId, pending, message.columns);
  const context: BatchContext = {
    batch,
    messageId: encodeId('msg', batch.messageId),
    content: message.content,
    defaultUrl: message.defaultUrl,
    credentials: await deps.credentials.open(batch.appId),
    tokenOf: receiptTokensOf(deps.receiptKey, batch.messageId, batch.id),
    publicUrl: deps.publicUrl,
  };

  let nextAtMs: number | undefined;
  const lookAgainAt = (atMs: number): void => {
    nextAtMs = Math.min(nextAtMs ?? Number.POSITIVE_INFINITY, atMs);
  };
  const settle = async (target: Target, attempts: readonly Attempt[], result: PushResult): Promise<void> => {
    if (result.kind === 'deferred') return lookAgainAt(result.untilMs);
    if (result.kind === 'attempted' && result.attempt.retry_at) lookAgainAt(Date.parse(result.attempt.retry_at));
    await recorder.add(target, channelOfPlatform[target.platform], attempts, result);
  };

  const underWay: Promise<void>[] = [];
  for (const target of targets) {
    if (isStopping()) {
      lookAgainAt(deps.clock.nowMs());
      break;
    }
    const known = before.get(target.deviceId);
    const attempts = known === undefined || known === 'final' ? [] : known;
    const retryAt = attempts.at(-1)?.retry_at;
    if (retryAt && Date.parse(retryAt) > deps.clock.nowMs()) {
      lookAgainAt(Date.parse(retryAt));
      continue;
    }
    const wait = deps.slots.take();
    if (wait) await wait;
    underWay.push(
      pushOne(deps, context, target, attempts)
        .then((result) => settle(target, attempts, result))
        .finally(() => deps.slots.give()),
    );
  }
  await Promise.all(underWay);
  return nextAtMs;
}

// Claimed again and again without an orderly end: the batch itself must be what ends its workers. It is not read any
// further than needed to say so.
async function failAll(
  deps: RunDeps,
  batch: ClaimedBatch,
  recorder: Recorder,
  pending: readonly Uuid[],
  before: Before,
): Promise<void> {
  deps.log.error({ batch_id: batch.id, message_id: batch.messageId, claims: batch.claims }, 'batch given up');
  for (const target of await listTargets(deps.sql, batch.appId, pending, [])) {
    const known = before.get(target.deviceId);
    const attempts = known === undefined || known === 'final' ? [] : known;
    const code = attempts.at(-1)?.error_code ?? 'unknown_error';
    const failed = { kind: 'failed', code, credentialId: null } as const;
    await recorder.add(target, channelOfPlatform[target.platform], attempts, failed);
  }
}

type Before = ReadonlyMap<Uuid, 'final' | readonly Attempt[]>;

async function loadBefore(deps: RunDeps, batch: ClaimedBatch): Promise<Before> {
  const before = new Map<Uuid, 'final' | readonly Attempt[]>();
  for (const row of await listRecorded(deps.sql, batch.id)) {
    before.set(row.deviceId, statusOfNumber(row.status) === 'retrying' ? (row.timeline ?? []) : 'final');
  }
  return before;
}

/** A message parsed once, for all of its batches in this process. */
export interface CompiledMessage {
  readonly content: CompiledContent;
  readonly defaultUrl: string | null;
  /** Which columns of a person its templates read. */
  readonly columns: Awaited<ReturnType<typeof findPropertiesByKeys>>;
}

export interface CompiledMessages {
  get(appId: Uuid, messageId: Uuid): Promise<CompiledMessage>;
}

const compiledMax = 50;
/** The catalog may move a property to another column: a compiled message is not kept for longer. */
const compiledForMs = 10_000;

export function createCompiledMessages({ sql, ledger }: Pick<RunDeps, 'sql' | 'ledger'>): CompiledMessages {
  const kept = new Map<Uuid, { message: Promise<CompiledMessage>; until: number }>();
  const compile = async (appId: Uuid, messageId: Uuid): Promise<CompiledMessage> => {
    const found: MessageToSend | undefined = await ledger.find(sql, appId, messageId);
    if (!found) throw new Error(`message ${messageId} of a batch does not exist`);
    const content = compileContent(found.content);
    const keys = [...content.propertyKeys];
    const columns = keys.length > 0 ? await findPropertiesByKeys(sql, appId, keys) : [];
    return { content, defaultUrl: found.defaultUrl, columns };
  };
  return {
    get(appId, messageId) {
      const known = kept.get(messageId);
      if (known && known.until > performance.now()) return known.message;
      if (kept.size >= compiledMax) kept.clear();
      const message = compile(appId, messageId);
      message.catch(() => kept.delete(messageId));
      kept.set(messageId, { message, until: performance.now() + compiledForMs });
      return message;
    },
  };
}
