// The least role that sees each stored field in an answer of the console (contract 19). A test
// holds this table to the database's schema, and every operation to this table.

import { propertyTypes } from '../../people/properties/property.ts';
import { slotColumn, slotsOfType } from '../../people/properties/slots.ts';
import { type Role, roles } from '../../teams/accounts/roles.ts';

/** `own`: only the person of the row. `never`: secrets, and fields for the service's own use. */
export type Seer = Role | 'own' | 'never';

const seers: readonly Seer[] = [...roles, 'own', 'never'];

const slots = propertyTypes
  .flatMap((type) => Array.from({ length: slotsOfType[type].count }, (_, i) => slotColumn(type, i + 1)))
  .join(' ');

/**
 * Columns by table and role. A viewer gets names, types and numbers; values of people begin at
 * member. A part of a JSON document with another role than its column has its own entry:
 * `filter.value`. Viewers see the `app_id` of every table.
 */
const columns: Readonly<Record<string, Readonly<Partial<Record<Seer, string>>>>> = {
  account_links: {
    admin: 'id email role created_by created_at expires_at',
    never: 'token_hash kind org_id account_id used_at creator_id',
  },
  account_logins: { never: 'id account_id provider subject password_hash created_at updated_at' },
  account_sessions: {
    admin: 'last_used_at',
    own: 'id address user_agent created_at',
    never: 'token_hash account_id org_id is_by_oidc',
  },
  accounts: { admin: 'id email name two_factor_enabled', never: 'created_at updated_at' },
  answer_forms: { viewer: 'form', never: 'credential_id id form_hash' },
  apps: {
    viewer:
      'id name plan default_url attribution_window_hours suspended_at created_at updated_at client_new_names client_purchases identify_bound_required identify_form identify_form_next',
    never: 'org_id next_credential_id identify_secret identify_secret_next deleted_names deleted_at cleared_at',
  },
  attribution_checks: { never: 'checked_at' },
  attribution_progress: { never: 'name settled_at settled_id received_to' },
  attributions: { admin: 'at currency amount window_hours class message_id', never: 'subject_id event_id' },
  audience: {
    member: `device_id created_at last_seen_at active platform country language user_id external_id user_created_at first_name user_timezone locale timezone app_version sdk os os_version model overflow ${slots}`,
    never: 'platform_unit user_block user_bit',
  },
  audit_entries: { admin: 'id at actor_kind actor_id actor_name address action target before after', never: 'org_id' },
  batches: {
    viewer: 'message_id size queued_at sent failed skipped displayed clicked dismissed skip_reason',
    never:
      'id device_ids state due_at expires_at available_at claim_id claims finished_at pushed per_second setbacks fault faults kinds kinds_noted',
  },
  client_names: { never: 'name' },
  hearings: { never: 'id judged_at' },
  credential_minutes: { never: 'credential_id minute refused suspicious' },
  credentials: {
    viewer: 'id channel public state suspect_since last_success_at last_error last_error_at created_at replaced_at',
    never: 'secret',
  },
  credited_totals: { viewer: 'name bucket currency class message_id count amount' },
  deliveries: {
    viewer:
      'device_id done_at displayed_at clicked_at dismissed_at latency_ms channel status error_code attempts provider_status provider_ref action timeline',
    never: 'batch_id user_id credential_id form variant urls',
  },
  delivery_deltas: { viewer: 'bucket channel vendor code step count' },
  delivery_totals: { viewer: 'bucket channel vendor code step count' },
  device_changes: { member: 'device_id at platform status reason', never: 'id credential_id' },
  device_counts: { never: 'counted_at' },
  device_deltas: { viewer: 'bucket platform registered invalid unsubscribed gained' },
  device_tokens: { member: 'platform device_id', never: 'token_hash' },
  device_totals: { viewer: 'bucket platform registered invalid unsubscribed gained' },
  devices: {
    member:
      'id platform token_hint credential_id environment environment_found properties status status_reason registered_at identified_at changed_at',
    never: 'token token_hash mismatches by_client is_reached unresolved_messages unresolved_since',
  },
  drafts: { member: 'id name message changed_by created_at updated_at' },
  early_receipts: { never: 'batch_id device_id mark at action' },
  erasures: { never: 'user_id device_ids forgotten_ids at turn_id turn_until done_name done_day' },
  event_ids: { never: 'key at' },
  event_names: { viewer: 'name count last_at', never: 'counted_at' },
  event_properties: { viewer: 'name key type', member: 'samples', never: 'by_client sample_subjects' },
  event_retention: { never: 'is_only kept_since' },
  events: { viewer: 'name', member: 'id at device_id external_id properties amount currency', never: 'subject_id' },
  field_uses: { never: 'field previews last_preview_at' },
  former_links: { never: 'device_id user_id until' },
  imports: { never: 'fingerprint position progress updated_at' },
  instance: {
    viewer: 'paused_at pause_reason',
    never:
      'id system_identifier receipt_keys created_at ignored_forwarder ignored_forwarder_at receipt_keys_made_at receipt_keys_forgotten stepped_clock stepped_by_ms stepped_at',
  },
  keys: {
    viewer: 'id name',
    admin: 'scope start last4 created_at created_by last_used_at expires_at revoked_at',
    never: 'hash session_id',
  },
  locale_passes: { never: 'due_at' },
  login_failures: { never: 'subject failures since last_at' },
  login_steps: { never: 'id identifier value expires_at created_at updated_at' },
  lookouts: { never: 'id holder held_until watched_since' },
  members: { admin: 'account_id role created_at updated_at', never: 'org_id' },
  message_paces: { never: 'message_id next_at tokens per_second granted asked_at' },
  messages: {
    viewer:
      'id idempotency_key status status_reason name metadata created_by audience audience_unmatched exclude_segment_id content title run_at local_send_at local_time_past per_second created_at started_at finished_at expires_at webpush_accepted webpush_sent webpush_failed webpush_skipped apns_accepted apns_sent apns_failed apns_skipped fcm_accepted fcm_sent fcm_failed fcm_skipped error_counts',
    member: 'audience.external_ids audience.value',
    never: 'fingerprint category charged_month charged_units first_batch_id last_batch_id next_start_at starts',
  },
  open_credits: { viewer: 'name at currency amount class message_id', never: 'event_id subject_id' },
  open_progress: { never: 'window_hours classed_to received_to' },
  operator_tokens: {
    owner: 'id name role start last4 created_by created_at last_used_at revoked_at creator_id',
    never: 'org_id hash',
  },
  organisations: { viewer: 'id name require_two_factor', admin: 'updated_at', never: 'created_at' },
  people: { member: 'external_id user_id created_at' },
  people_changes: { never: 'id ids' },
  properties: {
    viewer: 'key type slot first_seen_at last_seen_at users_count conflicts_count last_conflict_at conflict_days',
    member: 'samples',
    never: 'id move_slot move_phase moved_at moved_by',
  },
  property_catalogs: { never: 'next_property_id counted_at' },
  provider_paces: { never: 'name started_at next_at tokens per_second granted asked_at' },
  rate_limits: { never: 'key_id full_at granted' },
  report_rebuilds: {
    viewer: 'asked_at from_at to_at started_at finished_at failed events purchases',
    never: 'tries',
  },
  request_chunks: { viewer: 'entries', never: 'id refused size' },
  retired_properties: { never: 'id type slot retired_at' },
  rollup_deltas: { viewer: 'name bucket currency count amount last_at' },
  rollups: { viewer: 'name bucket currency count amount last_at' },
  schema_migrations: { never: 'number name checksum applied_at' },
  second_factors: { never: 'id account_id secret backup_codes is_verified last_step' },
  segments: { viewer: 'id name description filter fields created_at updated_at', member: 'filter.value' },
  subject_events: { never: 'name subject_id day count last_at' },
  template_versions: { member: 'template_id version content created_by created_at' },
  templates: { member: 'id name version created_at updated_at' },
  test_users: { member: 'external_ids device_ids updated_at' },
  usage: { owner: 'month used' },
  user_numbers: { never: 'next_number' },
  users: {
    member: 'external_id id first_name country language timezone properties created_at updated_at',
    never: 'number',
  },
  webhook_attempts: {
    viewer: 'id at kind event_id message_id device_id attempt status_code error duration_ms',
    never: 'webhook_id number',
  },
  webhook_events: {
    never: 'webhook_id id kind message_id device_id channel attempts at due_at claim_id error_code details is_replay',
  },
  webhook_replays: { never: 'webhook_id from_at to_at kinds batch_id queued moved_at' },
  webhook_work: { never: 'webhook_id next_at' },
  webhooks: {
    viewer: 'id endpoint events state failures pending_since finish_at is_dual last_test created_at updated_at',
    never: 'in_flight_max is_probing paused_until secret pending_secret disabled_at attempts_recorded',
  },
};

/** The table: `properties.samples` → `member`. */
export const fieldRoles: ReadonlyMap<string, Seer> = new Map(
  Object.entries(columns).flatMap(([table, bySeer]) =>
    seers.flatMap((seer) => (bySeer[seer]?.split(' ') ?? []).map((column) => [`${table}.${column}`, seer] as const)),
  ),
);

/** The least role that sees a field. Throws for a field that no role sees or that has no row. */
export function leastRoleOf(field: string): Role {
  const seer = fieldRoles.get(field);
  if (seer === undefined || seer === 'own' || seer === 'never') throw new Error(`no role sees the field ${field}`);
  return seer;
}
