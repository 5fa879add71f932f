// Sends with stored credentials: opens each in the form that its channel takes, and remembers it.
// An unreadable credential gives `not_configured`, never an exception.

import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import type { OpenCredential } from '../../teams/apps/credentials.ts';
import { type ApnsCredential, parseApnsCredential } from '../channels/apns/credential.ts';
import type { Channel, ChannelId, Outcome, SentPush } from '../channels/channel.ts';
import { type FcmCredential, parseServiceAccount } from '../channels/fcm/credential.ts';
import { parseVapidKeys, type WebPushCredential } from '../channels/webpush/vapid.ts';
import type { Pace, Paces } from './pace.ts';

/** One push with the credential in its stored form and the device's internal id. */
export type SendRequest = Omit<SentPush<never>, 'credential' | 'deviceId'> & {
  readonly credential: OpenCredential;
  readonly device: Uuid;
};

export interface Sender {
  /**
   * True: the request will get its outcome. False: the credential cannot be read, and it gets none.
   */
  send(request: SendRequest): boolean;
  /** The pace that the provider asks of the credential; undefined for none. */
  paceOf(credential: OpenCredential): Pace | undefined;
  /** The host of a token's pushes when one credential serves many hosts; otherwise null. */
  hostOf(token: string): string | null;
  close(): Promise<void>;
}

/** The channels that this service can send by. */
export type Senders = Readonly<Partial<Record<ChannelId, Sender>>>;

export interface SenderChannels {
  readonly webpush: Channel<WebPushCredential>;
  readonly apns: Channel<ApnsCredential>;
  readonly fcm: Channel<FcmCredential>;
  /** The operator's address for Google's access tokens. */
  readonly fcmTokenUrl: string;
  readonly paces: Paces;
}

/** Makes a sender of each channel. A sender takes credentials in their stored form. */
export function createSenders({ webpush, apns, fcm, fcmTokenUrl, paces }: SenderChannels): Senders {
  return {
    webpush: senderFor(paces, webpush, readWebPushCredential, hostOfSubscription),
    apns: senderFor(paces, apns, readApnsCredential, () => null),
    fcm: senderFor(
      paces,
      fcm,
      (stored) => readFcmCredential(stored, fcmTokenUrl),
      () => null,
    ),
  };
}

/**
 * A request in the form that its channel takes. The device's public id is computed on demand,
 * because two of the three channels never ask for it.
 */
class OpenPush<Credential> implements SentPush<Credential> {
  readonly credential: Credential;
  readonly #request: SendRequest;

  constructor(request: SendRequest, credential: Credential) {
    this.credential = credential;
    this.#request = request;
  }

  get token() {
    return this.#request.token;
  }
  get messageId() {
    return this.#request.messageId;
  }
  get deviceId() {
    return encodeId('dev', this.#request.device);
  }
  get receiptToken() {
    return this.#request.receiptToken;
  }
  get clickUrl() {
    return this.#request.clickUrl;
  }
  get content() {
    return this.#request.content;
  }
  get ttlSeconds() {
    return this.#request.ttlSeconds;
  }
  get environment() {
    return this.#request.environment ?? null;
  }
  get again() {
    return this.#request.again;
  }
  isWanted(): boolean {
    return this.#request.isWanted?.() ?? true;
  }
  onOutcome(outcome: Outcome): void {
    this.#request.onOutcome(outcome);
  }
}

const rememberedMax = 1000;

function senderFor<Credential>(
  paces: Paces,
  channel: Channel<Credential>,
  read: (stored: OpenCredential) => Credential | undefined,
  hostOf: (token: string) => string | null,
): Sender {
  const opened = new Map<string, Credential | undefined>();
  const open = (stored: OpenCredential): Credential | undefined => {
    const key = `${stored.id} ${JSON.stringify(stored.public)} ${stored.secret}`;
    if (!opened.has(key)) {
      if (opened.size >= rememberedMax) opened.clear();
      opened.set(key, read(stored));
    }
    return opened.get(key);
  };
  // Remembered per object, because a batch asks with the same object up to a thousand times.
  const ofBatch = new WeakMap<OpenCredential, { credential: Credential | undefined }>();
  const openOnce = (stored: OpenCredential): Credential | undefined => {
    let known = ofBatch.get(stored);
    if (!known) {
      known = { credential: open(stored) };
      ofBatch.set(stored, known);
    }
    return known.credential;
  };
  return {
    send(request) {
      const credential = openOnce(request.credential);
      if (credential === undefined) return false;
      channel.send(new OpenPush(request, credential));
      return true;
    },
    paceOf(stored) {
      if (channel.pace === undefined) return undefined;
      const credential = openOnce(stored);
      return credential && paces.ofAccount(channel.pace.accountOf(credential), channel.pace.rate);
    },
    hostOf,
    close: () => channel.close(),
  };
}

function readWebPushCredential(stored: OpenCredential): WebPushCredential | undefined {
  const { publicKey, subject } = stored.public;
  if (stored.secret === null || typeof publicKey !== 'string' || typeof subject !== 'string') return undefined;
  const parsed = parseVapidKeys({ id: publicKey, publicKey, privateKey: stored.secret, subject });
  return 'credential' in parsed ? parsed.credential : undefined;
}

function readApnsCredential({ public: known, secret }: OpenCredential): ApnsCredential | undefined {
  const text = (field: string): string => (typeof known[field] === 'string' ? known[field] : '');
  const [keyId, teamId, bundleId] = [text('keyId'), text('teamId'), text('bundleId')];
  const parsed = parseApnsCredential({ p8: secret ?? '', keyId, teamId, bundleId, environment: text('environment') });
  return 'credential' in parsed ? parsed.credential : undefined;
}

function readFcmCredential({ secret }: OpenCredential, tokenUrl: string): FcmCredential | undefined {
  const parsed = parseServiceAccount(secret ?? '', tokenUrl);
  return 'credential' in parsed ? parsed.credential : undefined;
}

/**
 * The host of an endpoint, read without parsing, because it only names a lane and a vendor. The
 * channel itself checks the endpoint.
 */
export function hostOfSubscription(token: string): string | null {
  return /"endpoint"\s*:\s*"https:\/\/([^/?#"\\]{1,255})/.exec(token)?.[1]?.toLowerCase() ?? null;
}
