// Apple's push service for apps. It checks a request and answers with the reason of the first
// failed check. One instance plays one environment. It never refuses what Apple leaves to the
// phone.
import {
  type ApnsReason,
  acceptByApns,
  apnsReasons,
  makeApnsId,
  refuseByApns,
  refuseByApnsStatus,
} from './apns-answers.ts';
import {
  checkCollapseId,
  checkExpiration,
  checkId,
  checkPriority,
  checkPushType,
  checkTopic,
  type Refuse,
} from './apns-headers.ts';
import { ProviderTokenJudge } from './apns-token.ts';
import { Examination } from './examination.ts';
import { readApnsNotification } from './phone-notification.ts';
import type { ApnsEnvironment, Phone, Phones } from './phones.ts';
import type { Payload, Provider, PushRequest, Reception, Target } from './provider.ts';
import type { ProviderKeys, TeamKey } from './provider-keys.ts';
import { parseShallowJson } from './shallow-json.ts';
import type { Answer } from './vendors/vendor.ts';

const devicePath = /^\/3\/device(?:\/([^/?]*))?$/;
const payloadBytesMax = 4096;
const voipPayloadBytesMax = 5120;
/**
 * Streams that a connection may open once it has shown a good token. Undocumented; about a thousand
 * was observed.
 */
const streamsTrusted = 1000;

export class ApnsService implements Provider {
  readonly goawayWords = { shutdown: '{"reason":"Shutdown"}', idle: '{"reason":"IdleTimeout"}' };
  readonly #environment: ApnsEnvironment;
  readonly #phones: Phones;
  readonly #judge: ProviderTokenJudge;
  readonly #now: () => number;

  /** `now` returns milliseconds since the epoch; the age of tokens is judged by it. */
  constructor(environment: ApnsEnvironment, phones: Phones, keys: ProviderKeys, now: () => number) {
    this.#environment = environment;
    this.#phones = phones;
    this.#judge = new ProviderTokenJudge(keys, environment);
    this.#now = now;
  }

  target(_authority: string, path: string): Target {
    return { service: 'apns', vendor: 'apns', token: (devicePath.exec(path)?.[1] ?? '').toLowerCase() };
  }

