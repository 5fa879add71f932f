// Sets the channels of an app that `seed` makes, and reads the data of an app's channels that
// devices need. Keys for phones come from a sandbox, because the sandbox also verifies them.
// Without a sandbox only web push is set, because only Apple and Google give out keys for real
// phones.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { programName } from '../../ground/host/program-name.ts';
import type { Seal } from '../../ground/secrets/seal.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { parseApnsCredential } from '../../sending/channels/apns/credential.ts';
import { type ChannelId, environments } from '../../sending/channels/channel.ts';
import { parseServiceAccount } from '../../sending/channels/fcm/credential.ts';
import { generateVapidKeys } from '../../sending/channels/webpush/vapid.ts';
import type { CredentialRecord } from '../../teams/apps/credential-queries.ts';
import { saveCredential } from '../../teams/apps/credentials.ts';
import type { Audited } from '../../teams/audit/record-audit.ts';
import { defaultVapidSubject } from '../process/first-start.ts';
import type { AppOnDevices, SandboxDevices } from './sandbox-devices.ts';

/**
 * The bundle id of the app that the sandbox puts on an iPhone unless it is asked for another app.
 */
const sandboxBundleId = 'com.example.shop';

export async function setSeedChannels(
  deps: Audited & { readonly sql: Sql; readonly clock: Clock; readonly seal: Seal },
  appId: Uuid,
  sandbox: SandboxDevices | undefined,
): Promise<void> {
  const save = (channel: ChannelId, shown: Record<string, unknown>, secret: string) =>
    saveCredential(deps, { appId, channel, public: shown, secret });
  const { publicKey, privateKey } = generateVapidKeys();
  await save('webpush', { publicKey, subject: defaultVapidSubject }, privateKey);
  if (!sandbox) return;

  const { p8, key_id: keyId, team_id: teamId } = await sandbox.makeApnsKey();
  const apns = { keyId, teamId, bundleId: sandboxBundleId, environment: environments[0] };
  if ('issues' in parseApnsCredential({ ...apns, p8 })) throw new Error('The sandbox gave no key for APNs');
  await save('apns', apns, p8);

  const account = await sandbox.makeServiceAccount();
  const parsed = parseServiceAccount(account, sandbox.environment['FCM_TOKEN_URL'] ?? '');
  if ('issues' in parsed) throw new Error('The sandbox gave no service account for FCM');
  const { projectId, clientEmail, privateKeyId } = parsed.credential;
  await save('fcm', { projectId, clientEmail, privateKeyId }, account);
}

/**
 * Reads from the current credentials which app is on the devices. Throws an error in words where web
 * push has no keys, because browsers cannot subscribe without them.
 */
export function appOnDevices(credentials: readonly CredentialRecord[]): AppOnDevices {
  const publicOf = (channel: ChannelId): Readonly<Record<string, unknown>> | undefined =>
    credentials.find((each) => each.channel === channel && each.replacedAt === null)?.public;
  const vapidKey = publicOf('webpush')?.['publicKey'];
  if (typeof vapidKey !== 'string') {
    throw new Error(`Browsers subscribe with web push keys: ${programName} channel set APP webpush`);
  }
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  const apns = publicOf('apns');
  return {
    vapidKey,
    bundleId: text(apns?.['bundleId']),
    environment: environments.find((each) => each === apns?.['environment']),
    projectId: text(publicOf('fcm')?.['projectId']),
  };
}
