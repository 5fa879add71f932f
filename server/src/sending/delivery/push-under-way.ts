// Pushes to one device: renders, mints the receipt token, pushes and names the outcome. Every
// result is a value; nothing is thrown and nothing is written.

import type { Clock } from '../../ground/database/clock.ts';
import { encodeId } from '../../ground/values/ids.ts';
import type { ChannelId, Environment, Outcome, RefusedOutcome, SentPush } from '../channels/channel.ts';
import { targetUrlsOf } from '../content/compile-content.ts';
import type { ChannelContent } from '../content/content.ts';
import { languageOfDelivery } from '../content/locales.ts';
import { unknownPushesOf } from './batch.ts';
import type { Attempt } from './delivery.ts';
import type { Lanes } from './lanes.ts';
import type { BatchContext, PlannedPush, Route, Target, Unpushed } from './plan-push.ts';
import { lanePauseMs, retryAtMs } from './retry.ts';
import { ttlLeftSeconds } from './send-window.ts';

export interface PushDeps {
  readonly clock: Clock;
  readonly lanes: Lanes;
  readonly random: () => number;
}

/**
 * The wait after a host's name was not looked up because other names held all places. After this
 * wait some places are free again.
 */
const untriedAgainMs = 30_000;

/** Keeps a push with a token within its message's rate. */
export interface PushPace {
  /** Await this before each request after the first. */
  readonly again: () => Promise<void>;
  /** Whether the token is too old. Asked when the first request is about to go out. */
  readonly isLate: () => boolean;
}

/** No request went out, because the push's token was too old by then. */
export interface Late {
  readonly kind: 'late';
}

/** Takes the outcomes of pushes. */
export interface OutcomeHearer {
  hear(push: PushUnderWay, outcome: Outcome): void;
}

/** The result of a delivery on this turn. */
export type PushResult =
  | Unpushed
  | {
      readonly kind: 'attempted';
      readonly outcome: Outcome;
      /** The time when the attempt began. */
      readonly atMs: number;
      /** Null: no further attempt. */
      readonly retryAtMs: number | null;
      readonly credentialId: number;
      readonly urls: string | null;
    };

/**
 * A planned push, from its rendering to its result. An object without promises, and no async
 * function: thousands wait for their answers at once, and each garbage collection copies what they
 * keep (bench/README.md, *With latency*).
 */
export class PushUnderWay implements SentPush<unknown> {
  readonly target: Target;
  /** The attempts already made, oldest first. */
  readonly before: readonly Attempt[];
  readonly token: string;
  readonly #deps: PushDeps;
  readonly #context: BatchContext;
  readonly #route: Route;
  /** Undefined for a message without a rate. */
  readonly #pace: PushPace | undefined;
  readonly #hearer: OutcomeHearer;
  #content: ChannelContent = unrendered;
  #ttlSeconds = 0;
  #startedAtMs = 0;
  #steps = 0;
  #hasBegun = false;
  #hasOutcome = false;
  #unsentFor: 'unwanted' | 'late' | undefined = undefined;

  constructor(
    deps: PushDeps,
    context: BatchContext,
    target: Target,
    planned: PlannedPush,
    before: readonly Attempt[],
    hearer: OutcomeHearer,
    pace?: PushPace,
  ) {
    this.#deps = deps;
    this.#context = context;
    this.#route = planned.route;
    this.#pace = pace;
    this.#hearer = hearer;
    this.target = target;
    this.token = planned.token;
    this.before = before;
  }

  /**
   * Renders and sends. Returns a result when no request is made. Then `onOutcome` is not called.
   */
  begin(): Unpushed | undefined {
    const { person, locale } = this.target;
    const { batch, content } = this.#context;
    const { channel, credential, credentialId, ttlSeconds } = this.#route;
    const rendered = content.render(channel, person, languageOfDelivery(person.language, locale));
    if (rendered.kind === 'skip') return { kind: 'skipped', reason: rendered.reason };
    if (rendered.kind === 'fail') return { kind: 'failed', code: rendered.errorCode, credentialId };
    if (!credential) return { kind: 'failed', code: 'not_configured', credentialId };
    this.#startedAtMs = this.#deps.clock.nowMs();
    this.#steps = this.#deps.clock.steps;
    this.#content = rendered.content;
    this.#ttlSeconds = ttlLeftSeconds(ttlSeconds, batch.dueAt.getTime(), this.#startedAtMs);
    credential.send(this);
    return undefined;
  }

