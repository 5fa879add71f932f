// Sends with stored credentials: reads each in the form that its channel takes, and remembers it.
// An unreadable credential gives `not_configured`, never an exception.

import type { OpenCredential } from '../../teams/apps/credentials.ts';
import { type ApnsCredential, parseApnsCredential } from '../channels/apns/credential.ts';
import type { Channel, ChannelId, SentPush } from '../channels/channel.ts';
import { type FcmCredential, parseServiceAccount } from '../channels/fcm/credential.ts';
import { parseVapidKeys, type WebPushCredential } from '../channels/webpush/vapid.ts';
import type { Pace, Paces } from './pace.ts';

/** A credential in the form of its channel. Only the channel knows that form. */
export interface ReadCredential {
  readonly credential: unknown;
  /** The pace that the provider asks of the credential; undefined for none. */
  readonly pace: Pace | undefined;
  /** Sends a push with this credential. The push gets its outcome. */
  send(push: SentPush<unknown>): void;
}

export interface Sender {
  /** Undefined: the credential cannot be read. */
  read(stored: OpenCredential): ReadCredential | undefined;
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

/** Makes a sender of each channel, which reads credentials in their stored form. */
export function createSenders({ webpush, apns, fcm, fcmTokenUrl, paces }: SenderChannels): Senders {
  return {
    webpush: senderFor(paces, webpush, readWebPushCredential, hostOfSubscription),
    apns: senderFor(paces, apns, readApnsCredential),
    fcm: senderFor(paces, fcm, (stored) => readFcmCredential(stored, fcmTokenUrl)),
  };
}

const rememberedMax = 1000;

function senderFor<Credential>(
  paces: Paces,
  channel: Channel<Credential>,
  read: (stored: OpenCredential) => Credential | undefined,
  hostOf: Sender['hostOf'] = () => null,
): Sender {
  // The same object for equal credentials, because channels remember facts of it.
  const known = new Map<string, Credential | undefined>();
  return {
    read(stored) {
      const key = `${stored.id} ${JSON.stringify(stored.public)} ${stored.secret}`;
      if (!known.has(key)) {
        if (known.size >= rememberedMax) known.clear();
        known.set(key, read(stored));
      }
      const credential = known.get(key);
      if (credential === undefined) return undefined;
      const { pace } = channel;
      return {
        credential,
        pace: pace && paces.ofAccount(pace.accountOf(credential), pace.rate),
        send: (push) => channel.send(push as SentPush<Credential>),
      };
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
