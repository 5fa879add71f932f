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

/** An exact decimal, without trailing zeros. */
export type Amount = string;

export type AppConfig = {
  /** Null when web push is not configured. */
  readonly vapid_public_key: string | null;
  readonly identify_required: boolean;
  /** The form of the newest secret. Null without a secret. */
  readonly identify_form: "token" | "hash" | null;
  /** True when only a `user_token` that names its device is accepted. */
  readonly identify_device_required: boolean;
  /** Channels that the app has credentials for. */
  readonly channels: readonly ("webpush" | "apns" | "fcm")[];
};

export type Audience = { readonly all: true; readonly device_ids?: null | undefined; readonly external_ids?: null | undefined; readonly segment_id?: null | undefined; readonly filter?: null | undefined } | { readonly all?: null | undefined; readonly device_ids: readonly string[]; readonly external_ids?: null | undefined; readonly segment_id?: null | undefined; readonly filter?: null | undefined } | { readonly all?: null | undefined; readonly device_ids?: null | undefined; readonly external_ids: readonly string[]; readonly segment_id?: null | undefined; readonly filter?: null | undefined } | { readonly all?: null | undefined; readonly device_ids?: null | undefined; readonly external_ids?: null | undefined; readonly segment_id: string; readonly filter?: null | undefined } | { readonly all?: null | undefined; readonly device_ids?: null | undefined; readonly external_ids?: null | undefined; readonly segment_id?: null | undefined; readonly filter: object };

export type BadRequestError = {
  readonly error: "validation_failed" | "invalid_json" | "body_too_large";
  /** For people; may change. */
  readonly message: string;
  readonly issues: readonly Issue[];
  readonly request_id: RequestId;
};

