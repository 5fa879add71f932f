// The shape of an entry of the audit log. The type of `before` and `after` keeps whole records out.
// Each operation names the fields that it writes, and never names a field that holds a secret.
import { encodeId, nilUuid, type Uuid } from '../../ground/values/ids.ts';
import type { Actor, ActorKind } from './actor.ts';

/**
 * The actions of the log, as `noun.verb`. People search the log by these words, so a word never
 * changes its meaning.
 */
export const auditActions = [
  'app.create',
  'app.plan',
  'app.window',
  'app.suspend',
  'app.resume',
  'app.events',
  'app.rename',
  'app.default_url',
  'app.delete',
  'access.refuse',
  'token.create',
  'token.revoke',
  'session.begin',
  'session.refuse',
  'oidc.link',
  'two_factor.begin',
  'two_factor.enable',
  'two_factor.disable',
  'two_factor.renew_codes',
  'two_factor.use_code',
  'password.change',
  'password.reset',
  'link.create',
  'organisation.set_up',
  'organisation.edit',
  'member.join',
  'member.role',
  'member.remove',
  'invite.create',
  'invite.withdraw',
  'session.end',
  'key.create',
  'key.rotate',
  'key.revoke',
  'key.session',
  'channel.set',
  'channel.add_former',
  'channel.delete',
  'channel.test',
  'webhook.create',
  'webhook.edit',
  'webhook.enable',
  'webhook.disable',
  'webhook.delete',
  'webhook.rotate',
  'webhook.finish',
  'webhook.replay',
  'webhook.test',
  'identify_secret.rotate',
  'identify_secret.finish',
  'identify_secret.clear',
  'identify_secret.require_device',
  'property.declare',
  'property.change',
  'property.delete',
  'event.delete',
  'device.edit',
  'device.opt_out',
  'device.purge',
  'message.send',
  'message.cancel',
  'draft.create',
  'draft.edit',
  'draft.delete',
  'template.create',
  'template.save',
  'template.delete',
  'test_users.edit',
  'user.edit',
  'user.erase',
  'user.export',
  'segment.create',
  'segment.replace',
  'segment.delete',
  'import.begin',
  'import.end',
  'reports.rebuild',
  'service.pause',
  'service.resume',
  'service.restore',
  'seal.rotate',
  'receipt_key.rotate',
] as const;
export type AuditAction = (typeof auditActions)[number];

/** Fields by name. The values of a list are words, such as a webhook's events. */
export type AuditFields = Readonly<Record<string, string | number | boolean | Date | null | readonly string[]>>;

export interface AuditChange {
  /** Null: the change concerns the whole service. */
  readonly appId: Uuid | null;
  /** Absent: the change concerns an app, or the whole service. */
  readonly orgId?: Uuid | null;
  readonly action: AuditAction;
  /**
   * A public id such as `key_…`, or a name such as a property's key. Never a person's name or
   * external id: an erasure names the deleted `usr_…`.
   */
  readonly target: string | null;
  /** The values of the changed fields before the change. */
  readonly before?: AuditFields;
  /** The values of the changed fields after the change. */
  readonly after?: AuditFields;
}

export interface AuditEntry {
  readonly appId: Uuid;
  readonly id: Uuid;
  readonly at: Date;
  readonly actorKind: ActorKind;
  readonly actorId: string | null;
  readonly actorName: Actor['name'];
  readonly address: string | null;
  readonly action: string;
  readonly target: string | null;
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
}

/** Shapes an entry for an answer, without its id. */
export function presentEntry(entry: AuditEntry) {
  return {
    at: entry.at,
    actor: { kind: entry.actorKind, id: entry.actorId, name: entry.actorName },
    address: entry.address,
    action: entry.action,
    app_id: entry.appId === nilUuid ? null : encodeId('app', entry.appId),
    target: entry.target,
    before: entry.before,
    after: entry.after,
  };
}
