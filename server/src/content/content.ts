// What a message says: the fields of contract 7.1, and how a channel's own object overrides the common ones.

export type Priority = 'high' | 'normal' | 'low';
export type DataValue = string | number | boolean;

/** An action button of a web notification. */
export interface WebAction {
  readonly action: string;
  readonly title: string;
  readonly url?: string;
  readonly icon?: string;
}

/**
 * One channel's content for one person: merged and rendered. Keys are spelled as contract 7.1 spells them, since this is
 * the caller's document; an absent key was not given, or was removed by a `null`.
 */
export interface ChannelContent {
  readonly title?: string;
  readonly body?: string;
  readonly url?: string;
  readonly image?: string;
  readonly icon?: string;
  readonly data?: Readonly<Record<string, DataValue>>;
  readonly ttl: number;
  readonly priority: Priority;
  readonly collapse_key?: string;
  // webpush
  readonly badge?: string | number;
  readonly tag?: string;
  readonly renotify?: boolean;
  readonly require_interaction?: boolean;
  readonly silent?: boolean;
  readonly actions?: readonly WebAction[];
  readonly dir?: 'auto' | 'ltr' | 'rtl';
  readonly lang?: string;
  readonly app_badge?: number;
  // apns
  readonly subtitle?: string;
  readonly sound?: string | { readonly name: string; readonly critical?: boolean; readonly volume?: number };
  readonly category?: string;
  readonly thread_id?: string;
  readonly interruption_level?: 'passive' | 'active' | 'time-sensitive' | 'critical';
  readonly relevance_score?: number;
  readonly mutable_content?: boolean;
  readonly content_available?: boolean;
  readonly target_content_id?: string;
  // fcm
  readonly channel_id?: string;
  readonly color?: string;
  readonly visibility?: 'private' | 'public' | 'secret';
  readonly notification_count?: number;
  readonly click_action?: string;
  readonly analytics_label?: string;
  readonly direct_boot_ok?: boolean;
}