  refuseWithStatus(_target: Target, status: number): Answer {
    return refuseByApnsStatus(status, this.#now());
  }

  refuseWithReason(_target: Target, reason: string): Answer | undefined {
    const known = apnsReasons.find((each) => each === reason);
    return known === undefined ? undefined : refuseByApns(known, makeApnsId(), this.#now());
  }

  acceptBlindly(): Answer {
    return acceptByApns(makeApnsId(), this.#environment);
  }

  connectionEnded(connectionId: number): void {
    this.#judge.forget(connectionId);
  }

  receive(request: PushRequest): Reception {
    const now = this.#now();
    const { headers } = request;
    const target = this.target(request.authority, request.path);
    const given = one(headers['apns-id']);
    const apnsId = given ?? makeApnsId();
    const exam = new Examination();
    const refuse: Refuse = (name, reason, detail) => exam.fail(name, refuseByApns(reason, apnsId, now), detail);

    checkAddress(request, target.token, exam, refuse);
    const token = this.#judge.judge(headers.authorization, request.connectionId, now);
    for (const { name, reason, detail } of token.checks) {
      if (reason === null) exam.pass(name, detail);
      else refuse(name, reason, detail);
    }
    const [repeated] = request.repeatedHeaders;
    if (repeated !== undefined) refuse('duplicate_headers', 'DuplicateHeaders', `${repeated} is given twice`);
    checkId(given, exam, refuse);
    checkExpiration(one(headers['apns-expiration']), now, exam, refuse);
    const payload = this.#checkPayload(request, exam, refuse);
    const pushType = checkPushType(one(headers['apns-push-type']), payload?.json, exam, refuse);
    checkPriority(one(headers['apns-priority']), pushType, exam, refuse);
    checkCollapseId(one(headers['apns-collapse-id']), exam, refuse);
    const bundleId = checkTopic(one(headers['apns-topic']), pushType, token.key, exam, refuse);
    const phone = this.#checkDevice(target.token, bundleId, apnsId, exam);

    const isAccepted = exam.refusal === null;
    return {
      ...target,
      endpoint: phone === undefined ? null : `https://${request.authority}${request.path}`,
      checks: exam.checks,
      vapid: null,
      providerToken:
        token.decoded === null
          ? null
          : { header: token.decoded.header, claims: token.decoded.claims, holder: holderOf(token.key) },
      payload,
      notification:
        payload === null || pushType === 'background'
          ? null
          : readApnsNotification(payload.json, one(headers['apns-collapse-id']) ?? null, phone?.pool.app ?? null),
      answer: exam.refusal ?? acceptByApns(apnsId, this.#environment),
      isDelivered: isAccepted,
      // The first good token opens the connection even when the request fails another check.
      streamsMax: token.isFirst ? streamsTrusted : null,
    };
  }

  #checkPayload(request: PushRequest, exam: Examination, refuse: Refuse): Payload | null {
    const isVoip = one(request.headers['apns-push-type']) === 'voip';
    const most = isVoip ? voipPayloadBytesMax : payloadBytesMax;
    if (request.bodyBytes > most) refuse('size', 'PayloadTooLarge', `${request.bodyBytes} bytes, at most ${most}`);
    else exam.pass('size', `${request.bodyBytes} bytes of ${most}`);
    const text = request.body.toString('utf8');
    if (request.bodyBytes === 0) {
      refuse('payload', 'PayloadEmpty', 'the body is empty');
      return null;
    }
    const json = parseShallowJson(text);
    if (!isObject(json)) refuse('payload', 'PayloadEmpty', 'the body is not a JSON object');
    else if (!isObject(json['aps'])) exam.warn('payload', 'no aps: the phone shows nothing');
    else exam.pass('payload', 'JSON with aps');
    return { text, json };
  }

  #checkDevice(token: string, bundleId: string | null, apnsId: string, exam: Examination): Phone | undefined {
    const refuse = (reason: ApnsReason, detail: string, at = this.#now()): void =>
      exam.fail('device', refuseByApns(reason, apnsId, at), detail);
    if (token === '') return undefined;
    const phone = this.#phones.find(token);
    if (phone?.pool.platform !== 'ios') {
      refuse('BadDeviceToken', /^[0-9a-f]+$/.test(token) ? 'no phone has this token' : 'it is not hexadecimal');
      return undefined;
    }
    if (phone.pool.environment !== this.#environment) {
      refuse('BadDeviceToken', `the token is of ${phone.pool.environment}, this is ${this.#environment}`);
    } else if (bundleId !== null && bundleId !== phone.pool.app) {
      refuse('DeviceTokenNotForTopic', `the token is of ${phone.pool.app}, the topic is for ${bundleId}`);
    } else if (phone.goneAt !== null) refuse('Unregistered', 'the app was removed', phone.goneAt);
    else exam.pass('device', `an iPhone with ${phone.pool.app}`);
    return phone;
  }
}

function checkAddress(request: PushRequest, token: string, exam: Examination, refuse: Refuse): void {
  if (request.method === 'POST') exam.pass('method', 'POST');
  else refuse('method', 'MethodNotAllowed', `${request.method} instead of POST`);
  if (!devicePath.test(request.path)) refuse('endpoint', 'BadPath', `${request.path} is not /3/device/TOKEN`);
  else if (token === '') refuse('endpoint', 'MissingDeviceToken', 'the path ends before the token');
  else exam.pass('endpoint', '/3/device/TOKEN');
}

function holderOf(key: TeamKey | null): string {
  return key === null ? 'nobody known here' : `key ${key.keyId} of team ${key.teamId}`;
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
