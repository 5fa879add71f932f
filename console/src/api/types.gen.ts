// Written by tools/api-types.ts from the description of the API. Never edited by hand.

export type AccountId = string;

export type AndroidPushCredential = {
  readonly service_account_json: string;
};

export type App = {
  readonly id: AppId;
  readonly name: string;
  readonly plan: string;
  /** The url of a web push whose content has none. */
  readonly default_url: string | null;
  readonly attribution_window_hours: number;
  readonly suspended_at: Instant | null;
  readonly created_at: Instant;
  readonly updated_at: Instant;
  readonly client_events: ClientEvents;
};

export type AppDeletion = {
  readonly name: string;
};

export type AppEdit = {
  /** `updated_at` as it was read; another one is 400 `changed_meanwhile`. */
  readonly updated_at: Instant;
  readonly name?: string | undefined;
  readonly default_url?: string | null | undefined;
  readonly attribution_window_hours?: number | undefined;
  readonly client_events?: {
    readonly new_names?: boolean | undefined;
    readonly purchases?: boolean | undefined;
  } | undefined;
};

export type AppId = string;

export type AppList = {
  readonly data: readonly ListedApp[];
};

export type ApplePushCredential = {
  readonly p8: string;
  readonly key_id: string;
  readonly team_id: string;
  readonly bundle_id: string;
  readonly environment?: "production" | "sandbox" | undefined;
};

export type AuditEntry = {
  readonly id: string;
  readonly at: Instant;
  readonly actor: {
    readonly kind: "person" | "token" | "key" | "cli" | "service";
    readonly id: string | null;
    readonly name: string;
  };
  /** Where the request came from. */
  readonly address: string | null;
  /** As `noun.verb`. */
  readonly action: string;
  readonly app_id: AppId | null;
  readonly target: string | null;
  readonly before: { readonly [key: string]: unknown } | null;
  readonly after: { readonly [key: string]: unknown } | null;
};

