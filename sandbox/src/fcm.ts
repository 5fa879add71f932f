// Firebase Cloud Messaging, HTTP v1, with Google's token endpoint. It examines each request as
// Google's front and FCM do, and answers with the first refusal. Other addresses get Google's error
// page.
import { randomInt } from 'node:crypto';
import { Examination } from './examination.ts';
import {
  acceptByFcm,
  fcmErrorNames,
  notFoundPage,
  oauthErrorNames,
  refuseByFcm,
  refuseByFcmStatus,
  refuseByOauth,
  refuseByOauthStatus,
  refuseMessage,
} from './fcm-answers.ts';
import { canonical, type MessageFault, shapeFault } from './fcm-message.ts';
import { dataFault, messageBytes, messageBytesMax, targetOf, topicMessageBytesMax, valueFault } from './fcm-rules.ts';
import { GoogleOauth } from './google-oauth.ts';
import { readFcmNotification } from './phone-notification.ts';
import type { Phone, Phones } from './phones.ts';
import type { Provider, PushRequest, Reception, Target, TokenSeen } from './provider.ts';
import type { ProviderKeys } from './provider-keys.ts';
import { parseShallowJson } from './shallow-json.ts';
import type { Answer } from './vendors/vendor.ts';

const sendPath = /^\/v1\/projects\/([^/?]+)\/messages:send$/;
const tokenPath = '/token';

type Fields = Readonly<Record<string, unknown>>;

export class FcmService implements Provider {
  readonly goawayWords = { shutdown: '', idle: 'session_timed_out' };
  readonly #phones: Phones;
  readonly #keys: ProviderKeys;
  readonly #oauth: GoogleOauth;
  readonly #now: () => number;

  /** `now` returns milliseconds since the epoch; tokens are judged by it. */
  constructor(phones: Phones, keys: ProviderKeys, tokenUri: () => string, now: () => number) {
    this.#phones = phones;
    this.#keys = keys;
    this.#oauth = new GoogleOauth(keys, tokenUri);
    this.#now = now;
  }

  /** The phone's token is in the body, so rules that match tokens need the body. */
  target(_authority: string, path: string, body?: Buffer): Target {
    if (path === tokenPath) return { service: 'oauth', vendor: 'google_oauth', token: '' };
    const message = fieldsOf(fieldsOf(parseJson(body ?? Buffer.alloc(0)))['message']);
    return { service: 'fcm', vendor: 'fcm_v1', token: typeof message['token'] === 'string' ? message['token'] : '' };
  }

  refuseWithStatus(target: Target, status: number): Answer {
    return target.service === 'oauth' ? refuseByOauthStatus(status) : refuseByFcmStatus(status, 'unknown');
  }

  refuseWithReason(target: Target, reason: string): Answer | undefined {
    if (target.service === 'oauth') {
      const error = oauthErrorNames.find((each) => each === reason);
      return error === undefined ? undefined : refuseByOauth(error);
    }
    const error = fcmErrorNames.find((each) => each === reason);
    return error === undefined ? undefined : refuseByFcm(error);
  }

  acceptBlindly(target: Target, request: PushRequest): Answer {
    if (target.service === 'oauth') return this.receive(request).answer;
    return acceptByFcm(sendPath.exec(request.path)?.[1] ?? 'unknown', messageId(this.#now()));
  }

  receive(request: PushRequest): Reception {
    const target = this.target(request.authority, request.path, request.body);
    return target.service === 'oauth' ? this.#exchange(target, request) : this.#send(target, request);
  }

  #exchange(target: Target, request: PushRequest): Reception {
    const wrong = request.method === 'POST' ? null : notFoundPage(request.path);
    const { exam, seen, answer } = this.#oauth.exchange(request, this.#now());
    return { ...unseen(target), checks: exam.checks, providerToken: seen, answer: wrong ?? answer };
  }

  #send(target: Target, request: PushRequest): Reception {
    const exam = new Examination();
    const project = sendPath.exec(request.path)?.[1];
    if (project === undefined || request.method !== 'POST') {
      const where = `${request.method} ${request.path}`;
      exam.fail('endpoint', notFoundPage(request.path), `${where} is not POST /v1/projects/PROJECT/messages:send`);
      return { ...unseen(target), checks: exam.checks, answer: notFoundPage(request.path) };
    }
    exam.pass('endpoint', request.path);
    const seen = this.#checkAccess(request, project, exam);
    const message = checkMessage(request, exam);
    const phone = message === null ? undefined : this.#checkTarget(message.fields, project, exam);
    const id = message?.isDryRun ? 'fake_message_id' : messageId(this.#now());
    const isAccepted = exam.refusal === null;
    return {
      ...unseen(target),
      endpoint: phone === undefined ? null : `https://${request.authority}${request.path}`,
      checks: exam.checks,
      providerToken: seen,
      payload: request.bodyBytes === 0 ? null : { text: request.body.toString('utf8'), json: parseJson(request.body) },
      notification: message === null ? null : readFcmNotification(message.fields, phone?.pool.app ?? null),
      answer: exam.refusal ?? acceptByFcm(project, id),
      isDelivered: isAccepted && phone !== undefined && message?.isDryRun === false,
    };
  }

  #checkAccess(request: PushRequest, project: string, exam: Examination): TokenSeen | null {
    const token = /^bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined) {
      exam.fail('access_token', refuseByFcm('CREDENTIALS_MISSING'), 'there is no “Bearer TOKEN”');
      return null;
    }
    const known = this.#oauth.find(token);
    if (known === undefined) {
      exam.fail('access_token', refuseByFcm('UNAUTHENTICATED'), 'no such token was given, or its account is gone');
      return null;
    }
    const seconds = Math.ceil((known.expiresAt - this.#now()) / 1000);
    if (seconds <= 0) exam.fail('access_token', refuseByFcm('UNAUTHENTICATED'), `it expired ${-seconds} s ago`);
    else exam.pass('access_token', `of ${known.clientEmail}, good for ${seconds} s`);
    if (!known.maySend) exam.fail('project', refuseByFcm('SCOPE_INSUFFICIENT'), 'its scope does not allow messaging');
    else if (!this.#isProject(project)) {
      exam.fail('project', refuseByFcm('NOT_FOUND'), `there is no project ${project}`);
    } else if (known.projectId !== project) {
      exam.fail('project', refuseByFcm('PERMISSION_DENIED', project), `the account is of ${known.projectId}`);
    } else exam.pass('project', project);
    return {
      header: {},
      claims: { client_email: known.clientEmail, exp: Math.floor(known.expiresAt / 1000) },
      holder: known.clientEmail,
    };
  }

  /** A project exists if an account or the app of a phone belongs to it. */
  #isProject(project: string): boolean {
    return this.#keys.hasProject(project) || this.#phones.pools().some(({ app }) => app === project);
  }

