// The operations of an operator on webhooks: create, enable, disable, delete, rotate the secret,
// test. The operation that makes a secret shows it once. The audit log records every change by
// hand; changes caused by an endpoint's answers show only in the webhook's state.

import { type Sql, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { invalid, noSuch } from '../../ground/http/api-error.ts';
import type { Seal } from '../../ground/secrets/seal.ts';
import { encodeId, mintUuid, type Uuid } from '../../ground/values/ids.ts';
import type { Issue } from '../../ground/values/issue.ts';
import type { AuditAction, AuditChange } from '../../teams/audit/entry.ts';
import { type Audited, recordAudit } from '../../teams/audit/record-audit.ts';
import { clearOutbox } from './clear-outbox.ts';
import { checkEndpoint, type EndpointUrlRules } from './endpoint-url.ts';
import { testBody } from './event-body.ts';
import { type AttemptError, type PostDeps, postEvent } from './post-event.ts';
import {
  deleteWebhook,
  insertWebhook,
  listFinishedRotations,
  lockWebhook,
  lockWebhooksOf,
  makeEventsDue,
  type StoredWebhook,
  updateHealth,
  updateLastTest,
  updatePendingSecret,
  updateSecret,
  updateWebhook,
} from './queries.ts';
import { openSecrets, sealSecret } from './secrets.ts';
import { isRotationOver, makeSecret, signingSecrets } from './signature.ts';
import { type EventKind, eventKinds, probingHealth, webhooksMax } from './webhook.ts';
import { bringForward } from './work-queries.ts';

export interface ManageDeps extends Audited {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly seal: Seal;
}

export interface NewWebhook {
  readonly id: Uuid;
  /** Shown now and never again. */
  readonly secret: string;
}

/**
 * Creates a webhook. Throws the 400 for an endpoint or a kind that is not accepted, and for too
 * many webhooks.
 */
export async function createWebhook(
  deps: ManageDeps,
  rules: EndpointUrlRules,
  { appId, endpoint, events }: { appId: Uuid; endpoint: string; events: readonly string[] },
): Promise<NewWebhook> {
  const { sql, clock, seal } = deps;
  const address = checkEndpoint(endpoint, rules);
  const kinds = [...new Set(events)].map(checkKind);
  const id = mintUuid(clock.nowMs());
  const secret = makeSecret();
  const sealed = sealSecret(seal, { appId, id }, secret);
  const webhook = { appId, id, endpoint: address, events: kinds, secret: sealed };
  const isMade = await transaction(sql, async (tx) => {
    // A concurrent creation waits here, and then counts this webhook.
    await lockWebhooksOf(tx, appId);
    if (!(await insertWebhook(tx, clock, webhook, webhooksMax))) return false;
    const after = { endpoint: withoutQuery(address), events: kinds };
    await recordAudit({ ...deps, tx }, { ...about(webhook, 'webhook.create'), after });
    return true;
  });
  if (isMade) return { id, secret };
  throw invalid([{ path: [], code: 'too_big', message: `An app has at most ${webhooksMax} webhooks.` }]);
}

/**
 * Changes the endpoint or the events of a webhook. `check` sees the locked webhook first and may
 * throw. Throws the 400 for an endpoint that is not accepted, and the 404 for a deleted webhook.
 */
export async function editWebhook(
  deps: Omit<ManageDeps, 'seal'>,
  rules: EndpointUrlRules,
  { appId, id }: Named,
  edit: { readonly endpoint?: string | undefined; readonly events?: readonly string[] | undefined },
  check: (webhook: StoredWebhook) => void = () => undefined,
): Promise<void> {
  const address = edit.endpoint === undefined ? undefined : checkEndpoint(edit.endpoint, rules);
  const kinds = edit.events && [...new Set(edit.events)].map(checkKind);
  await transaction(deps.sql, async (tx) => {
    const stored = await lockWebhook(tx, appId, id);
    if (!stored) throw noSuch('webhook', encodeId('whk', id));
    check(stored);
    const { endpoint: formerEndpoint, events: formerEvents } = stored;
    const [endpoint, events] = [address ?? formerEndpoint, kinds ?? formerEvents];
    if (endpoint === formerEndpoint && events.join() === formerEvents.join()) return;
    await updateWebhook(tx, deps.clock, { appId, id, endpoint, events });
    const before = { endpoint: withoutQuery(formerEndpoint), events: formerEvents };
    const after = { endpoint: withoutQuery(endpoint), events };
    await recordAudit({ ...deps, tx }, { ...about({ appId, id }, 'webhook.edit'), before, after });
  });
}

export function checkKind(kind: string): EventKind {
  const known = eventKinds.find((each) => each === kind);
  if (known) return known;
  const message = `There is no event '${kind.slice(0, 64)}'; there are ${eventKinds.join(', ')}.`;
  const issue: Issue = { path: ['events'], code: 'invalid_value', message, allowed: eventKinds };
  throw invalid([issue]);
}

type Named = Pick<StoredWebhook, 'appId' | 'id'>;

const about = ({ appId, id }: Named, action: AuditAction): Pick<AuditChange, 'appId' | 'target' | 'action'> => ({
  appId,
  target: encodeId('whk', id),
  action,
});

/**
 * Removes the query, which may contain a receiver's credentials. The audit log must not hold them.
 */
function withoutQuery(endpoint: string): string {
  const url = new URL(endpoint);
  if (url.search !== '') url.search = '?…';
  return url.href;
}

/**
 * Enables a webhook: no failures, one probe, and its held events are due now. An enabled webhook
 * stays as it is.
 */
export async function enableWebhook(deps: ManageDeps, { appId, id }: Named): Promise<void> {
  const { sql, clock } = deps;
  await transaction(sql, async (tx) => {
    const webhook = await lockWebhook(tx, appId, id);
    if (webhook?.state !== 'disabled') return;
    await updateHealth(tx, clock, appId, id, probingHealth, 0);
    await makeEventsDue(tx, clock, appId, id);
    await recordAudit({ ...deps, tx }, about({ appId, id }, 'webhook.enable'));
    await bringForward(tx, clock, [{ appId, id }]);
  });
}

/**
 * Disables a webhook with the same effect as the fifteenth failure: it is not called, and its
 * events are held.
 */
export async function disableWebhook(deps: ManageDeps, { appId, id }: Named): Promise<void> {
  const { sql, clock } = deps;
  await transaction(sql, async (tx) => {
    const webhook = await lockWebhook(tx, appId, id);
    if (webhook?.state !== 'enabled') return;
    await updateHealth(tx, clock, appId, id, { ...webhook, state: 'disabled', isProbing: false }, 0);
    await recordAudit({ ...deps, tx }, about({ appId, id }, 'webhook.disable'));
  });
}

/**
 * Deletes a webhook with its log and its events. From the commit on it is neither called nor told.
 * Its events, maybe millions, are deleted afterwards. After a crash a periodic task deletes the
 * rest (`clearOrphanedOutboxes`).
 */
export async function removeWebhook(deps: Omit<ManageDeps, 'seal'>, { appId, id }: Named): Promise<void> {
  await transaction(deps.sql, async (tx) => {
    const webhook = await lockWebhook(tx, appId, id);
    if (!webhook) return;
    await deleteWebhook(tx, appId, id);
    const before = { endpoint: withoutQuery(webhook.endpoint), events: webhook.events };
    await recordAudit({ ...deps, tx }, { ...about({ appId, id }, 'webhook.delete'), before });
  });
  await clearOutbox(deps.sql, { appId, id });
}

const finishDaysMax = 30;

/**
 * Makes a new secret, which is pending: the present one signs until `finishAt`, or until the
 * rotation is finished by hand. If an earlier rotation is over and its row does not say so yet, its
 * pending secret counts as the present one and stays. Throws the 404 for a deleted webhook.
 */
export async function rotateSecret(
  deps: ManageDeps,
  webhook: Named,
  { finishAt, isDual }: { finishAt: Date | null; isDual: boolean },
): Promise<string> {
  const { sql, clock, seal } = deps;
  const aheadMs = finishAt === null ? 0 : finishAt.getTime() - clock.nowMs();
  if (finishAt !== null && !(aheadMs > 0 && aheadMs <= finishDaysMax * 86_400_000)) {
    const message = `A rotation finishes within ${finishDaysMax} days from now.`;
    throw invalid([{ path: ['finish_at'], code: 'invalid_value', message }]);
  }
  const secret = makeSecret();
  const sealed = sealSecret(seal, webhook, secret);
  const { appId, id } = webhook;
  await transaction(sql, async (tx) => {
    const stored = await lockWebhook(tx, appId, id);
    if (!stored) throw noSuch('webhook', encodeId('whk', id));
    if (hasFinished(stored, clock)) await updateSecret(tx, appId, id, stored.pendingSecret);
    await updatePendingSecret(tx, clock, appId, id, { secret: sealed, finishAt, isDual });
    const after = { finish_at: finishAt, dual: isDual };
    await recordAudit({ ...deps, tx }, { ...about(webhook, 'webhook.rotate'), after });
  });
  return secret;
}

/**
 * Ends a rotation: from now on only the new secret signs, and the old one is erased. False: no
 * rotation was under way.
 */
export async function finishRotation(deps: Omit<ManageDeps, 'seal'>, { appId, id }: Named): Promise<boolean> {
  return transaction(deps.sql, async (tx) => {
    const webhook = await lockWebhook(tx, appId, id);
    if (!webhook?.pendingSecret) return false;
    await updateSecret(tx, appId, id, webhook.pendingSecret);
    await recordAudit({ ...deps, tx }, about({ appId, id }, 'webhook.finish'));
    return true;
  });
}

// Decided by the same rule as signing, at a time read after the row is locked. The time of the
// transaction's start would be too old by the wait for the row.
function hasFinished(webhook: StoredWebhook, clock: Clock): webhook is StoredWebhook & { pendingSecret: string } {
  return webhook.pendingSecret !== null && isRotationOver(webhook, clock.nowMs());
}

/** Erases the old secrets of rotations that are over. They have not signed since then. */
export async function finishDueRotations({ sql, clock }: Pick<ManageDeps, 'sql' | 'clock'>): Promise<void> {
  for (const { appId, id } of await listFinishedRotations(sql, clock)) {
    await transaction(sql, async (tx) => {
      const webhook = await lockWebhook(tx, appId, id);
      // The secret may have been rotated again since the list was read.
      if (webhook && hasFinished(webhook, clock)) await updateSecret(tx, appId, id, webhook.pendingSecret);
    });
  }
}

export interface WebhookTest {
  readonly at: Date;
  readonly status_code: number | null;
  readonly error: AttemptError | null;
  readonly duration_ms: number;
}

/**
 * Sends one signed request through the address guard, whatever the subscription. The result is kept
 * as `last_test`, and counts in neither log nor health.
 */
export async function testWebhook(deps: ManageDeps & PostDeps, webhook: StoredWebhook): Promise<WebhookTest> {
  if (webhook.state === 'disabled') {
    const message = 'A disabled webhook is not called: enable it first.';
    throw invalid([{ path: ['id'], code: 'invalid_value', message }]);
  }
  const at = deps.clock.date();
  const secrets = openSecrets(deps.seal, webhook);
  const result = await postEvent(deps, {
    endpoint: webhook.endpoint,
    pool: webhook.id,
    secretsAt: (nowMs) => signingSecrets(secrets, nowMs),
    event: 'webhook.test',
    body: testBody(at),
    headers: { 'service-id': 'whe_0000000000000000000000', 'service-attempt': '1' },
  });
  const test = { at, status_code: result.statusCode, error: result.error, duration_ms: result.durationMs };
  await transaction(deps.sql, async (tx) => {
    await updateLastTest(tx, webhook.appId, webhook.id, test);
    const after = { status_code: test.status_code, error: test.error };
    await recordAudit({ ...deps, tx }, { ...about(webhook, 'webhook.test'), after });
  });
  return test;
}
