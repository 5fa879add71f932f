// The credentials of the benchmark's app. Keys are new for each run and have the shape in which
// Apple and Google issue them; Carillon and the peers use the same.
import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateVapidKeys } from '../../server/src/sending/channels/webpush/vapid.ts';

export const apnsIdentity = { keyId: 'BENCH12345', teamId: 'TEAM123456', bundleId: 'example.shop' } as const;

export interface Credentials {
  readonly vapid: { readonly publicKey: string; readonly privateKey: string };
  /** The text of a .p8 file. */
  readonly apnsKey: string;
  /** A service account with the fields of its JSON file. */
  readonly serviceAccount: Readonly<Record<string, string>>;
}

export function makeCredentials({ origins }: { readonly origins: { readonly token: string } }): Credentials {
  const format = { type: 'pkcs8', format: 'pem' } as const;
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  return {
    vapid: generateVapidKeys(),
    apnsKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export(format).toString(),
    serviceAccount: {
      type: 'service_account',
      project_id: 'carillon-bench',
      private_key_id: 'bench',
      private_key: rsa.privateKey.export(format).toString(),
      client_email: 'bench@carillon-bench.iam.gserviceaccount.com',
      token_uri: `${origins.token}/token`,
    },
  };
}

/** Writes the credentials to files in the form that the command line reads. */
export async function writeCredentials(
  { vapid, apnsKey, serviceAccount }: Credentials,
  directory: string,
): Promise<{ readonly vapidFile: string; readonly apnsKeyFile: string; readonly serviceAccountFile: string }> {
  const files = {
    vapidFile: join(directory, 'vapid.json'),
    apnsKeyFile: join(directory, 'apns.p8'),
    serviceAccountFile: join(directory, 'service-account.json'),
  };
  await writeFile(files.vapidFile, JSON.stringify(vapid));
  await writeFile(files.apnsKeyFile, apnsKey);
  await writeFile(files.serviceAccountFile, JSON.stringify(serviceAccount));
  return files;
}