export type BuiltinField = {
  readonly field: string;
  readonly type: "string" | "number" | "boolean" | "datetime";
  readonly operators: readonly Operator[];
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

export type ChannelList = {
  readonly channels: readonly ({
    readonly id: "webpush" | "apns" | "fcm";
    readonly platform: "web" | "ios" | "android";
    readonly name: string;
    readonly max_payload_bytes: number;
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

export type Comparison = {
  /** A field of GET /v1/properties. */
  readonly field: string;
  readonly op: "eq" | "neq" | "in" | "not_in" | "contains" | "not_contains" | "starts_with" | "ends_with" | "exists" | "not_exists" | "gt" | "gte" | "lt" | "lte" | "before" | "after" | "within_last";
  readonly value?: string | number | boolean | readonly (string | number | boolean)[] | undefined;
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

export type CreditedRevenue = {
  readonly currency: string;
  readonly direct: ClassSum;
  readonly influenced: ClassSum;
};

export type DeletedSegment = {
  readonly id: SegmentId;
  readonly deleted: true;
};

export type Delivery = {
  readonly device_id: DeviceId;
  /** The user of the device at the time of the push. */
  readonly external_id: string | null;
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
};

export type DeliveryCode = "unregistered" | "invalid_token" | "credential_mismatch" | "auth_failed" | "not_configured" | "payload_too_large" | "invalid_payload" | "rate_limited" | "provider_unavailable" | "timeout" | "expired" | "unknown_error" | "device_inactive" | "empty_content" | "canceled" | "local_time_past";

export type DeliveryPage = {
  readonly message_id: MessageId;
  readonly status: MessageStatus;
  readonly report: Report;
  readonly data: readonly Delivery[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
};

export type Description = {
  readonly openapi: string;
  readonly [key: string]: unknown;
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

export type DeviceRequest = {
  readonly platform: "web" | "ios" | "android";
  readonly token: string | {
    readonly endpoint: string;
    readonly expirationTime?: number | null | undefined;
    readonly keys: {
      /** 65 bytes in base64url or Base64: a point on P-256. */
      readonly p256dh: string;
      /** 16 bytes in base64url or Base64. */
      readonly auth: string;
    };
  };
  readonly locale?: string | null | undefined;
  readonly timezone?: string | null | undefined;
  readonly app_version?: string | null | undefined;
  readonly sdk?: string | null | undefined;
  readonly os?: string | null | undefined;
  readonly os_version?: string | null | undefined;
  readonly model?: string | null | undefined;
  readonly properties?: { readonly [key: string]: string | number | boolean | null } | null | undefined;
  readonly environment?: "production" | "sandbox" | null | undefined;
  /** A refresh: this token replaces the one of that device. */
  readonly device_id?: string | null | undefined;
  /** By client key the proof of a refresh: the token that the device has now; for web the whole subscription with its auth. Only with `device_id`. */
  readonly previous_token?: string | {
    readonly endpoint: string;
    readonly expirationTime?: number | null | undefined;
    readonly keys: {
      /** 65 bytes in base64url or Base64: a point on P-256. */
      readonly p256dh: string;
      /** 16 bytes in base64url or Base64. */
      readonly auth: string;
    };
  } | null | undefined;
  /** Why the client renewed its subscription on its own. Counted, not stored. */
  readonly healed?: "subscription_gone" | "key_changed" | "worker_missing" | null | undefined;
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

export type EngagementReport = {
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
  /** Messages that began in the range, newest first. */
  readonly messages: readonly MessageEngagement[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
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

export type Filter = {
  readonly and: readonly Filter[];
} | {
  readonly or: readonly Filter[];
} | {
  readonly not: Filter;
} | Comparison | EventLeaf;

export type ForbiddenError = {
  readonly error: "app_suspended" | "wrong_key_scope" | "identity_check_failed";
  /** For people; may change. */
  readonly message: string;
  /** The event of `POST /v1/events` that needs a server key. */
  readonly path?: readonly (string | number)[] | undefined;
  readonly request_id: RequestId;
};

export type Health = {
  readonly status: "ok";
};

export type IdentifiedDevice = {
  readonly device_id: DeviceId;
  readonly external_id: string | null;
  readonly user_id: UserId | null;
  /** The former user of the device, if it was another one. A client key always reads null. */
  readonly previous_external_id: string | null;
  readonly identified_at: Instant | null;
};

export type IdentifyRequest = {
  readonly device_id: string;
  readonly external_id: string | null;
  /** A JSON Web Token, by a secret of the form `token`. */
  readonly user_token?: string | null | undefined;
  /** 64 hexadecimal digits, by a secret of the form `hash`. */
  readonly user_hash?: string | null | undefined;
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

export type KeyId = string;

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

export type Message = {
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
  readonly audience: Audience;
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
};

export type MessageAnswer = AcceptedMessage | ScheduledMessage | DryRun;

export type MessageEngagement = {
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

export type MessageRevenue = {
  readonly message_id: MessageId;
  readonly currency: string;
  readonly direct: ClassSum;
  readonly influenced: ClassSum;
};

export type MessageStatus = "scheduled" | "sending" | "sent" | "failed" | "canceled";

export type NotFoundError = {
  readonly error: "not_found";
  /** For people; may change. */
  readonly message: string;
  readonly request_id: RequestId;
};

export type Operator = "eq" | "neq" | "in" | "not_in" | "contains" | "not_contains" | "starts_with" | "ends_with" | "exists" | "not_exists" | "gt" | "gte" | "lt" | "lte" | "before" | "after" | "within_last";

export type OptedOutDevice = {
  readonly id: DeviceId;
  readonly status: "unsubscribed";
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

export type Property = {
  readonly key: string;
  /** Its name in a filter. */
  readonly field: string;
  readonly type: "string" | "number" | "boolean";
  readonly filterable: true;
  readonly operators: readonly Operator[];
  readonly indexed: boolean;
  readonly users_count: number;
  readonly samples: readonly PropertyValue[];
  readonly conflicts_count: number;
  readonly last_conflict_at: Instant | null;
  readonly first_seen_at: Instant | null;
  readonly last_seen_at: Instant | null;
};

/** A value of another type than its key has in the catalog: neither written nor converted. */
export type PropertyConflict = {
  readonly key: string;
  readonly expected: "string" | "number" | "boolean";
  readonly received: "string" | "number" | "boolean";
  readonly value: PropertyValue;
  readonly kept: PropertyValue | null;
};

export type PropertyPage = {
  readonly data: readonly Property[];
  readonly builtins: readonly BuiltinField[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
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

export type Readiness = {
  readonly status: "ready" | "not ready";
};

export type ReceiptRequest = {
  readonly token: string;
  readonly event: "displayed" | "clicked" | "dismissed";
  readonly action?: string | null | undefined;
};

export type RecordedReceipt = {
  /** False when that mark was set before. */
  readonly recorded: boolean;
};

export type RegisteredDevice = {
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
  readonly status: "active";
  /** Null to a client key. */
  readonly external_id: string | null;
  /** The properties of the device itself. Null to a client key. */
  readonly properties: PropertyValues | null;
  readonly property_conflicts: readonly PropertyConflict[];
  readonly created: boolean;
  /** Only to a client key, and only when not empty: fields whose values cannot be used. They are null. */
  readonly ignored?: readonly ("locale" | "timezone")[] | undefined;
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

/** Also in the header x-request-id, and in the log. */
export type RequestId = string;

export type RevenueReport = {
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
  /** The messages of the whole range. The highest direct amount comes first. */
  readonly messages: readonly MessageRevenue[];
  readonly has_more: boolean;
  /** Null exactly when there is no more. A page may be empty and still have a next one. */
  readonly next_cursor: string | null;
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

export type ScheduledMessage = {
  readonly id: MessageId;
  /** How the message was accepted, also after it has run. */
  readonly status: "scheduled";
  readonly run_at: Instant;
  /** Only for a repeated Idempotency-Key: nothing was scheduled again. */
  readonly replayed?: true | undefined;
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

export type SegmentId = string;

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

/** Why a delivery was not tried. */
export type SkipReason = "not_configured" | "device_inactive" | "empty_content" | "canceled" | "local_time_past";

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

export type TooManyError = RateLimitedError | QuotaExceededError;

export type TrackRequest = TrackedEvent | TrackedEvents;

export type Tracked = {
  readonly accepted: number;
  readonly duplicates: number;
};

export type TrackedEvent = {
  /** `install`, `session_start` and `purchase` are reserved: they feed reports. No control characters. */
  readonly name: string;
  /** Any JSON values, nested at most 5 deep, at most 8 KiB. A `purchase` needs `amount`, a number from 0 to 1,000,000,000,000, and `currency`, 3 letters. */
  readonly properties?: object | null | undefined;
  /** Needed where a client key gives an `id`. */
  readonly device_id?: string | null | undefined;
  /** Server keys only. The user need not exist yet. */
  readonly external_id?: string | null | undefined;
  /** An id counts once: per app by server key, per device by client key. */
  readonly id?: string | null | undefined;
  /** Default: now. A later time is stored as now. By client key at most 30 days back. */
  readonly occurred_at?: string | null | undefined;
};

export type TrackedEvents = {
  readonly events: readonly TrackedEvent[];
};

export type UnauthorizedError = {
  readonly error: "missing_key" | "invalid_key";
  /** For people; may change. */
  readonly message: string;
  readonly request_id: RequestId;
};

export type UnavailableError = {
  readonly error: "unavailable";
  /** For people; may change. */
  readonly message: string;
  /** The slowest part of a filter whose count took too long. */
  readonly path?: readonly (string | number)[] | undefined;
  readonly request_id: RequestId;
};

export type UpsertedUser = {
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
  readonly created: boolean;
  readonly property_conflicts: readonly PropertyConflict[];
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

export type UserId = string;

export type UserRequest = {
  readonly external_id: string;
  readonly first_name?: string | null | undefined;
  readonly country?: string | null | undefined;
  readonly language?: string | null | undefined;
  readonly timezone?: string | null | undefined;
  readonly properties?: { readonly [key: string]: string | number | boolean | null } | null | undefined;
  readonly device_id?: string | null | undefined;
};

export type Verdict = "clicked" | "displayed" | "sent" | "retrying" | "failed" | "skipped" | "waiting" | "scheduled" | "canceled" | "excluded" | "not_in_audience" | "no_active_device" | "unknown_user";

/** The request and the answers of each endpoint, by its `operationId`. */
export interface Operations {
  /** Send a message now, or schedule it */
  sendMessage: { given: { body: MessageRequest }; answer: MessageAnswer };
  /** List messages, newest first */
  listMessages: { given: { query?: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly status?: "scheduled" | "sending" | "sent" | "failed" | "canceled" | undefined } | undefined }; answer: MessagePage };
  /** Read a message with its present numbers */
  getMessage: { given: { params: { readonly id: string } }; answer: Message };
  /** Cancel a message that is scheduled or being sent */
  cancelMessage: { given: { params: { readonly id: string } }; answer: Message };
  /** Why did this person get nothing? */
  listDeliveries: { given: { params: { readonly id: string }; query?: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly status?: "retrying" | "sent" | "failed" | "skipped" | undefined; readonly channel?: "webpush" | "apns" | "fcm" | undefined; readonly device_id?: string | undefined; readonly error_code?: "unregistered" | "invalid_token" | "credential_mismatch" | "auth_failed" | "not_configured" | "payload_too_large" | "invalid_payload" | "rate_limited" | "provider_unavailable" | "timeout" | "expired" | "unknown_error" | "device_inactive" | "empty_content" | "canceled" | "local_time_past" | undefined } | undefined }; answer: DeliveryPage };
  /** Why did this person, or this device, get a message or not? */
  explain: { given: { query?: { readonly message_id?: string | undefined; readonly external_id?: string | undefined; readonly device_id?: string | undefined } | undefined }; answer: Explanation };
  /** Create a user, or update the one with this external_id */
  upsertUser: { given: { body: UserRequest }; answer: UpsertedUser };
  /** Read a user */
  getUser: { given: { params: { readonly external_id: string } }; answer: User };
  /** Erase a user and opt out its devices */
  deleteUser: { given: { params: { readonly external_id: string } }; answer: ErasedUser };
  /** Link a device to a user, or to nobody */
  identifyDevice: { given: { body: IdentifyRequest }; answer: IdentifiedDevice };
  /** List the catalog of properties by key */
  listProperties: { given: { query?: { readonly limit?: number | undefined; readonly cursor?: string | undefined } | undefined }; answer: PropertyPage };
  /** Give a filter a name */
  createSegment: { given: { body: SegmentRequest }; answer: Segment };
  /** List the segments, newest first */
  listSegments: { given: { query?: { readonly limit?: number | undefined; readonly cursor?: string | undefined } | undefined }; answer: SegmentPage };
  /** Count exactly the devices that a filter, a segment or any audience reaches now */
  previewAudience: { given: { body: PreviewRequest }; answer: Preview };
  /** Read a segment */
  getSegment: { given: { params: { readonly id: string } }; answer: Segment };
  /** Replace name, description and filter of a segment */
  replaceSegment: { given: { params: { readonly id: string }; body: SegmentRequest }; answer: Segment };
  /** Delete a segment */
  deleteSegment: { given: { params: { readonly id: string } }; answer: DeletedSegment };
  /** Register a device, or find it again */
  registerDevice: { given: { body: DeviceRequest }; answer: RegisteredDevice };
  /** List devices, newest first */
  listDevices: { given: { query?: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly platform?: "web" | "ios" | "android" | undefined; readonly status?: "active" | "invalid" | "unsubscribed" | undefined; readonly external_id?: string | undefined } | undefined }; answer: DevicePage };
  /** Opt a device out */
  optOutDevice: { given: { params: { readonly id: string } }; answer: OptedOutDevice };
  /** Track what people did: one event, or up to 50 */
  trackEvents: { given: { body: TrackRequest }; answer: Tracked };
  /** The revenue of purchases, and the messages that it is credited to */
  reportRevenue: { given: { query: { readonly from: string; readonly to: string; readonly tz?: string | undefined; readonly group?: "day" | "week" | "month" | undefined; readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly window_hours?: number | undefined; readonly message_id?: string | undefined; readonly segment_id?: string | undefined } }; answer: RevenueReport };
  /** The outcomes of the messages that began in a range */
  reportEngagement: { given: { query: { readonly from: string; readonly to: string; readonly tz?: string | undefined; readonly group?: "day" | "week" | "month" | undefined; readonly limit?: number | undefined; readonly cursor?: string | undefined } }; answer: EngagementReport };
  /** How many devices registered, were active, died and opted out, by channel */
  reportDevices: { given: { query: { readonly from: string; readonly to: string; readonly tz?: string | undefined; readonly group?: "day" | "week" | "month" | undefined } }; answer: DeviceReport };
  /** How many events of each name there were */
  reportEvents: { given: { query: { readonly from: string; readonly to: string; readonly tz?: string | undefined; readonly group?: "day" | "week" | "month" | undefined } }; answer: EventReport };
  /** Say that a notification was displayed, clicked or dismissed */
  recordReceipt: { given: { body: ReceiptRequest }; answer: RecordedReceipt };
  /** What an app needs to know before it registers a device */
  getConfig: { given: object; answer: AppConfig };
  /** List the channels */
  listChannels: { given: object; answer: ChannelList };
}

/** The method and the path of each endpoint. */
export const operations = {
  sendMessage: { method: 'POST', path: '/v1/messages' },
  listMessages: { method: 'GET', path: '/v1/messages' },
  getMessage: { method: 'GET', path: '/v1/messages/{id}' },
  cancelMessage: { method: 'POST', path: '/v1/messages/{id}/cancel' },
  listDeliveries: { method: 'GET', path: '/v1/messages/{id}/deliveries' },
  explain: { method: 'GET', path: '/v1/explain' },
  upsertUser: { method: 'POST', path: '/v1/users' },
  getUser: { method: 'GET', path: '/v1/users/{external_id}' },
  deleteUser: { method: 'DELETE', path: '/v1/users/{external_id}' },
  identifyDevice: { method: 'POST', path: '/v1/identify' },
  listProperties: { method: 'GET', path: '/v1/properties' },
  createSegment: { method: 'POST', path: '/v1/segments' },
  listSegments: { method: 'GET', path: '/v1/segments' },
  previewAudience: { method: 'POST', path: '/v1/segments/preview' },
  getSegment: { method: 'GET', path: '/v1/segments/{id}' },
  replaceSegment: { method: 'PUT', path: '/v1/segments/{id}' },
  deleteSegment: { method: 'DELETE', path: '/v1/segments/{id}' },
  registerDevice: { method: 'POST', path: '/v1/devices' },
  listDevices: { method: 'GET', path: '/v1/devices' },
  optOutDevice: { method: 'DELETE', path: '/v1/devices/{id}' },
  trackEvents: { method: 'POST', path: '/v1/events' },
  reportRevenue: { method: 'GET', path: '/v1/reports/revenue' },
  reportEngagement: { method: 'GET', path: '/v1/reports/engagement' },
  reportDevices: { method: 'GET', path: '/v1/reports/devices' },
  reportEvents: { method: 'GET', path: '/v1/reports/events' },
  recordReceipt: { method: 'POST', path: '/v1/receipts' },
  getConfig: { method: 'GET', path: '/v1/config' },
  listChannels: { method: 'GET', path: '/v1/channels' },
} as const;
