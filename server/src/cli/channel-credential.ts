// Reads the credentials for `channel set` from their files. Checks them as their channel will, so
// that an unusable credential is refused before it is stored. Shows nothing of a private key.
import { readFileSync } from 'node:fs';
import type { ChannelId } from '../channels/channel.ts';
import {
  type StorableCredential,
  storableApns,
  storableServiceAccount,
  storableVapid,
} from '../channels/store-credential.ts';
import { generateVapidKeys } from '../channels/webpush/vapid.ts';
import { defaultVapidSubject } from '../process/first-start.ts';
import { CommandError } from './command-error.ts';
import { readVapidPairs, type VapidPair } from './vapid-file.ts';

export interface CredentialOptions {
  readonly subject?: string;
  readonly vapidFile?: string;
  readonly keyFile?: string;
  readonly keyId?: string;
  readonly teamId?: string;
  readonly bundleId?: string;
  readonly environment?: string;
  readonly serviceAccount?: string;
}

type OptionName = keyof CredentialOptions;
type Public = Readonly<Record<string, unknown>>;

const optionsOfChannel: Readonly<Record<ChannelId, readonly OptionName[]>> = {
  webpush: ['subject', 'vapidFile'],
  apns: ['keyFile', 'keyId', 'teamId', 'bundleId', 'environment'],
  fcm: ['serviceAccount'],
};

/**
 * Reads and checks the given options before any database is opened. Returns a function that makes
 * the new credential from the public part of the current one, because web push keeps the current
 * subject unless another is given. Both throw a `CommandError`.
 */
export function readCredential(
  channel: ChannelId,
  options: CredentialOptions,
  fcmTokenUrl: string,
): (former: Public | undefined) => StorableCredential {
  for (const [name, value] of Object.entries(options)) {
    const belongsTo = Object.entries(optionsOfChannel).find(([, names]) => names.some((each) => each === name));
    if (value !== undefined && belongsTo && belongsTo[0] !== channel) {
      throw new CommandError(`${flagOf(name)} belongs to the channel ${belongsTo[0]}, not to ${channel}`);
    }
  }
  if (channel === 'webpush') return readVapid(options);
  const credential = channel === 'apns' ? readApns(options) : readFcm(options, fcmTokenUrl);
  return () => credential;
}

/**
 * Lists the fields of a stored credential that may be shown, under their names in the command
 * line's documents.
 */
export function describeCredential(channel: ChannelId, known: Public): readonly (readonly [string, string])[] {
  return publicFields[channel].map(([name, field]) => [name, String(known[field] ?? '')]);
}

const publicFields: Readonly<Record<ChannelId, readonly (readonly [name: string, field: string])[]>> = {
  webpush: [
    ['public_key', 'publicKey'],
    ['subject', 'subject'],
  ],
  apns: [
    ['key_id', 'keyId'],
    ['team_id', 'teamId'],
    ['bundle_id', 'bundleId'],
    ['environment', 'environment'],
  ],
  fcm: [
    ['project_id', 'projectId'],
    ['client_email', 'clientEmail'],
    ['private_key_id', 'privateKeyId'],
  ],
};

function readVapid({ subject, vapidFile }: CredentialOptions): (former: Public | undefined) => StorableCredential {
  const given = vapidFile === undefined ? undefined : readOnePair(vapidFile);
  return (former) => {
    const formerSubject = former?.['subject'];
    const keys = {
      ...(given ?? generateVapidKeys()),
      subject:
        subject ??
        given?.subject ??
        (typeof formerSubject === 'string' ? formerSubject : undefined) ??
        defaultVapidSubject,
    };
    const storable = storableVapid(keys);
    if (!('issues' in storable)) return storable;
    const [issue] = storable.issues;
    throw new CommandError(`${issue?.path.join('.')}: ${issue?.message}`);
  };
}

function readOnePair(file: string): VapidPair {
  const [pair, ...more] = readVapidPairs(file);
  if (pair && more.length === 0) return pair;
  throw new CommandError(`--vapid-file ${file} holds several pairs, and a channel has one`);
}

function readApns(options: CredentialOptions): StorableCredential {
  const file = required(options, 'apns', 'keyFile');
  const shown = {
    keyId: required(options, 'apns', 'keyId'),
    teamId: required(options, 'apns', 'teamId'),
    bundleId: required(options, 'apns', 'bundleId'),
    environment: options.environment ?? 'production',
  };
  const storable = storableApns({ ...shown, p8: readOption('keyFile', file) });
  if (!('issues' in storable)) return storable;
  const [issue] = storable.issues;
  const field = String(issue?.path[0]);
  throw new CommandError(`${field === 'p8' ? `--key-file ${file}` : flagOf(field)}: ${issue?.message}`);
}

function readFcm(options: CredentialOptions, tokenUrl: string): StorableCredential {
  const file = required(options, 'fcm', 'serviceAccount');
  const text = readOption('serviceAccount', file);
  const storable = storableServiceAccount(text, tokenUrl);
  if (!('issues' in storable)) return storable;
  const [issue] = storable.issues;
  const field = issue?.path.length ? ` ${issue.path.join('.')}:` : '';
  throw new CommandError(`--service-account ${file}:${field} ${issue?.message}`);
}

function required(options: CredentialOptions, channel: ChannelId, name: OptionName): string {
  const value = options[name];
  if (value !== undefined) return value;
  const needed = optionsOfChannel[channel].filter((each) => each !== 'environment').map(flagOf);
  throw new CommandError(`${flagOf(name)} is missing; ${channel} needs ${needed.join(', ')}`);
}

function readOption(name: OptionName, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandError(`${flagOf(name)} ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
