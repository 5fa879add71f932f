// Written by tools/api-types.ts from the description of the API. Never edited by hand.

export type AcceptedMessage = {
  readonly id: MessageId;
  /** How the message was accepted. The message itself has its present status. */
  readonly status: "sent";
  /** True for a repeated Idempotency-Key: nothing was sent again. */
  readonly replayed: boolean;
  readonly report: Report;
  /** Why the message reached fewer devices than it may seem; absent without a reason. */
  readonly warnings?: readonly ({
    readonly code: "channel_not_configured" | "empty_audience" | "large_payload" | "url_dropped" | "none_sent";
    readonly channel?: "webpush" | "apns" | "fcm" | undefined;
    readonly message: string;
  })[] | undefined;
  /** Ids of the audience that name no active device; only when there are any. */
  readonly audience_unmatched?: number | undefined;
};

export type AccountId = string;

/** An exact decimal, without trailing zeros. */
export type Amount = string;

export type AndroidPushCredential = {
  /** `created_at` of the present credential as it was read, null for none. Absent: nothing is compared. */
  readonly updated_at?: Instant | null | undefined;
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
  /** A channel of the app sends to a sandbox, which rings no device. */
  readonly is_test: boolean;
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
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type ApplePushCredential = {
  /** `created_at` of the present credential as it was read, null for none. Absent: nothing is compared. */
  readonly updated_at?: Instant | null | undefined;
  readonly p8: string;
  readonly key_id: string;
  readonly team_id: string;
  readonly bundle_id: string;
  readonly environment?: "production" | "sandbox" | undefined;
};

export type ArrivedEvent = {
  readonly id: string;
  readonly name: string;
  readonly occurred_at: Instant;
  readonly device_id: DeviceId | null;
  /** As the caller wrote it. */
  readonly external_id: string | null;
  readonly properties: { readonly [key: string]: unknown };
};

export type Audience = { readonly all: true; readonly device_ids?: null | undefined; readonly external_ids?: null | undefined; readonly segment_id?: null | undefined; readonly filter?: null | undefined } | { readonly all?: null | undefined; readonly device_ids: readonly string[]; readonly external_ids?: null | undefined; readonly segment_id?: null | undefined; readonly filter?: null | undefined } | { readonly all?: null | undefined; readonly device_ids?: null | undefined; readonly external_ids: readonly string[]; readonly segment_id?: null | undefined; readonly filter?: null | undefined } | { readonly all?: null | undefined; readonly device_ids?: null | undefined; readonly external_ids?: null | undefined; readonly segment_id: string; readonly filter?: null | undefined } | { readonly all?: null | undefined; readonly device_ids?: null | undefined; readonly external_ids?: null | undefined; readonly segment_id?: null | undefined; readonly filter: object };

export type AuditEntry = {
  readonly id: string;
  readonly at: Instant;
  readonly actor: {
    readonly kind: "person" | "token" | "key" | "cli" | "service";
    readonly id: string | null;
    readonly name: string;
  };
  /** The network address that sent the request. */
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

export type BuiltinField = {
  readonly field: string;
  readonly type: "string" | "number" | "boolean" | "datetime";
  readonly operators: readonly Operator[];
};

export type CatalogPage = {
  readonly data: readonly CataloguedProperty[];
  readonly builtins: readonly BuiltinField[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type CataloguedEvent = {
  readonly name: string;
  readonly count: number;
  readonly last_seen_at: Instant;
  /** A key with values of several types has one entry for each. */
  readonly properties: readonly ({
    readonly key: string;
    readonly type: "string" | "number" | "boolean" | "object" | "array" | "null";
    /** Left out for roles below member. */
    readonly samples?: readonly (string | number | boolean)[] | undefined;
  })[];
  /** Events by day in UTC, oldest first; the last day is today. */
  readonly days: readonly {
    readonly day: string;
    readonly count: number;
  }[];
};

export type CataloguedProperty = {
  readonly key: string;
  /** Its name in a filter. */
  readonly field: string;
  readonly type: "string" | "number" | "boolean";
  readonly filterable: true;
  readonly operators: readonly Operator[];
  readonly indexed: boolean;
  readonly users_count: number;
  /** Left out for roles below member. */
  readonly samples?: readonly PropertyValue[] | undefined;
  readonly conflicts_count: number;
  readonly last_conflict_at: Instant | null;
  readonly first_seen_at: Instant | null;
  readonly last_seen_at: Instant | null;
  /** Segments whose filters compare it. */
  readonly segments: readonly SegmentName[];
  /** Days in UTC, of the last 30, on which a value of another type came. */
  readonly conflict_days: readonly {
    readonly day: string;
    readonly count: number;
  }[];
};

export type ChangedMember = {
  readonly id: AccountId;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly two_factor: boolean;
  readonly joined_at: Instant;
  readonly updated_at: Instant;
  /** The last request of a session that has not ended. */
  readonly last_used_at: Instant | null;
  /** The operator tokens that a former owner leaves: offer to revoke them. */
  readonly tokens: readonly Token[];
};

export type ChannelCounts = {
  readonly accepted: number;
  readonly sent: number;
  readonly failed: number;
  readonly skipped: number;
};

export type ChannelDevices = {
  /** Devices that registered for the first time. */
  readonly registered: number;
  /** At the end. */
  readonly active: number;
  /** How often a token was found dead. */
  readonly invalid: number;
  /** How often a device opted out. */
  readonly unsubscribed: number;
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

export type ClassCount = {
  readonly count: number;
  readonly direct: number;
  readonly influenced: number;
  readonly unattributed: number;
};

export type ClassSum = {
  readonly amount: Amount;
  readonly purchases: number;
};

export type ClientEvents = {
  /** Client keys may track names of events that the app does not have yet. */
  readonly new_names: boolean;
  /** Client keys may track purchases, which reports count. */
  readonly purchases: boolean;
};

export type CodeMeaning = {
  /** A few words, as a heading. */
  readonly title: string;
  /** Completes the sentence "The push failed: …". */
  readonly meaning: string;
  /** The next step, as a sentence. */
  readonly action: string;
};

export type Comparison = {
  /** A field of GET /v1/properties. */
  readonly field: string;
  readonly op: "eq" | "neq" | "in" | "not_in" | "contains" | "not_contains" | "starts_with" | "ends_with" | "exists" | "not_exists" | "gt" | "gte" | "lt" | "lte" | "before" | "after" | "within_last";
  readonly value?: string | number | boolean | readonly (string | number | boolean)[] | undefined;
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
  readonly error: "app_suspended" | "role_too_low" | "session_only" | "cross_origin" | "second_factor_required" | "password_off" | "https_required";
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

export type Content = {
  readonly title?: string | null | undefined;
  readonly body?: string | null | undefined;
  readonly url?: string | null | undefined;
  readonly image?: string | null | undefined;
  readonly icon?: string | null | undefined;
  readonly data?: { readonly [key: string]: string | number | boolean } | null | undefined;
  readonly ttl?: number | null | undefined;
  readonly priority?: "high" | "normal" | "low" | null | undefined;
  readonly collapse_key?: string | null | undefined;
  readonly locales?: { readonly [key: string]: {
    readonly title?: string | null | undefined;
    readonly body?: string | null | undefined;
    readonly subtitle?: string | null | undefined;
    readonly url?: string | null | undefined;
    readonly image?: string | null | undefined;
  } | null } | null | undefined;
  readonly webpush?: {
    readonly title?: string | null | undefined;
    readonly body?: string | null | undefined;
    readonly url?: string | null | undefined;
    readonly image?: string | null | undefined;
    readonly icon?: string | null | undefined;
    readonly data?: { readonly [key: string]: string | number | boolean } | null | undefined;
    readonly ttl?: number | null | undefined;
    readonly priority?: "high" | "normal" | "low" | null | undefined;
    readonly collapse_key?: string | null | undefined;
    readonly badge?: string | null | undefined;
    readonly tag?: string | null | undefined;
    readonly renotify?: boolean | null | undefined;
    readonly require_interaction?: boolean | null | undefined;
    readonly silent?: boolean | null | undefined;
    readonly actions?: readonly ({
      readonly action: string;
      readonly title: string;
      readonly url?: string | null | undefined;
      readonly icon?: string | null | undefined;
    })[] | null | undefined;
    readonly dir?: "auto" | "ltr" | "rtl" | null | undefined;
    readonly lang?: string | null | undefined;
    readonly app_badge?: number | null | undefined;
  } | null | undefined;
  readonly apns?: {
    readonly title?: string | null | undefined;
    readonly body?: string | null | undefined;
    readonly url?: string | null | undefined;
    readonly image?: string | null | undefined;
    readonly icon?: string | null | undefined;
    readonly data?: { readonly [key: string]: string | number | boolean } | null | undefined;
    readonly ttl?: number | null | undefined;
    readonly priority?: "high" | "normal" | "low" | null | undefined;
    readonly collapse_key?: string | null | undefined;
    readonly subtitle?: string | null | undefined;
    readonly sound?: string | {
      readonly name: string;
      readonly critical?: boolean | null | undefined;
      readonly volume?: number | null | undefined;
    } | null | undefined;
    readonly badge?: number | null | undefined;
    readonly category?: string | null | undefined;
    readonly thread_id?: string | null | undefined;
    readonly interruption_level?: "passive" | "active" | "time-sensitive" | "critical" | null | undefined;
    readonly relevance_score?: number | null | undefined;
    readonly mutable_content?: boolean | null | undefined;
    readonly content_available?: boolean | null | undefined;
    readonly target_content_id?: string | null | undefined;
  } | null | undefined;
  readonly fcm?: {
    readonly title?: string | null | undefined;
    readonly body?: string | null | undefined;
    readonly url?: string | null | undefined;
    readonly image?: string | null | undefined;
    readonly icon?: string | null | undefined;
    readonly data?: { readonly [key: string]: string | number | boolean } | null | undefined;
    readonly ttl?: number | null | undefined;
    readonly priority?: "high" | "normal" | "low" | null | undefined;
    readonly collapse_key?: string | null | undefined;
    readonly channel_id?: string | null | undefined;
    readonly sound?: string | null | undefined;
    readonly color?: string | null | undefined;
    readonly tag?: string | null | undefined;
    readonly visibility?: "private" | "public" | "secret" | null | undefined;
    readonly notification_count?: number | null | undefined;
    readonly click_action?: string | null | undefined;
    readonly analytics_label?: string | null | undefined;
    readonly direct_boot_ok?: boolean | null | undefined;
  } | null | undefined;
};

export type Credential = {
  readonly channel: ChannelName;
  /** False: a former credential, for devices that registered with it. */
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
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type Credentials = {
  readonly email: string;
  readonly password: string;
};

export type CreditedRevenue = {
  readonly currency: string;
  readonly direct: ClassSum;
  readonly influenced: ClassSum;
};

export type CutText = {
  /** The whole text, as the device gets it. */
  readonly text: string;
  /** The text as the screen cuts it; ends in `…` where it is cut. */
  readonly shown: string;
  /** Characters as people count them. */
  readonly length: number;
  readonly limit: number;
};

export type DayFigures = {
  readonly from: Instant;
  readonly to: Instant;
  readonly accepted: number;
  readonly sent: number;
  readonly failed: number;
  readonly skipped: number;
  readonly displayed: number;
  readonly clicked: number;
};

export type DeletedApp = {
  readonly deleted: true;
  readonly devices: number;
  readonly users: number;
  readonly messages: number;
};

export type DeletedSegment = {
  readonly id: SegmentId;
  readonly deleted: true;
};

export type DeliverabilityReport = {
  readonly from: Instant;
  readonly to: Instant;
  readonly tz?: string | undefined;
  /** Only with `group`, like `groups`. */
  readonly group?: "day" | "week" | "month" | undefined;
  /** The figures of the whole range. */
  readonly services: readonly ServiceFigures[];
  readonly groups?: readonly {
    readonly from: Instant;
    readonly to: Instant;
    readonly services: readonly ServiceFigures[];
  }[] | undefined;
};

export type DeliveryCode = "unregistered" | "invalid_token" | "credential_mismatch" | "auth_failed" | "not_configured" | "payload_too_large" | "invalid_payload" | "rate_limited" | "provider_unavailable" | "timeout" | "expired" | "unknown_error" | "device_inactive" | "empty_content" | "canceled" | "local_time_past";

export type DeliveryHistory = {
  readonly data: readonly DeliveryOfMessage[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type DeliveryOfMessage = {
  readonly device_id: DeviceId;
  /** The user of the device at the time of the push. Left out for roles below member. */
  readonly external_id?: string | null | undefined;
  readonly platform: "web" | "ios" | "android";
  readonly channel: "webpush" | "apns" | "fcm";
  readonly status: "retrying" | "sent" | "failed" | "skipped";
  readonly error_code: DeliveryCode | null;
  /** Provider requests whose outcome is known. */
  readonly attempts: number;
  readonly queued_at: Instant;
  readonly sent_at: Instant | null;
  readonly failed_at: Instant | null;
  readonly displayed_at: Instant | null;
  readonly clicked_at: Instant | null;
  readonly dismissed_at: Instant | null;
  /** The button of the first click. */
  readonly action: string | null;
  readonly provider_message_id: string | null;
  /** In time order. */
  readonly timeline: readonly TimelineEntry[];
  /** The meaning of `error_code`; null without one. */
  readonly explained: CodeMeaning | null;
  readonly message_id: MessageId;
  readonly message_name: string | null;
  /** Not rendered. */
  readonly message_title: string | null;
};

export type DeliveryReport = {
  readonly days: readonly DayFigures[];
};

export type Device = {
  readonly id: DeviceId;
  readonly platform: "web" | "ios" | "android";
  readonly channel: "webpush" | "apns" | "fcm";
  readonly locale: string | null;
  readonly timezone: string | null;
  readonly app_version: string | null;
  readonly sdk: string | null;
  readonly os: string | null;
  readonly os_version: string | null;
  readonly model: string | null;
  readonly environment: "production" | "sandbox" | null;
  readonly created_at: Instant;
  readonly last_seen_at: Instant;
  /** The last characters of the token; null when it was erased. */
  readonly token_hint: string | null;
  readonly status: "active" | "invalid" | "unsubscribed";
  readonly status_reason: InvalidReason | null;
  readonly external_id: string | null;
  /** The properties of the device itself. */
  readonly properties: PropertyValues;
};

export type DeviceEdit = {
  readonly locale?: string | null | undefined;
  readonly timezone?: string | null | undefined;
  readonly environment?: "production" | "sandbox" | null | undefined;
  readonly properties?: { readonly [key: string]: string | number | boolean | null } | null | undefined;
  /** `updated_at` as it was read; another one is 400 `changed_meanwhile`. */
  readonly updated_at: Instant;
};

export type DeviceId = string;

export type DevicePage = {
  readonly data: readonly Device[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type DeviceReport = {
  readonly from: Instant;
  readonly to: Instant;
  readonly tz?: string | undefined;
  /** Only with `group`, like `groups`. */
  readonly group?: "day" | "week" | "month" | undefined;
  /** Without `group`. */
  readonly devices?: {
    readonly webpush: ChannelDevices;
    readonly apns: ChannelDevices;
    readonly fcm: ChannelDevices;
  } | undefined;
  readonly groups?: readonly {
    readonly from: Instant;
    readonly to: Instant;
    readonly devices: {
      readonly webpush: ChannelDevices;
      readonly apns: ChannelDevices;
      readonly fcm: ChannelDevices;
    };
  }[] | undefined;
};

export type DeviceWithHistory = {
  readonly id: DeviceId;
  readonly platform: "web" | "ios" | "android";
  readonly channel: "webpush" | "apns" | "fcm";
  readonly locale: string | null;
  readonly timezone: string | null;
  readonly app_version: string | null;
  readonly sdk: string | null;
  readonly os: string | null;
  readonly os_version: string | null;
  readonly model: string | null;
  readonly environment: "production" | "sandbox" | null;
  readonly created_at: Instant;
  readonly last_seen_at: Instant;
  /** The last characters of the token; null when it was erased. */
  readonly token_hint: string | null;
  readonly status: "active" | "invalid" | "unsubscribed";
  readonly status_reason: InvalidReason | null;
  readonly external_id: string | null;
  /** The properties of the device itself. */
  readonly properties: PropertyValues;
  /** For a browser, the `credential_id` of the key that it subscribed with. Null for a phone: it is reached by the current credential of its channel. */
  readonly credential_id: number | null;
  /** When something that can be edited last changed, by whatever means, or when the device was opted out. */
  readonly updated_at: Instant;
  /** Every change of its status, oldest first. */
  readonly history: readonly ({
    readonly at: Instant;
    readonly status: "active" | "invalid" | "unsubscribed";
    readonly reason: InvalidReason | null;
  })[];
};

export type Done = {
  readonly done: true;
};

export type Draft = {
  readonly id: DraftId;
  readonly name: string;
  /** The title of its content so far. */
  readonly title: string | null;
  readonly changed_by: string;
  readonly created_at: Instant;
  readonly updated_at: Instant;
  readonly message: { readonly [key: string]: unknown };
};

export type DraftId = string;

export type DraftPage = {
  readonly data: readonly ListedDraft[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type DryRun = {
  readonly dry_run: true;
  /** Active devices that a send would reach. */
  readonly count: number;
  readonly users: number;
  /** Only where `users` is an estimate. */
  readonly users_estimated?: true | undefined;
  readonly by_channel: {
    readonly webpush: number;
    readonly apns: number;
    readonly fcm: number;
  };
  /** Null on a plan without one. */
  readonly quota: {
    readonly plan: string;
    readonly limit: number;
    readonly used: number;
    readonly requested: number;
    readonly fits: boolean;
    readonly resets_at: Instant;
  } | null;
  readonly warnings: readonly ({
    readonly code: "channel_not_configured" | "empty_audience" | "large_payload" | "url_dropped" | "rate_too_low" | "quota_exceeded";
    readonly channel?: "webpush" | "apns" | "fcm" | undefined;
    readonly message: string;
    /** With `rate_too_low`: the least `per_second` that is fast enough. */
    readonly limit?: number | undefined;
  })[];
};

export type EditedDevice = {
  readonly id: DeviceId;
  readonly platform: "web" | "ios" | "android";
  readonly channel: "webpush" | "apns" | "fcm";
  readonly locale: string | null;
  readonly timezone: string | null;
  readonly app_version: string | null;
  readonly sdk: string | null;
  readonly os: string | null;
  readonly os_version: string | null;
  readonly model: string | null;
  readonly environment: "production" | "sandbox" | null;
  readonly created_at: Instant;
  readonly last_seen_at: Instant;
  /** The last characters of the token; null when it was erased. */
  readonly token_hint: string | null;
  readonly status: "active" | "invalid" | "unsubscribed";
  readonly status_reason: InvalidReason | null;
  readonly external_id: string | null;
  /** The properties of the device itself. */
  readonly properties: PropertyValues;
  /** For a browser, the `credential_id` of the key that it subscribed with. Null for a phone: it is reached by the current credential of its channel. */
  readonly credential_id: number | null;
  /** When something that can be edited last changed, by whatever means, or when the device was opted out. */
  readonly updated_at: Instant;
  /** Every change of its status, oldest first. */
  readonly history: readonly ({
    readonly at: Instant;
    readonly status: "active" | "invalid" | "unsubscribed";
    readonly reason: InvalidReason | null;
  })[];
  readonly property_conflicts: readonly PropertyConflict[];
};

export type EditedProperty = {
  readonly key: string;
  readonly type: "string" | "number" | "boolean";
  /** Values that are no longer seen. */
  readonly removed: {
    readonly users: number;
    readonly devices: number;
  };
  /** Segments whose filters compare it, checked again from now on. */
  readonly segments: readonly SegmentName[];
};

export type EditedUser = {
  readonly id: UserId;
  readonly external_id: string;
  readonly first_name: string | null;
  readonly country: string | null;
  readonly language: string | null;
  readonly timezone: string | null;
  readonly properties: PropertyValues;
  /** The newest active ones. */
  readonly devices: readonly DeviceId[];
  readonly created_at: Instant;
  readonly updated_at: Instant;
  readonly property_conflicts: readonly PropertyConflict[];
};

export type Entered = {
  /** `second_factor`: send a code now. `sign_in`: it is done, and the second factor asks for a sign-in. */
  readonly next: "signed_in" | "second_factor" | "sign_in";
};

export type ErasedUser = {
  readonly external_id: string;
  readonly deleted: true;
  readonly devices_removed: number;
};

/** Why a delivery failed. Closed in v1. */
export type ErrorCode = "unregistered" | "invalid_token" | "credential_mismatch" | "auth_failed" | "not_configured" | "payload_too_large" | "invalid_payload" | "rate_limited" | "provider_unavailable" | "timeout" | "expired" | "unknown_error";

export type EventCount = {
  readonly count: number;
};

export type EventKind = "message.sent" | "message.failed" | "message.clicked";

export type EventLeaf = {
  readonly event: string;
  readonly count?: {
    readonly op: "gte" | "lte" | "gt" | "lt" | "eq";
    readonly value: number;
  } | null | undefined;
  readonly within?: string | null | undefined;
  readonly last?: {
    readonly op: "before" | "after" | "within_last";
    readonly value: string;
  } | null | undefined;
  readonly where?: readonly Comparison[] | null | undefined;
};

export type EventNamePage = {
  readonly data: readonly CataloguedEvent[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type EventOfUser = {
  readonly id: string;
  readonly name: string;
  readonly occurred_at: Instant;
  readonly device_id: DeviceId | null;
  /** A device sent it before it belonged to the user. */
  readonly before_sign_in: boolean;
  readonly properties: { readonly [key: string]: unknown };
};

export type EventReport = {
  readonly from: Instant;
  readonly to: Instant;
  readonly tz?: string | undefined;
  /** Only with `group`, like `groups`. */
  readonly group?: "day" | "week" | "month" | undefined;
  /** Without `group`: by name. */
  readonly events?: { readonly [key: string]: EventCount } | undefined;
  readonly groups?: readonly {
    readonly from: Instant;
    readonly to: Instant;
    readonly events: { readonly [key: string]: EventCount };
  }[] | undefined;
};

export type ExplainStep = {
  readonly step: "message";
  readonly ok: boolean;
  readonly detail: {
    readonly status: "scheduled" | "sending" | "sent" | "failed" | "canceled";
    readonly status_reason: string | null;
    readonly run_at: Instant | null;
    readonly started_at: Instant | null;
    readonly finished_at: Instant | null;
  };
} | {
  readonly step: "user";
  readonly ok: boolean;
  readonly detail: {
    /** The user of the device now. */
    readonly external_id?: string | null | undefined;
    readonly created_at: Instant | null;
  };
} | {
  readonly step: "devices";
  readonly ok: boolean;
  readonly detail: {
    readonly active?: number | undefined;
    readonly invalid?: number | undefined;
    readonly unsubscribed?: number | undefined;
    readonly status?: "active" | "invalid" | "unsubscribed" | null | undefined;
    readonly status_reason?: InvalidReason | null | undefined;
    readonly device_id?: DeviceId | undefined;
    readonly error_code?: DeliveryCode | undefined;
  };
} | {
  readonly step: "audience";
  readonly ok: boolean;
  readonly detail: {
    readonly path?: readonly (string | number)[] | undefined;
    readonly segment?: {
      readonly id: SegmentId;
      readonly name: string;
    } | undefined;
    readonly field?: string | undefined;
    readonly event?: string | undefined;
    readonly op?: string | undefined;
    readonly value?: unknown | undefined;
    /** The value now; null: none. For events their count. */
    readonly actual?: unknown | undefined;
    /** The latest of the counted events. */
    readonly last_at?: string | undefined;
    /** The leaf is under a NOT, which reverses it. */
    readonly under_not?: true | undefined;
    readonly reason?: "not_listed" | "segment_gone" | "filter_invalid" | "registered_later" | "changed_since" | undefined;
    /** When the delivery was made. The delivery decides. */
    readonly queued_at?: Instant | undefined;
    /** Checked against the present data, which may have changed since. */
    readonly as_of?: "now" | undefined;
  };
} | {
  readonly step: "excluded";
  readonly ok: boolean;
  readonly detail: {
    readonly path?: readonly (string | number)[] | undefined;
    readonly segment?: {
      readonly id: SegmentId;
      readonly name: string;
    } | undefined;
    readonly field?: string | undefined;
    readonly event?: string | undefined;
    readonly op?: string | undefined;
    readonly value?: unknown | undefined;
    /** The value now; null: none. For events their count. */
    readonly actual?: unknown | undefined;
    /** The latest of the counted events. */
    readonly last_at?: string | undefined;
    /** The leaf is under a NOT, which reverses it. */
    readonly under_not?: true | undefined;
    readonly reason?: "not_listed" | "segment_gone" | "filter_invalid" | "registered_later" | "changed_since" | undefined;
    /** When the delivery was made. The delivery decides. */
    readonly queued_at?: Instant | undefined;
    /** Checked against the present data, which may have changed since. */
    readonly as_of?: "now" | undefined;
  };
} | {
  readonly step: "channel";
  readonly ok: boolean;
  readonly detail: {
    readonly channel: "webpush" | "apns" | "fcm";
    readonly credential: "ok" | "suspect" | "failing" | "missing";
  };
} | {
  readonly step: "turn";
  readonly ok: boolean;
  readonly detail: {
    readonly queued_at: Instant;
    readonly reason?: "paused" | "not_due" | "under_way" | "provider" | "setback" | "rate" | "queued" | "local_time_past" | undefined;
    readonly until?: Instant | undefined;
    readonly per_second?: number | undefined;
  };
} | {
  readonly step: "attempts";
  readonly ok: boolean;
  readonly detail: {
    readonly status: "retrying" | "sent" | "failed" | "skipped";
    readonly error_code: DeliveryCode | null;
    readonly meaning: string | null;
    /** The next step for the operator, in words. */
    readonly action: string | null;
    readonly attempts: number;
    readonly http_status: number | null;
    readonly done_at: Instant;
    readonly retry_at: Instant | null;
  };
} | {
  readonly step: "receipt";
  readonly ok: boolean;
  readonly detail: {
    /** `unknown`: the platform reports none by itself. */
    readonly displayed: "yes" | "no" | "unknown";
    readonly displayed_at: Instant | null;
    readonly clicked_at: Instant | null;
    readonly dismissed_at: Instant | null;
    /** The button of the first click. */
    readonly action: string | null;
  };
};

export type ExplainedDelivery = {
  readonly device_id: DeviceId;
  /** The user of the device at the time of the push. Left out for roles below member. */
  readonly external_id?: string | null | undefined;
  readonly platform: "web" | "ios" | "android";
  readonly channel: "webpush" | "apns" | "fcm";
  readonly status: "retrying" | "sent" | "failed" | "skipped";
  readonly error_code: DeliveryCode | null;
  /** Provider requests whose outcome is known. */
  readonly attempts: number;
  readonly queued_at: Instant;
  readonly sent_at: Instant | null;
  readonly failed_at: Instant | null;
  readonly displayed_at: Instant | null;
  readonly clicked_at: Instant | null;
  readonly dismissed_at: Instant | null;
  /** The button of the first click. */
  readonly action: string | null;
  readonly provider_message_id: string | null;
  /** In time order. */
  readonly timeline: readonly TimelineEntry[];
  /** The meaning of `error_code`; null without one. */
  readonly explained: CodeMeaning | null;
};

export type ExplainedDeliveryPage = {
  readonly message_id: MessageId;
  readonly status: MessageStatus;
  readonly report: Report;
  readonly data: readonly ExplainedDelivery[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type ExplainedDevice = {
  readonly device_id: DeviceId;
  readonly platform: "web" | "ios" | "android";
  /** Its status now. */
  readonly status: "active" | "invalid" | "unsubscribed";
  readonly verdict: Verdict;
  readonly error_code: DeliveryCode | null;
  readonly attempts: number;
};

export type ExplainedMessage = {
  readonly message_id: MessageId;
  readonly verdict: Verdict;
  /** In words, for people. May change. */
  readonly summary: string;
  readonly steps: readonly ExplainStep[];
  /** The person's devices, 100 at most, and those that got it. */
  readonly devices: readonly ExplainedDevice[];
};

export type Explanation = {
  readonly message_id: MessageId | null;
  readonly external_id: string | null;
  readonly device_id: DeviceId | null;
  /** For a person: the first verdict, in the order of this list, of one of their devices. */
  readonly verdict: Verdict;
  /** In words, for people. May change. */
  readonly summary: string;
  /** In order, up to the first that is not ok. With `message_id`. */
  readonly steps?: readonly ExplainStep[] | undefined;
  /** Without `message_id`: the newest 20 messages within 30 days. */
  readonly messages?: readonly ExplainedMessage[] | undefined;
  /** The person's devices, 100 at most, and those that got it. */
  readonly devices: readonly ExplainedDevice[];
};

export type FailureCount = {
  /** A few words, as a heading. */
  readonly title: string;
  /** Completes the sentence "The push failed: …". */
  readonly meaning: string;
  /** The next step, as a sentence. */
  readonly action: string;
  readonly code: DeliveryCode;
  readonly count: number;
};

export type Filter = {
  readonly and: readonly Filter[];
} | {
  readonly or: readonly Filter[];
} | {
  readonly not: Filter;
} | Comparison | EventLeaf;

export type FirstClick = {
  readonly seen: boolean;
};

export type FirstCode = {
  readonly code: string;
};

export type Identify = {
  /** False: anybody may link a device to any user. Show a warning. */
  readonly enabled: boolean;
  /** True: only a token that names its device is accepted. */
  readonly require_device: boolean;
  /** Two while a rotation is not finished. */
  readonly secrets: number;
  /** The form of each secret, the former one first. With `require_device` and no `token`, identify is 403. */
  readonly forms: readonly ("token" | "hash")[];
  /** The last edit of the app, which contains these settings. */
  readonly updated_at: Instant;
};

export type IdentifyEdit = {
  readonly enabled: boolean;
  readonly require_device?: boolean | undefined;
  /** `updated_at` as it was read; another one is 400 `changed_meanwhile`. */
  readonly updated_at: Instant;
};

export type IdentifyRotation = {
  readonly form?: "token" | "hash" | undefined;
};

/** ISO-8601 in UTC, to the millisecond. */
export type Instant = string;

export type InternalErrorError = {
  readonly error: "internal_error";
  /** For people; may change. */
  readonly message: string;
  readonly request_id: RequestId;
};

export type InvalidReason = "unregistered" | "invalid_token" | "credential_mismatch" | "replaced";

export type Invite = {
  readonly id: InviteId;
  /** Null: the person who opens the link gives an address. */
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
  /** The part of the link after `#`. */
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
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type KeyRotation = {
  readonly overlap_hours?: number | undefined;
};

export type LastReportRebuild = {
  readonly rebuild: ReportRebuild | null;
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
  /** The part of the link after `#`. */
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
  /** A channel of the app sends to a sandbox, which rings no device. */
  readonly is_test: boolean;
  readonly created_at: Instant;
  readonly updated_at: Instant;
};

export type ListedDraft = {
  readonly id: DraftId;
  readonly name: string;
  /** The title of its content so far. */
  readonly title: string | null;
  readonly changed_by: string;
  readonly created_at: Instant;
  readonly updated_at: Instant;
};

export type ListedMessage = {
  readonly id: MessageId;
  readonly status: MessageStatus;
  readonly status_reason: "quota_exceeded" | "segment_invalid" | "app_suspended" | "expired" | "internal_error" | null;
  readonly name: string | null;
  readonly metadata: { readonly [key: string]: string | number | boolean } | null;
  readonly created_by: {
    readonly type: "key" | "person";
    readonly id: KeyId | null;
    readonly name: string;
  };
  /** Ids of the audience that name no active device. */
  readonly audience_unmatched: number;
  readonly idempotency_key: string | null;
  /** When a scheduled message runs or ran; null for one that was sent at once. */
  readonly run_at: Instant | null;
  readonly created_at: Instant;
  readonly started_at: Instant | null;
  readonly finished_at: Instant | null;
  /** The end of the last send window; null before the run. */
  readonly expires_at: Instant | null;
  readonly report: Report;
  readonly by_channel: {
    readonly webpush: ChannelCounts;
    readonly apns: ChannelCounts;
    readonly fcm: ChannelCounts;
  };
  /** Final failed and skipped deliveries by code. */
  readonly error_counts: { readonly [key: string]: number };
  readonly engagement: {
    readonly displayed: number;
    readonly clicked: number;
    readonly dismissed: number;
  };
  /** Not rendered. */
  readonly title: string | null;
};

export type ListedTemplate = {
  readonly id: TemplateId;
  readonly name: string;
  /** The newest version. */
  readonly version: number;
  readonly title: string | null;
  readonly changed_by: string;
  readonly created_at: Instant;
  readonly updated_at: Instant;
};

export type ListedUser = {
  readonly id: UserId;
  readonly external_id: string;
  readonly first_name: string | null;
  readonly country: string | null;
  readonly language: string | null;
  readonly created_at: Instant;
};

export type LiveEvent = {
  readonly type: "state";
  /** The last ones and those that are being sent, newest first. */
  readonly messages: readonly ListedMessage[];
  /** Newest first, former ones too. */
  readonly channels: readonly Credential[];
  /** Oldest first. */
  readonly webhooks: readonly WebhookState[];
  /** Sends and webhooks of the service wait. */
  readonly paused: boolean;
} | {
  readonly type: "message";
  readonly message: ListedMessage;
} | {
  readonly type: "channel";
  readonly channel: Credential;
} | {
  readonly type: "webhook";
  readonly webhook: WebhookState;
} | {
  readonly type: "webhook_removed";
  readonly id: RemovedWebhookId;
} | {
  readonly type: "pause";
  /** Sends and webhooks of the service wait. */
  readonly paused: boolean;
};

export type MadeApp = {
  readonly id: AppId;
  readonly name: string;
  readonly plan: string;
  /** The url of a web push whose content has none. */
  readonly default_url: string | null;
  readonly attribution_window_hours: number;
  readonly suspended_at: Instant | null;
  /** A channel of the app sends to a sandbox, which rings no device. */
  readonly is_test: boolean;
  readonly created_at: Instant;
  readonly updated_at: Instant;
  readonly client_events: ClientEvents;
  /** Shown this once. */
  readonly server_key: string;
  /** Shown this once. */
  readonly client_key: string;
};

export type MadeIdentify = {
  /** False: anybody may link a device to any user. Show a warning. */
  readonly enabled: boolean;
  /** True: only a token that names its device is accepted. */
  readonly require_device: boolean;
  /** Two while a rotation is not finished. */
  readonly secrets: number;
  /** The form of each secret, the former one first. With `require_device` and no `token`, identify is 403. */
  readonly forms: readonly ("token" | "hash")[];
  /** The last edit of the app, which contains these settings. */
  readonly updated_at: Instant;
  /** A new secret, shown this once. */
  readonly secret: string | null;
};

export type MadeInvite = {
  readonly id: InviteId;
  /** Null: the person who opens the link gives an address. */
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
  /** Its maker is no owner any more: revoke it, unless somebody else needs it. */
  readonly is_orphaned: boolean;
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
  /** Events that wait to be told; counted up to 10,000. */
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

export type MessageAnswer = AcceptedMessage | ScheduledMessage | DryRun;

export type MessageFigures = {
  readonly accepted: number;
  /** Deliveries that the series were counted from. Below `accepted` they are every n-th batch, scaled to the exact totals. */
  readonly read: number;
  readonly outcomes: {
    readonly step: "minute" | "hour" | "day";
    readonly points: readonly {
      readonly at: Instant;
      readonly sent: number;
      readonly failed: number;
    }[];
  };
  /** The marks of the first week. */
  readonly marks: {
    readonly step: "minute" | "hour" | "day";
    readonly points: readonly {
      readonly at: Instant;
      readonly displayed: number;
      readonly clicked: number;
      readonly dismissed: number;
    }[];
  };
  /** After the first week. */
  readonly later_marks: {
    readonly displayed: number;
    readonly clicked: number;
    readonly dismissed: number;
  };
  readonly by_channel: {
    readonly webpush: {
      readonly displayed: number;
      readonly clicked: number;
      readonly dismissed: number;
      readonly sent: number;
      readonly failed: number;
    };
    readonly apns: {
      readonly displayed: number;
      readonly clicked: number;
      readonly dismissed: number;
      readonly sent: number;
      readonly failed: number;
    };
    readonly fcm: {
      readonly displayed: number;
      readonly clicked: number;
      readonly dismissed: number;
      readonly sent: number;
      readonly failed: number;
    };
  };
  /** Credited to it, direct or influenced, whenever they were made. */
  readonly purchases: number;
  readonly revenue: readonly {
    readonly currency: string;
    readonly direct: ClassSum;
    readonly influenced: ClassSum;
  }[];
};

export type MessageId = string;

export type MessagePage = {
  readonly data: readonly ListedMessage[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type MessageRequest = {
  readonly audience: Audience;
  readonly content: Content;
  readonly exclude_segment_id?: string | null | undefined;
  readonly name?: string | null | undefined;
  readonly metadata?: { readonly [key: string]: string | number | boolean } | null | undefined;
  readonly dry_run?: boolean | null | undefined;
  /** Upper bound of provider requests per second for this message, over all workers, retries included. */
  readonly per_second?: number | null | undefined;
  /** 30 seconds to 365 days ahead; without it the message is sent now. */
  readonly send_at?: string | null | undefined;
  /** Only with `send_at`: its date and time of day count in the time zone of each device. */
  readonly local_time?: boolean | null | undefined;
  /** Only with `local_time`: what to do about zones in which that time is past already; `refuse` by default. */
  readonly local_time_past?: "refuse" | "now" | "skip" | null | undefined;
};

export type MessageStatus = "scheduled" | "sending" | "sent" | "failed" | "canceled";

export type MessageWithFailures = {
  readonly id: MessageId;
  readonly status: MessageStatus;
  readonly status_reason: "quota_exceeded" | "segment_invalid" | "app_suspended" | "expired" | "internal_error" | null;
  readonly name: string | null;
  readonly metadata: { readonly [key: string]: string | number | boolean } | null;
  readonly created_by: {
    readonly type: "key" | "person";
    readonly id: KeyId | null;
    readonly name: string;
  };
  readonly audience: ShownAudience;
  /** Ids of the audience that name no active device. */
  readonly audience_unmatched: number;
  readonly content: Content;
  readonly idempotency_key: string | null;
  /** When a scheduled message runs or ran; null for one that was sent at once. */
  readonly run_at: Instant | null;
  readonly created_at: Instant;
  readonly started_at: Instant | null;
  readonly finished_at: Instant | null;
  /** The end of the last send window; null before the run. */
  readonly expires_at: Instant | null;
  readonly report: Report;
  readonly by_channel: {
    readonly webpush: ChannelCounts;
    readonly apns: ChannelCounts;
    readonly fcm: ChannelCounts;
  };
  /** Final failed and skipped deliveries by code. */
  readonly error_counts: { readonly [key: string]: number };
  readonly engagement: {
    readonly displayed: number;
    readonly clicked: number;
    readonly dismissed: number;
  };
  /** The segment that the message leaves out. */
  readonly exclude_segment_id: SegmentId | null;
  /** Pushes a second, at most; null: no bound. */
  readonly per_second: number | null;
  /** The `send_at` that holds on each person's clock, as written. */
  readonly local_send_at: string | null;
  readonly local_time_past: "refuse" | "now" | "skip" | null;
  /** The codes of `error_counts`, the most frequent first. */
  readonly failures: readonly FailureCount[];
};

export type NamedEngagementReport = {
  readonly from: Instant;
  readonly to: Instant;
  readonly tz?: string | undefined;
  /** Only with `group`, like `groups`. */
  readonly group?: "day" | "week" | "month" | undefined;
  readonly groups?: readonly {
    readonly from: Instant;
    readonly to: Instant;
    readonly accepted: number;
    readonly sent: number;
    readonly failed: number;
    readonly skipped: number;
    readonly displayed: number;
    readonly clicked: number;
    readonly dismissed: number;
    /** Credited to it, direct or influenced. */
    readonly purchases: number;
    readonly revenue: readonly CreditedRevenue[];
  }[] | undefined;
  readonly messages: readonly ({
    readonly message_id: MessageId;
    readonly name: string | null;
    readonly started_at: Instant;
    readonly accepted: number;
    readonly sent: number;
    readonly failed: number;
    readonly skipped: number;
    readonly displayed: number;
    readonly clicked: number;
    readonly dismissed: number;
    /** Credited to it, direct or influenced. */
    readonly purchases: number;
    readonly revenue: readonly CreditedRevenue[];
    /** Not rendered. Null, like the name, for a message that is deleted. */
    readonly title: string | null;
  })[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type NamedRevenueReport = {
  readonly from: Instant;
  readonly to: Instant;
  readonly window_hours: number;
  readonly tz?: string | undefined;
  /** Only with `group`, like `groups`. */
  readonly group?: "day" | "week" | "month" | undefined;
  /** Without `group`: by currency. */
  readonly revenue?: readonly RevenueRow[] | undefined;
  /** Without `group`. Left out for a segment over a range whose deliveries are not kept any more. */
  readonly events?: { readonly [key: string]: ClassCount } | undefined;
  readonly groups?: readonly ({
    readonly from: Instant;
    readonly to: Instant;
    /** By currency. */
    readonly revenue: readonly RevenueRow[];
    /** Left out for a segment over a range whose deliveries are not kept any more. */
    readonly events?: { readonly [key: string]: ClassCount } | undefined;
  })[] | undefined;
  readonly messages: readonly ({
    readonly message_id: MessageId;
    readonly currency: string;
    readonly direct: ClassSum;
    readonly influenced: ClassSum;
    readonly name: string | null;
    /** Not rendered. Null, like the name, for a message that is deleted. */
    readonly title: string | null;
  })[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type NewApp = {
  readonly name: string;
};

export type NewDraft = {
  readonly name?: string | undefined;
  /** The fields of a message so far, in the form of POST /v1/messages; they need not be valid yet. */
  readonly message: object;
  /** The message of this writer's save that got no answer. If the draft has this message now, the writer has seen it. */
  readonly unanswered?: object | undefined;
  /** An id that the writer chose at random, so that a request that is sent again makes one draft. */
  readonly id?: DraftId | undefined;
};

export type NewInvite = {
  readonly email?: string | null | undefined;
  readonly role: Role;
};

export type NewKey = {
  readonly scope: "server" | "client";
  readonly name?: string | undefined;
};

export type NewProperty = {
  readonly key: string;
  readonly type: "string" | "number" | "boolean";
};

export type NewTemplate = {
  readonly name: string;
  readonly content: Content;
};

export type NewToken = {
  readonly name: string;
  readonly role: Role;
};

export type NewWebhook = {
  readonly endpoint: string;
  readonly events?: readonly EventKind[] | undefined;
};

export type OidcLink = {
  readonly secret: string;
};

export type OidcStart = {
  readonly url: string;
};

export type Operator = "eq" | "neq" | "in" | "not_in" | "contains" | "not_contains" | "starts_with" | "ends_with" | "exists" | "not_exists" | "gt" | "gte" | "lt" | "lte" | "before" | "after" | "within_last";

export type OptedOutDevice = {
  readonly id: DeviceId;
  readonly status: "unsubscribed";
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

export type Overview = {
  readonly tz: string;
  /** Yesterday is a whole day. The last 7 and 30 days end now. `before` is the same span, just before. */
  readonly spans: readonly ({
    readonly name: "yesterday" | "last_7_days" | "last_30_days";
    readonly now: OverviewFigures;
    readonly before: OverviewFigures;
  })[];
  /** The last 30 days, oldest first; today is not over. */
  readonly days: readonly OverviewFigures[];
};

export type OverviewFigures = {
  readonly from: Instant;
  readonly to: Instant;
  /** Messages that began in the range; so are `sent`, `failed` and `clicked`. */
  readonly accepted: number;
  readonly sent: number;
  readonly failed: number;
  readonly clicked: number;
  /** At the end. */
  readonly active_devices: number;
  readonly revenue: readonly {
    readonly currency: string;
    readonly total: Amount;
    readonly direct: Amount;
    readonly influenced: Amount;
  }[];
};

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
  /** Null without a pause. Scheduled messages are counted up to 1000. */
  readonly waiting: {
    /** Messages of the organisation that would go out now. */
    readonly messages: number;
    /** Messages whose time passed while they waited. */
    readonly expired: number;
  } | null;
};

export type PersonRecord = {
  readonly exported_at: Instant;
  readonly app_id: AppId;
  readonly external_id: string;
  readonly user_id: UserId;
  /** Null: only events have named this person. */
  readonly profile: { readonly [key: string]: unknown } | null;
  /** Each with the history of its states. */
  readonly devices: readonly { readonly [key: string]: unknown }[];
  readonly events: readonly { readonly [key: string]: unknown }[];
  /** Each with its timeline. */
  readonly deliveries: readonly { readonly [key: string]: unknown }[];
  readonly attributions: readonly { readonly [key: string]: unknown }[];
  readonly [key: string]: unknown;
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

export type Preview = {
  /** Active devices that a send would reach now. */
  readonly count: number;
  /** Distinct users among them: exact up to 100,000 devices, else estimated. */
  readonly users: number;
  /** Only where `users` is an estimate. */
  readonly users_estimated?: true | undefined;
  readonly by_channel: {
    readonly webpush: number;
    readonly apns: number;
    readonly fcm: number;
  };
  readonly evaluated_at: Instant;
};

export type PreviewRequest = {
  readonly filter?: object | null | undefined;
  readonly segment_id?: string | null | undefined;
  readonly audience?: Audience | null | undefined;
  readonly exclude_segment_id?: string | null | undefined;
};

/** A value of another type than its key has in the catalog: neither written nor converted. */
export type PropertyConflict = {
  readonly key: string;
  readonly expected: "string" | "number" | "boolean";
  readonly received: "string" | "number" | "boolean";
  readonly value: PropertyValue;
  readonly kept: PropertyValue | null;
};

export type PropertyConsequences = {
  readonly key: string;
  readonly type: "string" | "number" | "boolean";
  readonly values: {
    readonly users: number;
    readonly devices: number;
  };
  readonly segments: readonly SegmentName[];
};

export type PropertyEdit = {
  readonly type: "string" | "number" | "boolean";
};

export type PropertyValue = string | number | boolean;

export type PropertyValues = { readonly [key: string]: PropertyValue };

export type ProviderAnswer = {
  readonly name: "webpush" | "apns" | "fcm";
  readonly http_status: number | null;
  readonly headers: { readonly [key: string]: string };
  /** As received, up to 4,096 bytes. */
  readonly body: string | null;
  readonly truncated: boolean;
  /** Why there is no answer; then http_status is null. */
  readonly transport_error: "timeout" | "dns_error" | "connect_error" | "tls_error" | "reset" | "blocked_address" | null;
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

export type RecentEvent = {
  readonly id: string;
  readonly at: Instant;
  readonly external_id: string | null;
  readonly device_id: DeviceId | null;
  readonly properties: { readonly [key: string]: unknown };
};

export type RecentEventPage = {
  readonly data: readonly RecentEvent[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type RecoveryCodes = {
  readonly recovery_codes: readonly string[];
};

export type RemovedMember = {
  readonly done: true;
  /** The operator tokens that a former owner leaves: offer to revoke them. */
  readonly tokens: readonly Token[];
};

export type RemovedWebhookId = string;

export type RenderRequest = {
  readonly content: Content;
  readonly channel: "webpush" | "apns" | "fcm";
  readonly external_id?: string | null | undefined;
  readonly device_id?: string | null | undefined;
  /** Replaces the language of the person. */
  readonly language?: string | null | undefined;
};

export type RenderedMessage = {
  readonly channel: "webpush" | "apns" | "fcm";
  /** `background` and `badge` show no text on a device; the last three: no push is made. */
  readonly result: "shown" | "background" | "badge" | "empty_content" | "payload_too_large" | "unknown_error";
  /** The language of the delivery. */
  readonly language: string | null;
  /** The entry of `content.locales` that is taken; null: the top level. */
  readonly locale: string | null;
  /** The address that a tap opens. */
  readonly url: string | null;
  readonly payload_bytes: number | null;
  readonly payload_bytes_max: number;
  /** The values that the content reads. Null: this person has none. */
  readonly variables: readonly ({
    readonly name: string;
    readonly value: string | number | boolean | null;
  })[];
  readonly screens: readonly ({
    readonly screen: "iphone_lock_screen" | "android_shade" | "chrome_windows" | "chrome_macos" | "firefox";
    readonly title: CutText | null;
    readonly subtitle: CutText | null;
    readonly body: CutText | null;
    readonly image: string | null;
    readonly actions: readonly CutText[];
  })[];
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

export type Report = {
  /** Deliveries made. */
  readonly accepted: number;
  /** Deliveries that a push service took. */
  readonly sent: number;
  /** Deliveries that ended without the acceptance of a push service; after `timeout` it is unknown whether it took the push. */
  readonly failed: number;
  /** Deliveries that were deliberately not tried. */
  readonly skipped: number;
  /** Only while some delivery is not final. */
  readonly pending?: number | undefined;
};

export type ReportRebuild = {
  readonly status: "waiting" | "running" | "done" | "failed";
  readonly asked_at: Instant;
  /** Null: as far as there are events; as `to`. */
  readonly from: Instant | null;
  readonly to: Instant | null;
  readonly started_at: Instant | null;
  readonly finished_at: Instant | null;
  /** Events that were summed up again. */
  readonly events: number | null;
  /** Settled purchases that were classed again. */
  readonly purchases: number | null;
};

export type ReportRebuildRange = {
  readonly from?: string | null | undefined;
  readonly to?: string | null | undefined;
};

export type RequestEntry = {
  readonly request_id: string;
  readonly at: Instant;
  readonly method: string;
  /** Without a query. A value that is no id of Carillon is replaced by its name. */
  readonly path: string;
  readonly status: number;
  readonly error: string | null;
  /** Path and code of the first issue. */
  readonly issue: string | null;
  readonly key_id: KeyId;
  readonly key_name: string;
  readonly ms: number;
};

/** Also in the header x-request-id, and in the log. */
export type RequestId = string;

export type RequestList = {
  readonly data: readonly RequestEntry[];
  readonly note: string;
};

export type Reset = {
  /** The part of the link after `#`. */
  readonly secret: string;
  readonly password: string;
};

export type RevenueRow = {
  readonly currency: string;
  readonly total: Amount;
  readonly purchases: number;
  readonly direct: ClassSum;
  readonly influenced: ClassSum;
  readonly unattributed: ClassSum;
  /** The part of the total whose windows are open, to the quarter of an hour: its classes may still change. */
  readonly open: ClassSum;
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
  /** Events that wait to be told; counted up to 10,000. */
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

export type SavedDraft = {
  readonly name?: string | undefined;
  /** The fields of a message so far, in the form of POST /v1/messages; they need not be valid yet. */
  readonly message: object;
  /** The message of this writer's save that got no answer. If the draft has this message now, the writer has seen it. */
  readonly unanswered?: object | undefined;
  /** `updated_at` as it was read; another one is 400 `changed_meanwhile`. */
  readonly updated_at: Instant;
};

export type SavedTemplate = {
  readonly name: string;
  readonly content: Content;
  /** `updated_at` as it was read; another one is 400 `changed_meanwhile`. */
  readonly updated_at: Instant;
};

export type ScheduledMessage = {
  readonly id: MessageId;
  /** How the message was accepted, also after it has run. */
  readonly status: "scheduled";
  readonly run_at: Instant;
  /** Only for a repeated Idempotency-Key: nothing was scheduled again. */
  readonly replayed?: true | undefined;
};

export type ScheduledUse = {
  readonly id: MessageId;
  readonly name: string | null;
  readonly title: string | null;
  readonly run_at: Instant;
  /** True: the message leaves the segment out. */
  readonly excludes: boolean;
};

export type SecondFactor = {
  readonly uri: string;
  readonly recovery_codes: readonly string[];
};

export type SecondFactorCode = {
  readonly code: string;
  readonly is_recovery?: boolean | undefined;
};

export type Segment = {
  readonly id: SegmentId;
  readonly name: string;
  readonly description: string | null;
  readonly filter: Filter;
  /** The fields that the filter compares, each once. */
  readonly fields: readonly string[];
  /** False while the catalog lacks a key of it, or has it with another type. */
  readonly valid: boolean;
  readonly invalid_reason: "unknown_property" | "operator_not_allowed" | "value_type_mismatch" | null;
  readonly created_at: Instant;
  readonly updated_at: Instant;
};

export type SegmentEdit = {
  /** `updated_at` as it was read; another one is 400 `changed_meanwhile`. */
  readonly updated_at: Instant;
  readonly name?: string | undefined;
  readonly description?: string | null | undefined;
  /** A node: {and: […]}, {or: […]}, {not: …}, a comparison {field, op, value}, or events {event, count, within, last, where}. */
  readonly filter?: object | undefined;
};

export type SegmentId = string;

export type SegmentName = {
  readonly id: SegmentId;
  readonly name: string;
};

export type SegmentOfUser = {
  readonly id: SegmentId;
  readonly name: string;
  /** Active devices of the user that the segment selects now. */
  readonly devices: number;
};

export type SegmentPage = {
  readonly data: readonly Segment[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type SegmentRequest = {
  readonly name: string;
  readonly description?: string | null | undefined;
  /** A node: {and: […]}, {or: […]}, {not: …}, a comparison {field, op, value}, or events {event, count, within, last, where}. */
  readonly filter: object;
};

export type SegmentUses = {
  /** Scheduled messages, the oldest 100: they keep the segment. */
  readonly messages: readonly ScheduledUse[];
  /** Drafts, for members: they do not keep the segment. */
  readonly drafts: readonly {
    readonly id: DraftId;
    readonly name: string;
    readonly excludes: boolean;
  }[];
};

export type ServiceFigures = {
  readonly channel: "webpush" | "apns" | "fcm";
  /** The vendor of the push service. */
  readonly provider: "google" | "mozilla" | "apple" | "microsoft" | "other";
  readonly sent: number;
  readonly failed: number;
  readonly error_counts: { readonly [key: string]: number };
  /** Milliseconds until the service took half of the pushes, counted in steps of 41 %. */
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
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
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type Setup = {
  /** The part of the link after `#`. */
  readonly secret: string;
  readonly organisation: string;
  readonly name: string;
  readonly email: string;
  readonly password: string;
};

/** As it was sent. Empty where only `external_ids` would stand and the role does not see them. */
export type ShownAudience = {
  readonly all?: true | undefined;
  readonly device_ids?: readonly string[] | undefined;
  /** Left out for roles below member. */
  readonly external_ids?: readonly string[] | undefined;
  readonly segment_id?: string | undefined;
  readonly filter?: Filter | undefined;
};

/** Why a delivery was not tried. */
export type SkipReason = "not_configured" | "device_inactive" | "empty_content" | "canceled" | "local_time_past";

export type SparedDevices = {
  readonly data: readonly {
    readonly device_id: DeviceId;
    readonly message_id: MessageId;
    readonly error_code: DeliveryCode;
    readonly at: Instant;
  }[];
  readonly has_more: boolean;
};

export type TailEvent = {
  readonly type: "recent";
  /** The last one received comes first. */
  readonly events: readonly ArrivedEvent[];
} | {
  readonly type: "arrived";
  /** The last one received comes first. */
  readonly events: readonly ArrivedEvent[];
};

export type Team = {
  readonly organisation: Organisation;
  readonly members: readonly Member[];
  readonly invites: readonly Invite[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type Template = {
  readonly id: TemplateId;
  readonly name: string;
  /** The newest version. */
  readonly version: number;
  readonly title: string | null;
  readonly changed_by: string;
  readonly created_at: Instant;
  readonly updated_at: Instant;
  /** Content as in POST /v1/messages. */
  readonly content: { readonly [key: string]: unknown };
  /** Newest first. */
  readonly versions: readonly {
    readonly version: number;
    readonly created_by: string;
    readonly created_at: Instant;
  }[];
};

export type TemplateId = string;

export type TemplatePage = {
  readonly data: readonly ListedTemplate[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type TemplateVersion = {
  readonly version: number;
  readonly created_by: string;
  readonly created_at: Instant;
  /** Content as in POST /v1/messages. */
  readonly content: { readonly [key: string]: unknown };
};

export type TestSend = {
  readonly content: Content;
};

export type TestSent = {
  readonly message_id: MessageId;
  readonly report: Report;
};

export type TestUserList = {
  readonly users: readonly ({
    readonly external_id: string;
  } | {
    readonly device_id: string;
  })[];
  readonly updated_at: Instant | null;
};

export type TestUsers = {
  readonly users: readonly ({
    readonly external_id: string;
    /** Active devices that a test reaches, ten of a user at most. */
    readonly devices: number;
  } | {
    readonly device_id: string;
    /** Active devices that a test reaches, ten of a user at most. */
    readonly devices: number;
  })[];
  /** Null: nobody has made the list yet. */
  readonly updated_at: Instant | null;
};

export type TimelineEntry = {
  readonly at: Instant;
  readonly type: "queued";
} | {
  readonly at: Instant;
  readonly type: "attempt";
  readonly attempt: number;
  readonly outcome: "sent" | "retry" | "failed";
  readonly error_code: ErrorCode | null;
  readonly latency_ms: number;
  readonly retry_at: Instant | null;
  /** Null when nothing was sent: a check of ours refused the push. */
  readonly provider: ProviderAnswer | null;
} | {
  readonly at: Instant;
  readonly type: "skipped";
  readonly reason: SkipReason;
} | {
  readonly at: Instant;
  readonly type: "expired";
} | {
  readonly at: Instant;
  readonly type: "device_invalidated";
  readonly reason: InvalidReason;
} | {
  readonly at: Instant;
  readonly type: "displayed";
} | {
  readonly at: Instant;
  readonly type: "clicked";
  readonly action: string | null;
} | {
  readonly at: Instant;
  readonly type: "dismissed";
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
  /** Its maker is no owner any more: revoke it, unless somebody else needs it. */
  readonly is_orphaned: boolean;
};

export type TokenId = string;

export type TokenList = {
  readonly data: readonly Token[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
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

export type User = {
  readonly id: UserId;
  readonly external_id: string;
  readonly first_name: string | null;
  readonly country: string | null;
  readonly language: string | null;
  readonly timezone: string | null;
  readonly properties: PropertyValues;
  /** The newest active ones. */
  readonly devices: readonly DeviceId[];
  readonly created_at: Instant;
  readonly updated_at: Instant;
};

export type UserEdit = {
  readonly first_name?: string | null | undefined;
  readonly country?: string | null | undefined;
  readonly language?: string | null | undefined;
  readonly timezone?: string | null | undefined;
  readonly properties?: { readonly [key: string]: string | number | boolean | null } | null | undefined;
  /** `updated_at` as it was read; another one is 400 `changed_meanwhile`. */
  readonly updated_at: Instant;
};

export type UserEvents = {
  readonly data: readonly EventOfUser[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type UserId = string;

export type UserPage = {
  readonly data: readonly ListedUser[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type UserSegments = {
  readonly data: readonly SegmentOfUser[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type ValueList = {
  readonly data: readonly PropertyValue[];
};

export type Verdict = "clicked" | "displayed" | "sent" | "retrying" | "failed" | "skipped" | "waiting" | "scheduled" | "canceled" | "excluded" | "not_in_audience" | "no_active_device" | "unknown_user";

export type WebPushCredential = {
  /** `created_at` of the present credential as it was read, null for none. Absent: nothing is compared. */
  readonly updated_at?: Instant | null | undefined;
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
  /** Events that wait to be told; counted up to 10,000. */
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
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type WebhookRotation = {
  readonly finish_at?: Instant | null | undefined;
  readonly dual?: boolean | undefined;
};

export type WebhookState = {
  readonly id: WebhookId;
  readonly app_id: AppId;
  readonly endpoint: string;
  /** Empty: all. */
  readonly events: readonly EventKind[];
  readonly state: "enabled" | "disabled";
  readonly consecutive_failures: number;
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

/** The request and the answers of each endpoint, by its `operationId`. */
export interface Operations {
}

/** The method and the path of each endpoint. */
export const operations = {
} as const;