  /**
   * Takes the channel's outcome. A second outcome changes nothing, because the slot was given back.
   */
  onOutcome(outcome: Outcome): void {
    if (this.#hasOutcome) return;
    this.#hasOutcome = true;
    this.#hearer.hear(this, outcome);
  }

  /** The result of the delivery on this turn. */
  resultOf(answered: Outcome): PushResult | Late {
    const { clock, random } = this.#deps;
    const outcome = this.#excused(answered);
    const { channel, credentialId } = this.#route;
    // No request went out, so this is not an attempt.
    if (this.#unsentFor && outcome.kind === 'refused' && outcome.provider?.transportError === 'connect_error')
      return this.#unsentFor === 'late' ? { kind: 'late' } : { kind: 'deferred', untilMs: clock.nowMs() };
    // The clock stepped before any request went out, so the step may be the reason. As an attempt
    // it would be too old for a retry after the host's sleep.
    if (!this.#hasBegun && outcome.kind === 'refused' && outcome.retryable) {
      const isInterrupted = clock.steps !== this.#steps || clock.isInDoubt();
      if (isInterrupted) return { kind: 'deferred', untilMs: clock.nowMs() };
    }
    // The host's name was not looked up, so nothing is known of the host. Only a delivery without
    // earlier attempts waits for another turn. Otherwise countless hosts that never answer would be
    // looked up until their window closes.
    if (outcome.kind === 'refused' && outcome.isUntried && this.before.length === 0)
      return { kind: 'deferred', untilMs: clock.nowMs() + untriedAgainMs * (0.5 + random() / 2) };
    // A local check of the channel failed. No provider was asked, so there is no attempt to show.
    if (outcome.kind === 'refused' && outcome.provider === null)
      return { kind: 'failed', code: outcome.errorCode, credentialId };
    const areLiteral = this.#context.content.literalUrls(channel) !== null;
    return {
      kind: 'attempted',
      outcome,
      atMs: this.#startedAtMs,
      retryAtMs: outcome.kind === 'sent' || isInvented(this.target, outcome) ? null : this.#retryAtMs(outcome),
      credentialId,
      urls: areLiteral ? null : JSON.stringify(targetUrlsOf(this.#content)),
    };
  }

  /**
   * Called as late as possible, because the push may have waited for a connection. By then its
   * window may have passed, or the host may have slept.
   */
  isWanted(): boolean {
    const { clock } = this.#deps;
    const nowMs = clock.nowMs();
    // A push that was prepared before a step has a token from the time before the step.
    const isStale = !this.#hasBegun && clock.steps !== this.#steps;
    if (isStale || !this.#context.isWanted() || nowMs >= this.#route.windowEndsAtMs) this.#unsentFor = 'unwanted';
    else if (!this.#hasBegun && this.#pace?.isLate()) this.#unsentFor = 'late';
    if (this.#unsentFor) return false;
    if (!this.#hasBegun) this.#startedAtMs = nowMs;
    this.#hasBegun = true;
    return true;
  }

  get credential(): unknown {
    return this.#route.credential?.credential;
  }
  /** Made on demand, because two of the three channels never ask for it. */
  get deviceId(): string {
    return encodeId('dev', this.target.deviceId);
  }
  get messageId(): string {
    return this.#context.messageId;
  }
  get content(): ChannelContent {
    return withDefaultUrl(this.#route.channel, this.#content, this.#context.defaultUrl);
  }
  get receiptToken(): string {
    return this.#context.tokenOf(this.target.deviceId);
  }
  get clickUrl(): string | null {
    const { publicUrl } = this.#context;
    return publicUrl === null ? null : `${publicUrl}/v1/r/${this.receiptToken}`;
  }
  get ttlSeconds(): number {
    return this.#ttlSeconds;
  }
  get environment(): Environment | null {
    return this.target.environment;
  }
  get again(): (() => Promise<void>) | undefined {
    return this.#pace?.again;
  }

  /**
   * While our own clock is not trusted, a refusal for the time in a token is our fault, so the push
   * is tried again (contract 7.6).
   */
  #excused(outcome: Outcome): Outcome {
    if (outcome.kind === 'sent' || outcome.errorCode !== 'auth_failed' || !isAboutTime(outcome)) return outcome;
    const { clock } = this.#deps;
    const isOurs = clock.steps !== this.#steps || !clock.isTrusted();
    return isOurs ? { ...outcome, retryable: true, isExcused: true } : outcome;
  }

  #retryAtMs(outcome: RefusedOutcome): number | null {
    const { clock, lanes, random } = this.#deps;
    const { channel, lane, ttlSeconds, windowEndsAtMs } = this.#route;
    const { before } = this;
    const nowMs = clock.nowMs();
    const share = random();
    const pausedMs = lanePauseMs(outcome, share);
    if (pausedMs > 0) lanes.pause(lane, pausedMs);
    const atMs = retryAtMs({
      channel,
      outcome,
      before: before.map((past) => ({ errorCode: past.error_code, httpStatus: past.provider?.http_status ?? null })),
      unknownPushes: unknownPushesOf(this.#context.batch),
      firstAttemptAtMs: before[0] ? Date.parse(before[0].at) : this.#startedAtMs,
      nowMs,
      windowEndsAtMs,
      ttlSeconds,
      random: share,
    });
    // Whole milliseconds, because the time is stored so and read again.
    return atMs === undefined ? null : Math.trunc(atMs);
  }
}

/** Empty content until the rendering. It is never sent. */
const unrendered = {} as ChannelContent;

/** Web notifications without a url of their own open the app's (contract 7.2). */
export function withDefaultUrl(channel: ChannelId, content: ChannelContent, defaultUrl: string | null): ChannelContent {
  return channel === 'webpush' && content.url === undefined && defaultUrl !== null
    ? { ...content, url: defaultUrl }
    : content;
}

/**
 * Apple calls a token from the future invalid, and Google's code does not mention the time
 * (providers 2.2, 3.2).
 */
function isAboutTime({ reason }: RefusedOutcome): boolean {
  return reason !== null && /^(ExpiredProviderToken|InvalidProviderToken|invalid_grant)/.test(reason);
}

/**
 * Whether a stranger's device names a host without an address. Four more attempts would delay a
 * caller who waits for all outcomes.
 */
function isInvented({ isStranger }: Target, { provider, isUntried }: RefusedOutcome): boolean {
  return isStranger && provider?.transportError === 'dns_error' && !isUntried;
}
