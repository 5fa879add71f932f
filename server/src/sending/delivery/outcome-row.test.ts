import { describe, expect, it } from 'vitest';
import { createLog } from '../../ground/host/log.ts';
import type { ProviderAnswer } from '../channels/channel.ts';
import type { AnswerForms } from './answer-forms.ts';
import type { ClaimedBatch } from './batch.ts';
import { type Attempt, errorNumber, skipNumber, statusNumber } from './delivery.ts';
import { toOutcomeItem } from './outcome-row.ts';
import type { Target } from './plan-push.ts';
import type { PushResult } from './push-under-way.ts';

const nowMs = Date.parse('2026-11-21T12:00:00Z');
const clock = { nowMs: () => nowMs, date: () => new Date(nowMs) };
const batch = { id: 'b', appId: 'a', messageId: 'm' } as ClaimedBatch;
const person = { externalId: 'u-42' };
const target = {
  deviceId: 'd',
  userId: null,
  storedAtMs: 5,
  credentialId: 3,
  hasMismatches: false,
  isReached: true,
  isStranger: false,
  person,
} as Target;

const provider: ProviderAnswer = {
  name: 'webpush',
  httpStatus: 201,
  headers: { location: 'https://push.example/m/1' },
  body: null,
  truncated: false,
  transportError: null,
};
const attempt: Attempt = {
  at: '2026-11-21T11:59:59.000Z',
  type: 'attempt',
  attempt: 1,
  outcome: 'sent',
  error_code: null,
  latency_ms: 40,
  retry_at: null,
  provider: {
    name: 'webpush',
    http_status: 201,
    headers: provider.headers,
    body: null,
    truncated: false,
    transport_error: null,
  },
};
const retry: Attempt = { ...attempt, outcome: 'retry', error_code: 'provider_unavailable' };
const sent: Extract<PushResult, { kind: 'attempted' }> = {
  kind: 'attempted',
  outcome: { kind: 'sent', providerMessageId: 'https://push.example/m/1', provider, latencyMs: 40 },
  atMs: Date.parse(attempt.at),
  retryAtMs: null,
  credentialId: 3,
  urls: null,
};

const formsThat = (store: AnswerForms['store']): AnswerForms => ({ store, read: async () => undefined });
const depsOf = (forms: AnswerForms) => ({ clock: clock as never, log: createLog('silent', 'test'), forms });
const itemOf = async (
  forms: AnswerForms,
  before: readonly Attempt[],
  result: Exclude<PushResult, { kind: 'deferred' }>,
) => toOutcomeItem(depsOf(forms), batch, target, 'webpush', before, result);

describe('a success', () => {
  it('of a known form is stored as its number and reference', async () => {
    const { row, isNew } = await itemOf(
      formsThat(async () => ({ form: 7, ref: '1' })),
      [],
      sent,
    );
    expect(row).toMatchObject({ status: statusNumber('sent'), form: 7, providerRef: '1', timeline: null });
    expect(row.doneAtMs).toBe(Date.parse(attempt.at) + 40);
    expect(isNew).toBe(true);
  });

  it('like the last one is there at once', () => {
    const item = toOutcomeItem(depsOf(formsThat(() => ({ form: 7, ref: '1' }))), batch, target, 'webpush', [], sent);
    expect(item).toMatchObject({ final: 'sent', row: { form: 7, providerRef: '1' } });
  });

  it('has a verdict only where it says something new of its device', async () => {
    const forms = formsThat(async () => ({ form: 7, ref: '1' }));
    expect((await itemOf(forms, [], sent)).verdict).toBeNull();
    const mismatched = { ...target, hasMismatches: true };
    const item = await toOutcomeItem(depsOf(forms), batch, mismatched, 'webpush', [], sent);
    expect(item.verdict).toMatchObject({ deviceId: 'd', credentialId: 3, errorCode: null });
    const found = { ...sent, outcome: { ...sent.outcome, environmentFound: 'sandbox' } } as typeof sent;
    expect((await itemOf(forms, [], found)).verdict).toMatchObject({
      environmentFound: 'sandbox',
    });
  });

  it('with an answer that has no form is stored whole', async () => {
    const forms = formsThat(() => Promise.reject(Object.assign(new Error('blip'), { code: 'CONNECTION_CLOSED' })));
    const { row, final } = await itemOf(forms, [], sent);
    expect(final).toBe('sent');
    expect(row).toMatchObject({ status: statusNumber('sent'), form: null, providerRef: 'https://push.example/m/1' });
    expect(JSON.parse(row.timeline ?? '')).toEqual([attempt]);
  });

  it('after a retry keeps the attempts before it, known form or not', async () => {
    const { row, isNew } = await itemOf(
      formsThat(async () => ({ form: 7, ref: '1' })),
      [retry],
      sent,
    );
    expect([row.attempts, isNew]).toEqual([2, false]);
    expect(JSON.parse(row.timeline ?? '')).toEqual([retry, { ...attempt, attempt: 2 }]);
  });
});

describe('an end without a request', () => {
  it.each<[string, Exclude<PushResult, { kind: 'deferred' }>, string, number]>([
    ['skipped', { kind: 'skipped', reason: 'canceled' }, 'skipped', skipNumber('canceled')],
    ['failed', { kind: 'failed', code: 'expired', credentialId: 3 }, 'failed', errorNumber('expired')],
  ])('%s keeps what was tried before, and counts no further attempt', async (_what, result, final, errorCode) => {
    const forms = formsThat(() => Promise.reject(new Error('not asked')));
    const item = await itemOf(forms, [retry], result);
    expect(item).toMatchObject({ final, verdict: null, row: { attempts: 1, errorCode, doneAtMs: nowMs } });
    expect(JSON.parse(item.row.timeline ?? '')).toEqual([retry]);
  });
});