export type AuditPage = {
  readonly data: readonly AuditEntry[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type ChannelName = "webpush" | "apns" | "fcm";

export type ChannelTest = {
  readonly device_id: string;
};

export type ChannelTestResult = {
  readonly message_id: MessageId;
  readonly device_id: DeviceId;
  readonly status: string | null;
  readonly error_code: string | null;
  readonly answers: readonly ({
    readonly http_status: number | null;
    readonly transport_error: string | null;
    readonly body: string | null;
    readonly latency_ms: number;
  })[];
};

export type ClientEvents = {
  /** Client keys may track names of events that the app does not have yet. */
  readonly new_names: boolean;
  /** Client keys may track purchases, which reports count. */
  readonly purchases: boolean;
};

export type ConsoleBadRequestError = {
  readonly error: "validation_failed" | "invalid_json" | "body_too_large" | "changed_meanwhile";
  /** For people; may change. */
  readonly message: string;
  readonly issues: readonly Issue[];
  /** Only on `changed_meanwhile`. */
  readonly present?: { readonly [key: string]: unknown } | undefined;
  readonly request_id: RequestId;
};

export type ConsoleForbiddenError = {
  readonly error: "app_suspended" | "role_too_low" | "session_only" | "cross_origin" | "second_factor_required" | "https_required";
  /** For people; may change. */
  readonly message: string;
  readonly request_id: RequestId;
};

export type ConsoleNotFoundError = {
  readonly error: "not_found";
  /** For people; may change. */
  readonly message: string;
  readonly request_id: RequestId;
};

export type ConsoleUnauthorizedError = {
  readonly error: "not_signed_in" | "wrong_credentials";
  /** For people; may change. */
  readonly message: string;
  readonly request_id: RequestId;
};

export type Credential = {
  readonly channel: ChannelName;
  /** False: a former one, for devices that registered with it. */
  readonly current: boolean;
  readonly credential_id: number;
  /** `public_key`, `subject`; `key_id`, `team_id`, `bundle_id`, `environment`; `project_id`, `client_email`. */
  readonly public: { readonly [key: string]: string };
  readonly health: "ok" | "suspect" | "failing";
  readonly suspect_since: Instant | null;
  readonly last_success_at: Instant | null;
  readonly last_error: { readonly [key: string]: unknown } | null;
  readonly last_error_at: Instant | null;
  readonly created_at: Instant;
  readonly replaced_at: Instant | null;
};

export type CredentialList = {
  readonly data: readonly Credential[];
};

export type Credentials = {
  readonly email: string;
  readonly password: string;
};

export type DeletedApp = {
  readonly deleted: true;
  readonly devices: number;
  readonly users: number;
  readonly messages: number;
};

export type DeviceId = string;

export type Done = {
  readonly done: true;
};

export type Entered = {
  /** `second_factor`: send a code now. `sign_in`: it is done, and the second factor asks for a sign-in. */
  readonly next: "signed_in" | "second_factor" | "sign_in";
};

export type EventKind = "message.sent" | "message.failed" | "message.clicked";

export type FirstCode = {
  readonly code: string;
};

export type Identify = {
  /** False: anybody may say whose a device is. Show a warning. */
  readonly enabled: boolean;
  readonly require_bound: boolean;
  /** Two while a rotation is not finished. */
  readonly secrets: number;
};

export type IdentifyEdit = {
  readonly enabled: boolean;
  readonly require_bound?: boolean | undefined;
};

/** ISO-8601 in UTC, to the millisecond. */
export type Instant = string;

export type InternalErrorError = {
  readonly error: "internal_error";
  /** For people; may change. */
  readonly message: string;
  readonly request_id: RequestId;
};

export type Invite = {
  readonly id: InviteId;
  /** Null: whoever has the link names an address. */
  readonly email: string | null;
  readonly role: Role;
  readonly created_by: string;
  readonly created_at: Instant;
  readonly expires_at: Instant;
};

export type InviteId = string;

export type Issue = {
  /** The place in the body; a query parameter by its name, a header by its lower-case name. */
  readonly path: readonly (string | number)[];
  readonly code: IssueCode;
  /** For people; may change. */
  readonly message: string;
  /** Only when a closed list applies. */
  readonly allowed?: readonly unknown[] | undefined;
  /** Only where a limit is named. */
  readonly limit?: number | string | undefined;
};

export type IssueCode = "required" | "invalid_type" | "invalid_value" | "invalid_format" | "too_small" | "too_big" | "too_soon" | "unrecognized_keys" | "exactly_one_required" | "unknown_property" | "operator_not_allowed" | "value_type_mismatch" | "empty_group" | "too_many_nodes" | "too_deep" | "too_many_properties" | "segment_invalid" | "name_taken" | "in_use" | "not_cancelable" | "template_syntax" | "empty_content" | "reserved_key" | "unknown_timezone" | "host_not_allowed" | "idempotency_key_reused" | "invalid_json" | "body_too_large";

export type Join = {
  /** What stands behind `#` in the link. */
  readonly secret: string;
  readonly name: string;
  readonly email?: string | undefined;
  readonly password: string;
};

export type Key = {
  readonly id: KeyId;
  readonly app_id: AppId;
  readonly scope: "server" | "client";
  readonly name: string;
  /** The first 12 characters. */
  readonly start: string;
  readonly last4: string;
  readonly created_at: Instant;
  readonly created_by: string;
  /** Exact to a minute. */
  readonly last_used_at: Instant | null;
  readonly expires_at: Instant | null;
  readonly revoked_at: Instant | null;
};

export type KeyId = string;

export type KeyList = {
  readonly data: readonly Key[];
};

export type KeyRotation = {
  readonly overlap_hours?: number | undefined;
};

export type Link = {
  readonly kind: "setup" | "invite" | "reset";
  readonly organisation: string | null;
  /** Null: the person names one. */
  readonly email: string | null;
  readonly role: Role | null;
  readonly expires_at: Instant | null;
};

export type LinkSecret = {
  /** What stands behind `#` in the link. */
  readonly secret: string;
};

export type ListedApp = {
  readonly id: AppId;
  readonly name: string;
  readonly plan: string;
  /** The url of a web push whose content has none. */
  readonly default_url: string | null;
  readonly attribution_window_hours: number;
  readonly suspended_at: Instant | null;
  readonly created_at: Instant;
  readonly updated_at: Instant;
};

export type MadeApp = {
  readonly id: AppId;
  readonly name: string;
  readonly plan: string;
  /** The url of a web push whose content has none. */
  readonly default_url: string | null;
  readonly attribution_window_hours: number;
  readonly suspended_at: Instant | null;
  readonly created_at: Instant;
  readonly updated_at: Instant;
  readonly client_events: ClientEvents;
  /** Shown this once. */
  readonly server_key: string;
  /** Shown this once. */
  readonly client_key: string;
};

export type MadeIdentify = {
  /** False: anybody may say whose a device is. Show a warning. */
  readonly enabled: boolean;
  readonly require_bound: boolean;
  /** Two while a rotation is not finished. */
  readonly secrets: number;
  /** A new secret, shown this once. */
  readonly secret: string | null;
};

export type MadeInvite = {
  readonly id: InviteId;
  /** Null: whoever has the link names an address. */
  readonly email: string | null;
  readonly role: Role;
  readonly created_by: string;
  readonly created_at: Instant;
  readonly expires_at: Instant;
  readonly link: string;
};

export type MadeKey = {
  readonly id: KeyId;
  readonly app_id: AppId;
  readonly scope: "server" | "client";
  readonly name: string;
  /** The first 12 characters. */
  readonly start: string;
  readonly last4: string;
  readonly created_at: Instant;
  readonly created_by: string;
  /** Exact to a minute. */
  readonly last_used_at: Instant | null;
  readonly expires_at: Instant | null;
  readonly revoked_at: Instant | null;
  /** Shown this once. */
  readonly key: string;
};

export type MadeToken = {
  readonly id: TokenId;
  readonly name: string;
  readonly role: Role;
  /** The first 12 characters. */
  readonly start: string;
  readonly last4: string;
  readonly created_at: Instant;
  readonly created_by: string;
  /** Exact to a minute. */
  readonly last_used_at: Instant | null;
  readonly revoked_at: Instant | null;
  readonly token: string;
};

export type MadeWebhook = {
  readonly id: WebhookId;
  readonly app_id: AppId;
  readonly endpoint: string;
  /** Empty: all. */
  readonly events: readonly EventKind[];
  readonly state: "enabled" | "disabled";
  readonly consecutive_failures: number;
  /** Events that wait to be told. */
  readonly held_events: number;
  /** A new secret is pending; the present one signs. */
  readonly rotation: {
    readonly created_at: Instant;
    readonly finish_at: Instant | null;
    readonly dual: boolean;
  } | null;
  readonly last_test: WebhookTest | null;
  readonly created_at: Instant;
  readonly updated_at: Instant;
  /** Shown this once. */
  readonly secret: string;
};

export type Member = {
  readonly id: AccountId;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly two_factor: boolean;
  readonly joined_at: Instant;
  readonly updated_at: Instant;
  /** The last request of a session that has not ended. */
  readonly last_used_at: Instant | null;
};

export type MessageId = string;

export type NewApp = {
  readonly name: string;
  readonly plan?: string | undefined;
};

export type NewInvite = {
  readonly email?: string | null | undefined;
  readonly role: Role;
};

export type NewKey = {
  readonly scope: "server" | "client";
  readonly name?: string | undefined;
};

export type NewToken = {
  readonly name: string;
  readonly role: Role;
};

export type NewWebhook = {
  readonly endpoint: string;
  readonly events?: readonly EventKind[] | undefined;
};

export type Organisation = {
  readonly id: OrganisationId;
  readonly name: string;
  readonly require_two_factor: boolean;
  readonly updated_at: Instant;
};

export type OrganisationEdit = {
  readonly name?: string | undefined;
  readonly require_two_factor?: boolean | undefined;
  /** `updated_at` as it was read; another one is 400 `changed_meanwhile`. */
  readonly updated_at: Instant;
};

export type OrganisationId = string;

export type OwnPassword = {
  readonly password: string;
};

export type PasswordChange = {
  readonly current: string;
  readonly next: string;
};

export type Pause = {
  readonly paused: boolean;
  readonly since: Instant | null;
  readonly reason: "operator" | "start" | "restore" | "other_server" | null;
};

export type Plan = {
  readonly name: string;
  /** Requests a second of a server key; null: no limit. */
  readonly sk_per_second: number | null;
  readonly ck_per_second: number | null;
  /** Null: no limit. */
  readonly quota: {
    readonly per_month: number;
    readonly unit: "delivery" | "message";
  } | null;
};

export type PlanChange = {
  readonly plan: string;
  /** `updated_at` as it was read; another one is 400 `changed_meanwhile`. */
  readonly updated_at: Instant;
};

export type PlanList = {
  readonly data: readonly Plan[];
};

export type PresentSession = {
  readonly session_id: SessionId;
  readonly account: {
    readonly id: AccountId;
    readonly email: string;
    readonly name: string;
    readonly two_factor: boolean;
  };
  readonly organisation: {
    readonly id: OrganisationId;
    readonly name: string;
    readonly require_two_factor: boolean;
  };
  readonly role: Role;
  /** True: every other route is 403 `second_factor_required`. */
  readonly must_set_up_two_factor: boolean;
};

export type QuotaExceededError = {
  readonly error: "quota_exceeded";
  /** For people; may change. */
  readonly message: string;
  readonly quota: {
    readonly plan: string;
    readonly limit: number;
    readonly used: number;
    readonly requested: number;
    readonly resets_at: Instant;
  };
  readonly upgrade: string;
  readonly request_id: RequestId;
};

export type RateLimitedError = {
  readonly error: "rate_limited";
  /** For people; may change. */
  readonly message: string;
  /** Waiting this long is enough. */
  readonly retry_after_ms: number;
  readonly request_id: RequestId;
};

export type RecoveryCodes = {
  readonly recovery_codes: readonly string[];
};

export type Replay = {
  readonly from: Instant;
  readonly to: Instant;
  readonly events?: readonly EventKind[] | undefined;
};

export type Replayed = {
  readonly queued: number;
  readonly queued_before: number;
  readonly complete: boolean;
};

/** Also in the header x-request-id, and in the log. */
export type RequestId = string;

export type Reset = {
  /** What stands behind `#` in the link. */
  readonly secret: string;
  readonly password: string;
};

export type Role = "viewer" | "member" | "admin" | "owner";

export type RoleChange = {
  readonly role: Role;
  /** `updated_at` as it was read; another one is 400 `changed_meanwhile`. */
  readonly updated_at: Instant;
};

export type RotatedKey = {
  readonly id: KeyId;
  readonly app_id: AppId;
  readonly scope: "server" | "client";
  readonly name: string;
  /** The first 12 characters. */
  readonly start: string;
  readonly last4: string;
  readonly created_at: Instant;
  readonly created_by: string;
  /** Exact to a minute. */
  readonly last_used_at: Instant | null;
  readonly expires_at: Instant | null;
  readonly revoked_at: Instant | null;
  /** Shown this once. */
  readonly key: string;
  readonly replaces: Key;
};

export type RotatedWebhook = {
  readonly id: WebhookId;
  readonly app_id: AppId;
  readonly endpoint: string;
  /** Empty: all. */
  readonly events: readonly EventKind[];
  readonly state: "enabled" | "disabled";
  readonly consecutive_failures: number;
  /** Events that wait to be told. */
  readonly held_events: number;
  /** A new secret is pending; the present one signs. */
  readonly rotation: {
    readonly created_at: Instant;
    readonly finish_at: Instant | null;
    readonly dual: boolean;
  } | null;
  readonly last_test: WebhookTest | null;
  readonly created_at: Instant;
  readonly updated_at: Instant;
  /** Shown this once. */
  readonly secret: string;
};

export type SecondFactor = {
  readonly uri: string;
  readonly recovery_codes: readonly string[];
};

export type SecondFactorCode = {
  readonly email: string;
  readonly code: string;
  readonly is_recovery?: boolean | undefined;
};

export type SessionId = string;

export type SessionKey = {
  readonly key: string;
  readonly expires_at: Instant;
};

export type SessionList = {
  readonly data: readonly ({
    readonly id: SessionId;
    /** The session of this very request. */
    readonly is_present: boolean;
    readonly address: string | null;
    readonly user_agent: string | null;
    readonly created_at: Instant;
    /** Exact to a minute. */
    readonly last_used_at: Instant;
  })[];
};

export type Setup = {
  /** What stands behind `#` in the link. */
  readonly secret: string;
  readonly organisation: string;
  readonly name: string;
  readonly email: string;
  readonly password: string;
};

export type Team = {
  readonly organisation: Organisation;
  readonly members: readonly Member[];
  readonly invites: readonly Invite[];
};

export type Token = {
  readonly id: TokenId;
  readonly name: string;
  readonly role: Role;
  /** The first 12 characters. */
  readonly start: string;
  readonly last4: string;
  readonly created_at: Instant;
  readonly created_by: string;
  /** Exact to a minute. */
  readonly last_used_at: Instant | null;
  readonly revoked_at: Instant | null;
};

export type TokenId = string;

export type TokenList = {
  readonly data: readonly Token[];
};

export type TooManyError = RateLimitedError | QuotaExceededError;

export type UnavailableError = {
  readonly error: "unavailable";
  /** For people; may change. */
  readonly message: string;
  /** The slowest part of a filter whose count took too long. */
  readonly path?: readonly (string | number)[] | undefined;
  readonly request_id: RequestId;
};

export type Usage = {
  readonly plan: string;
  readonly used: number;
  readonly limit: number | null;
  readonly unit: "delivery" | "message";
  readonly resets_at: Instant;
  /** The last 12, newest first. */
  readonly months: readonly {
    readonly month: string;
    readonly used: number;
  }[];
};

export type WebPushCredential = {
  readonly subject?: string | undefined;
  readonly public_key?: string | undefined;
  readonly private_key?: string | undefined;
};

export type Webhook = {
  readonly id: WebhookId;
  readonly app_id: AppId;
  readonly endpoint: string;
  /** Empty: all. */
  readonly events: readonly EventKind[];
  readonly state: "enabled" | "disabled";
  readonly consecutive_failures: number;
  /** Events that wait to be told. */
  readonly held_events: number;
  /** A new secret is pending; the present one signs. */
  readonly rotation: {
    readonly created_at: Instant;
    readonly finish_at: Instant | null;
    readonly dual: boolean;
  } | null;
  readonly last_test: WebhookTest | null;
  readonly created_at: Instant;
  readonly updated_at: Instant;
};

export type WebhookAttempt = {
  readonly at: Instant;
  readonly event: EventKind;
  readonly event_id: WebhookEventId;
  readonly message_id: MessageId;
  readonly device_id: DeviceId;
  readonly attempt: number;
  readonly status_code: number | null;
  readonly error: string | null;
  readonly duration_ms: number;
};

export type WebhookAttemptList = {
  readonly data: readonly WebhookAttempt[];
};

export type WebhookEdit = {
  /** `updated_at` as it was read; another one is 400 `changed_meanwhile`. */
  readonly updated_at: Instant;
  readonly endpoint?: string | undefined;
  readonly events?: readonly EventKind[] | undefined;
};

export type WebhookEventId = string;

export type WebhookId = string;

export type WebhookList = {
  readonly data: readonly Webhook[];
};

export type WebhookRotation = {
  readonly finish_at?: Instant | null | undefined;
  readonly dual?: boolean | undefined;
};

export type WebhookTest = {
  readonly at: Instant;
  readonly status_code: number | null;
  readonly error: string | null;
  readonly duration_ms: number;
};

export type Welcome = {
  /** False: this connection is plain http from another machine, which carries no session. */
  readonly can_sign_in: boolean;
  /** Nobody is an owner yet: open the set-up link. */
  readonly needs_setup: boolean;
  /** False: people sign in by OpenID Connect alone. */
  readonly password: boolean;
  /** The name of the provider of OpenID Connect, if there is one. */
  readonly oidc: string | null;
  /** The page /demo exists. */
  readonly demo: boolean;
};

/** What each endpoint takes and answers, by its `operationId`. */
export interface Operations {
}

/** Where each endpoint is. */
export const operations = {
} as const;
