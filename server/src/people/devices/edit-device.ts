// Edits the stored facts of a device for a person. The device keeps its token, its status and its
// user. Facts that it reports at its next registration replace the edited ones.

import type { Sql, Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { invalid } from '../../ground/http/api-error.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import type { Environment } from '../../sending/channels/channel.ts';
import { editAsSeen, NotAsSeen } from '../../teams/audit/edit-as-seen.ts';
import type { Audited } from '../../teams/audit/record-audit.ts';
import { type DeviceFacts, factNames, mergeFacts } from '../audience/device-facts.ts';
import { type AudienceRow, getAudienceRow, updateKnownDevice } from '../audience/queries.ts';
import { changeProperties } from '../properties/change-properties.ts';
import { learnProperties, recordSightings } from '../properties/learn-properties.ts';
import {
  noChanges,
  type PropertyChanges,
  type PropertyConflict,
  type StoredProperties,
} from '../properties/property.ts';
import { type Device, type EditableValues, listChanges } from './device.ts';
import { lockDevice, updateKnown } from './queries.ts';
import { copyToAudience } from './register-device.ts';

/** An absent field keeps the stored value; null clears it. */
interface EditDevice {
  readonly appId: Uuid;
  readonly id: Uuid;
  readonly locale: string | null | undefined;
  readonly timezone: string | null | undefined;
  readonly environment: Environment | null | undefined;
  readonly properties: PropertyChanges | null | undefined;
}

interface EditedDevice {
  /** The device's own properties after the edit. */
  readonly stored: StoredProperties;
  readonly conflicts: readonly PropertyConflict[];
  /** The fields that the edit changed. */
  readonly changes: readonly (keyof EditableValues)[];
}

/**
 * Undefined: there is no such device, or `isAsSeen` refused the time of its last change. Throws the
 * 400 for too many properties, for a device that opted out, and for an environment of a device that
 * has none. The audit entry names the fields that changed, and no value; without a change there is
 * no entry.
 */
export async function editDevice(
  { sql, clock, by }: Audited & { readonly sql: Sql; readonly clock: Clock },
  request: EditDevice,
  isAsSeen: (updatedAt: Date) => boolean,
): Promise<EditedDevice | undefined> {
  const { appId, id } = request;
  return editAsSeen(
    { sql, clock, by },
    { appId, action: 'device.edit' },
    (tx) => editIn(tx, clock, request, isAsSeen),
    ({ changes }) => ({ target: encodeId('dev', id), fields: changes }),
  );
}

async function editIn(
  tx: Tx,
  clock: Clock,
  request: EditDevice,
  isAsSeen: (updatedAt: Date) => boolean,
): Promise<EditedDevice> {
  const { appId, id, ...given } = request;
  const learned = await learnProperties(tx, clock, { appId, given: given.properties ?? noChanges, mayAdd: true });
  const device = await lockDevice(tx, appId, id);
  if (!device) throw new NotAsSeen();
  const row = await getAudienceRow(tx, appId, id);
  if (!isAsSeen(device.changedAt ?? row.createdAt)) throw new NotAsSeen();
  const environment = given.environment === undefined ? device.environment : given.environment;
  if (environment !== null && device.platform !== 'ios') {
    throw invalid([{ path: ['environment'], code: 'invalid_value', message: 'environment is for ios only.' }]);
  }
  // The device may have belonged to an erased person, and nothing of that person is stored again.
  // Imports skip such a device too.
  if (device.status === 'unsubscribed' && Object.values(given).some((value) => value !== undefined)) {
    const message = 'This device opted out. It can be edited when it has registered again.';
    throw invalid([{ path: [], code: 'invalid_value', message }]);
  }
  const changed = await changeProperties(tx, appId, device.properties, learned, given.properties !== null);
  const facts = mergeFacts(row, { locale: given.locale, timezone: given.timezone });
  const { stored, catalog } = changed;
  const after = {
    facts,
    environment,
    properties: stored,
    credentialId: device.credentialId,
    lastSeenAt: row.lastSeenAt,
  };
  const { changes } = await correctDevice(tx, clock, appId, { device, row }, after, (number) => catalog.has(number));
  if (changes.includes('properties')) await copyToAudience(tx, appId, row, changed);
  await recordSightings(tx, clock, appId, learned, changed.gone);
  return { stored, conflicts: learned.conflicts, changes };
}

/** The values of a device after a correction. */
export interface CorrectedValues extends Pick<Device, 'environment' | 'properties' | 'credentialId'> {
  readonly facts: DeviceFacts;
  readonly lastSeenAt: Date;
}

/**
 * Writes what differs from the stored state of a locked device, which gave no sign of life. The
 * caller copies other properties to the audience. Returns the fields that a person may edit and
 * that differ, and whether any value differs that answers show.
 */
export async function correctDevice(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  { device, row }: { readonly device: Device; readonly row: AudienceRow },
  after: CorrectedValues,
  isLive: (number: number) => boolean,
): Promise<{ readonly changes: readonly (keyof EditableValues)[]; readonly isCorrected: boolean }> {
  const { facts, environment, credentialId, lastSeenAt } = after;
  const { id } = device;
  const changes = listChanges({ ...row, ...device }, { ...facts, ...after }, isLive);
  const effects = { startsAnew: environment !== device.environment, isChanged: changes.length > 0 };
  const hasNews = lastSeenAt > row.lastSeenAt || factNames.some((name) => facts[name] !== row[name]);
  // Sent together, so that neither waits for the answer to the other.
  await Promise.all([
    effects.isChanged || credentialId !== device.credentialId
      ? updateKnown(tx, clock, { ...after, ...effects, appId, id })
      : undefined,
    hasNews ? updateKnownDevice(tx, appId, { deviceId: id, facts, lastSeenAt }) : undefined,
  ]);
  return { changes, isCorrected: effects.isChanged || hasNews };
}
