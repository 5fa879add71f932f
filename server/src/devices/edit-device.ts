// Edits what is stored of a device, in the name of a person. The device keeps its token, its status
// and its user. A fact that it reports at its next registration replaces the edited one.
import { mergeFacts } from '../audience/device-facts.ts';
import { getAudienceRow, updateKnownDevice } from '../audience/queries.ts';
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import type { Environment } from '../channels/channel.ts';
import type { Clock } from '../database/clock.ts';
import { repeatOnDeadlock, type Sql, type Tx, transaction } from '../database/db.ts';
import { encodeId, type Uuid } from '../ground/ids.ts';
import { invalid } from '../http/api-error.ts';
import { changeProperties } from '../properties/change-properties.ts';
import { learnProperties, recordSightings } from '../properties/learn-properties.ts';
import {
  noChanges,
  type PropertyChanges,
  type PropertyConflict,
  type StoredProperties,
} from '../properties/property.ts';
import { findUpdatedAt, lockDevice, updateEdited } from './queries.ts';
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
}

/** The device is not there, or is not as the writer saw it: nothing is written. */
class NotAsSeen extends Error {
  override readonly name = 'NotAsSeen';
}

/**
 * Undefined: there is no such device, or `isAsSeen` refused the time of its last registration or
 * edit. Throws the 400 for too many properties, and for an environment of a device that has none.
 * The audit entry names the fields, and no value.
 */
export async function editDevice(
  { sql, clock, by }: Audited & { readonly sql: Sql; readonly clock: Clock },
  request: EditDevice,
  isAsSeen: (updatedAt: Date) => boolean,
): Promise<EditedDevice | undefined> {
  const { appId, id, ...given } = request;
  const fields = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  const edit = (): Promise<EditedDevice> =>
    transaction(sql, async (tx) => {
      const edited = await editIn(tx, clock, request, isAsSeen);
      const target = encodeId('dev', id);
      await recordAudit({ tx, clock, by }, { appId, action: 'device.edit', target, after: { fields } });
      return edited;
    });
  try {
    return await repeatOnDeadlock(edit);
  } catch (error) {
    if (error instanceof NotAsSeen) return undefined;
    throw error;
  }
}

async function editIn(
  tx: Tx,
  clock: Clock,
  request: EditDevice,
  isAsSeen: (updatedAt: Date) => boolean,
): Promise<EditedDevice> {
  const { appId, id, locale, timezone, properties } = request;
  const learned = await learnProperties(tx, clock, { appId, given: properties ?? noChanges, mayAdd: true });
  const device = await lockDevice(tx, appId, id);
  const updatedAt = await findUpdatedAt(tx, appId, id);
  if (!device || !updatedAt || !isAsSeen(updatedAt)) throw new NotAsSeen();
  const environment = request.environment === undefined ? device.environment : request.environment;
  if (environment !== null && device.platform !== 'ios') {
    throw invalid([{ path: ['environment'], code: 'invalid_value', message: 'environment is for ios only.' }]);
  }
  const changed = await changeProperties(tx, appId, device.properties, learned, properties !== null);
  const row = await getAudienceRow(tx, appId, id);
  await updateEdited(tx, clock, { appId, id, environment, properties: changed.stored });
  const facts = mergeFacts(row, { locale, timezone });
  await updateKnownDevice(tx, appId, { deviceId: id, facts, lastSeenAt: row.lastSeenAt });
  if (properties !== undefined) await copyToAudience(tx, appId, row, changed);
  await recordSightings(tx, clock, appId, learned, changed.gone);
  return { stored: changed.stored, conflicts: learned.conflicts };
}
