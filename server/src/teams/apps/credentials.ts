// Opens sealed provider credentials for senders. An opened secret is cached under its sealed text,
// so a batch costs one query and no decryption, and the next batch sees a replaced credential. No
// opened secret is logged; the audit log gets the public part.

import { type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { type Resealed, resealed, resealRows } from '../../ground/secrets/reseal.ts';
import type { Seal, SealPlace } from '../../ground/secrets/seal.ts';
import { encodeId, nilUuid, type Uuid } from '../../ground/values/ids.ts';
import type { AuditFields } from '../audit/entry.ts';
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import {
  type CredentialRecord,
  insertCredential,
  insertFormerCredential,
  listCredentials,
  replaceCurrentCredential,
  takeCredentialId,
} from './credential-queries.ts';
import { lockApp } from './queries.ts';
import { listSealedCredentials, replaceCredentialSecret, type SealedCredential } from './seal-queries.ts';

export interface OpenCredential {
  readonly id: number;
  readonly channel: string;
  readonly public: Readonly<Record<string, unknown>>;
  /** The opened secret; null when it cannot be opened, which senders treat as `not_configured`. */
  readonly secret: string | null;
  readonly isCurrent: boolean;
  /** True when the credential is suspect: until it succeeds, its refusals invalidate no device. */
  readonly isSuspect: boolean;
}

export interface Credentials {
  /**
   * Opens every credential of an app, by its number. Former ones are included, because a device
   * stays bound to the credential with which it registered.
   */
  open(appId: Uuid): Promise<ReadonlyMap<number, OpenCredential>>;
}

const rememberedMax = 1000;
const resealedAtOnce = 100;

export function createCredentials({ sql, seal }: { sql: Sql; seal: Seal }): Credentials {
  const opened = new Map<string, string | null>();
  return {
    async open(appId) {
      const credentials = new Map<number, OpenCredential>();
      for (const record of await listCredentials(sql, appId)) {
        let secret = opened.get(record.secret);
        if (secret === undefined) {
          secret = openSecret(seal, record.secret, placeOf(appId, record.id));
          if (opened.size >= rememberedMax) opened.clear();
          opened.set(record.secret, secret);
        }
        credentials.set(record.id, {
          id: record.id,
          channel: record.channel,
          public: record.public,
          secret,
          isCurrent: record.replacedAt === null,
          isSuspect: record.state === 'suspect',
        });
      }
      return credentials;
    },
  };
}

interface SaveDeps extends Audited {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly seal: Seal;
}

/** The public part with the names that documents use: `publicKey` becomes `public_key`. */
function auditFieldsOf(publicPart: Readonly<Record<string, unknown>>): AuditFields {
  return Object.fromEntries(
    Object.entries(publicPart).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      String(value),
    ]),
  );
}

/**
 * Makes a credential the current one of its channel. The former one stays readable for the devices
 * bound to it.
 */
export async function saveCredential(
  deps: SaveDeps,
  credential: { appId: Uuid; channel: string; public: Record<string, unknown>; secret: string },
  /** Throws when the present credential differs from the one that the writer saw. */
  check: (former: CredentialRecord | undefined) => void = () => undefined,
): Promise<number> {
  const { sql, clock, seal } = deps;
  return transaction(sql, async (tx: Tx) => {
    const { appId, channel } = credential;
    const id = await takeCredentialId(tx, appId);
    const former = (await listCredentials(tx, appId)).find((each) => each.channel === channel && !each.replacedAt);
    check(former);
    await replaceCurrentCredential(tx, clock, appId, channel);
    const secret = seal.seal(credential.secret, placeOf(appId, id));
    await insertCredential(tx, { appId, id, channel, public: credential.public, secret });
    await recordAudit(
      { ...deps, tx },
      {
        appId,
        action: 'channel.set',
        target: channel,
        after: auditFieldsOf(credential.public),
        ...(former && { before: auditFieldsOf(former.public) }),
      },
    );
    return id;
  });
}

/**
 * Removes the current credential of a channel: from now on the app has no such channel, and new
 * devices of it are not configured. Devices bound to the credential go on with it. False: there is
 * none.
 */
export async function removeChannel(
  deps: Omit<SaveDeps, 'seal'>,
  { appId, channel }: { readonly appId: Uuid; readonly channel: string },
): Promise<boolean> {
  return transaction(deps.sql, async (tx: Tx) => {
    await lockApp(tx, appId);
    const former = (await listCredentials(tx, appId)).find((each) => each.channel === channel && !each.replacedAt);
    if (!former) return false;
    await replaceCurrentCredential(tx, deps.clock, appId, channel);
    const change = { appId, action: 'channel.delete', target: channel } as const;
    await recordAudit({ ...deps, tx }, { ...change, before: auditFieldsOf(former.public) });
    return true;
  });
}

/**
 * Adds a credential that was current in another installation, for devices bound to it. It never
 * becomes the current one of its channel here. A credential that the app already has, by `isSame`,
 * is not added again. Returns the credential's number.
 */
export async function addFormerCredential(
  deps: SaveDeps,
  credential: { appId: Uuid; channel: string; public: Record<string, unknown>; secret: string },
  isSame: (publicPart: Readonly<Record<string, unknown>>) => boolean,
): Promise<number> {
  const { sql, clock, seal } = deps;
  const { appId, channel } = credential;
  const find = async (tx: Tx): Promise<number | undefined> =>
    (await listCredentials(tx, appId)).find((each) => each.channel === channel && isSame(each.public))?.id;
  // The app's credentials are compared first, before a number is taken.
  const known = await find(sql);
  if (known !== undefined) return known;
  return transaction(sql, async (tx: Tx) => {
    const id = await takeCredentialId(tx, appId);
    const added = await find(tx);
    if (added !== undefined) return added;
    const secret = seal.seal(credential.secret, placeOf(appId, id));
    await insertFormerCredential(tx, clock, { appId, id, channel, public: credential.public, secret });
    const after = auditFieldsOf(credential.public);
    await recordAudit({ ...deps, tx }, { appId, action: 'channel.add_former', target: channel, after });
    return id;
  });
}

/** Seals every credential, former ones too, with the current master key. */
export async function resealCredentials({ sql, seal }: { sql: Sql; seal: Seal }): Promise<Resealed> {
  return resealRows<SealedCredential>({
    list: (after = { appId: nilUuid, id: 0, secret: '' }) =>
      listSealedCredentials(sql, seal.prefix, after, resealedAtOnce),
    replace: async (row) => replaceCredentialSecret(sql, row, resealed(seal, row.secret, placeOf(row.appId, row.id))),
    nameOf: ({ appId, id }) => `credential ${id} of ${encodeId('app', appId)}`,
  });
}

function openSecret(seal: Seal, record: string, place: SealPlace): string | null {
  try {
    return seal.open(record, place).toString();
  } catch {
    return null;
  }
}

function placeOf(appId: Uuid, id: number): SealPlace {
  return { table: 'credentials', column: 'secret', rowId: String(id), appId };
}