  #checkTarget(message: Fields, project: string, exam: Examination): Phone | undefined {
    const target = targetOf(message);
    if ('message' in target) {
      failMessage(exam, 'device', target);
      return undefined;
    }
    if (target.kind !== 'token') {
      exam.warn('device', `a ${target.kind}: nobody here has subscribed, so nobody gets it`);
      return undefined;
    }
    const phone = this.#phones.find(target.value);
    if (phone?.pool.platform !== 'android') {
      // An unknown token of the right form counts as a token that was valid once. Any other text
      // was never a token.
      const isFormed = /^[\w-]{11,}:APA91b[\w-]{100,}$/.test(target.value);
      exam.fail('device', refuseByFcm(isFormed ? 'UNREGISTERED' : 'INVALID_REGISTRATION'), 'no phone has this token');
      return undefined;
    }
    if (phone.pool.app !== project) {
      exam.fail('device', refuseByFcm('SENDER_ID_MISMATCH'), `the token is of the project ${phone.pool.app}`);
    } else if (phone.goneAt !== null) exam.fail('device', refuseByFcm('UNREGISTERED'), 'the app was removed');
    else exam.pass('device', `an Android phone with the app of ${phone.pool.app}`);
    return phone;
  }
}

/** Checks shape, data, size and values. Returns null when there is no message to look at. */
function checkMessage(request: PushRequest, exam: Examination): { fields: Fields; isDryRun: boolean } | null {
  const json = parseJson(request.body);
  if (json === undefined) {
    failMessage(exam, 'message', { message: 'Invalid JSON payload received. Unexpected token.', field: null });
    return null;
  }
  const shape = shapeFault(json);
  if (shape === null) exam.pass('message', 'every member is known and of its type');
  else failMessage(exam, 'message', shape);
  const body = fieldsOf(canonical(json));
  const fields = fieldsOf(body['message']);
  const data = dataFault(fields);
  if (data === null) exam.pass('data', 'strings, and no reserved key');
  else failMessage(exam, 'data', data);
  const value = valueFault(fields);
  if (value === null) exam.pass('values', 'within their bounds');
  else failMessage(exam, 'values', value);
  const bytes = messageBytes(fields);
  const most = typeof fields['topic'] === 'string' ? topicMessageBytesMax : messageBytesMax;
  if (bytes > most)
    exam.fail('size', refuseByFcm('MESSAGE_TOO_BIG'), `${bytes} bytes of keys and values, at most ${most}`);
  else exam.pass('size', `${bytes} bytes of ${most}`);
  const isDryRun = body['validate_only'] === true;
  if (isDryRun) exam.warn('payload', 'validate_only: examined, and sent to nobody');
  return { fields, isDryRun };
}

function failMessage(exam: Examination, name: 'message' | 'data' | 'values' | 'device', fault: MessageFault): void {
  exam.fail(name, refuseMessage(fault.message, fault.field), fault.message);
}

function unseen(target: Target): Reception {
  return {
    ...target,
    endpoint: null,
    checks: [],
    vapid: null,
    providerToken: null,
    payload: null,
    notification: null,
    answer: { status: 200, headers: {}, body: '' },
    isDelivered: false,
    streamsMax: null,
  };
}

/** An id in FCM's form: microseconds and a random tail. */
function messageId(now: number): string {
  const tail = randomInt(2 ** 32)
    .toString(16)
    .padStart(8, '0');
  return `0:${now}${String(randomInt(1000)).padStart(3, '0')}%${tail}${tail}`;
}

const parseJson = (body: Buffer): unknown => parseShallowJson(body.toString('utf8'));

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}
