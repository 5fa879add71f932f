// An operator's changes of the catalog: declare a key, change its type, delete it. A key that was
// deleted or changed gets a new number when it returns, so that no former value is ever seen again.
// A worker clears the former values later.

import type { Sql, Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { AuditChange } from '../../teams/audit/entry.ts';
import { type Audited, recordAudit } from '../../teams/audit/record-audit.ts';
import { keyPattern, type PropertyType, propertiesPerAppMax } from './property.ts';
import {
  countProperties,
  countValues,
  deleteProperty,
  findPropertiesByKeys,
  insertDeclaredProperty,
  insertRetired,
  listTakenSlots,
  takePropertyNumbers,
} from './queries.ts';
import { assignSlots } from './slots.ts';

/** The reason why a key cannot be declared, changed or deleted, as a text for people. */
export class PropertyEditError extends Error {
  override readonly name = 'PropertyEditError';
  /** The code of the issue, or of the refusal `not_found`. */
  readonly code: 'invalid_format' | 'invalid_value' | 'name_taken' | 'too_many_properties' | 'not_found';

  constructor(code: PropertyEditError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

export interface EditedProperty {
  readonly key: string;
  readonly type: PropertyType;
  /**
   * The numbers of values that are no longer seen, on users' profiles and on devices themselves.
   */
  readonly removed: { readonly users: number; readonly devices: number };
}

/** The numbers of values under a key, on users' profiles and on devices themselves. */
export type HeldValues = EditedProperty['removed'];

/**
 * Counts the values that a change of type or a deletion removes. It reads every user and device of
 * the app, so it runs before the change's transaction, which holds the lock of the catalog. None
 * for an unknown key.
 */
export async function countHeldValues(sql: Sql, appId: Uuid, key: string): Promise<HeldValues> {
  const [known] = await findPropertiesByKeys(sql, appId, [key]);
  return known ? countValues(sql, appId, known.id) : { users: 0, devices: 0 };
}

interface EditDeps extends Audited {
  readonly tx: Tx;
  readonly clock: Clock;
  readonly appId: Uuid;
}

/**
 * Registers a key before its first value. Throws when the catalog has the key already or is full.
 */
export async function declareProperty(deps: EditDeps, key: string, type: PropertyType): Promise<EditedProperty> {
  const { tx, appId } = deps;
  if (!keyPattern.test(key)) {
    throw new PropertyEditError(
      'invalid_format',
      'A property key has 1 to 64 of A-Z a-z 0-9 _ - and begins with a letter or _.',
    );
  }
  const number = await takePropertyNumbers(tx, appId, 1);
  const [known] = await findPropertiesByKeys(tx, appId, [key]);
  if (known)
    throw new PropertyEditError('name_taken', `The app has a property '${key}' already: it is a ${known.type}.`);
  if ((await countProperties(tx, appId)) >= propertiesPerAppMax) {
    throw new PropertyEditError('too_many_properties', `An app has at most ${propertiesPerAppMax} properties.`);
  }
  await insertDeclaredProperty(tx, appId, { id: number, key, type, slot: await freeSlot(deps, type) });
  await recordAudit(deps, { appId, action: 'property.declare', target: key, after: { type } });
  return { key, type, removed: { users: 0, devices: 0 } };
}

/**
 * Changes the type of a key; values of the former type are no longer seen. `removed` was counted
 * before. Throws for an unknown key, and when the key has this type already.
 */
export async function changePropertyType(
  deps: EditDeps,
  key: string,
  type: PropertyType,
  removed: HeldValues,
): Promise<EditedProperty> {
  const { tx, appId } = deps;
  const number = await takePropertyNumbers(tx, appId, 1);
  const [known] = await findPropertiesByKeys(tx, appId, [key]);
  if (!known) throw unknownKey(key);
  if (known.type === type) throw new PropertyEditError('invalid_value', `Property '${key}' is a ${type} already.`);
  await retire(deps, key);
  await insertDeclaredProperty(tx, appId, { id: number, key, type, slot: await freeSlot(deps, type) });
  await recordAudit(deps, { ...removal(appId, key, known.type, removed), action: 'property.change', after: { type } });
  return { key, type, removed };
}

/**
 * Deletes a key from the catalog. The next value under this key registers it again. `removed` was
 * counted before. Throws for an unknown key.
 */
export async function retireProperty(deps: EditDeps, key: string, removed: HeldValues): Promise<EditedProperty> {
  const { tx, appId } = deps;
  // Takes the lock on the catalog, as a transaction that adds keys does, so that a deletion and a
  // first value of the same key run one after the other.
  await takePropertyNumbers(tx, appId, 0);
  const [known] = await findPropertiesByKeys(tx, appId, [key]);
  if (!known) throw unknownKey(key);
  await retire(deps, key);
  await recordAudit(deps, { ...removal(appId, key, known.type, removed), action: 'property.delete' });
  return { key, type: known.type, removed };
}

/**
 * Describes the deleted key for the audit log by the number of its values. The values themselves
 * are personal data.
 */
function removal(
  appId: Uuid,
  key: string,
  type: PropertyType,
  { users, devices }: HeldValues,
): Pick<AuditChange, 'appId' | 'target' | 'before'> {
  return { appId, target: key, before: { type, user_values: users, device_values: devices } };
}

async function retire({ tx, clock, appId }: EditDeps, key: string): Promise<void> {
  const gone = await deleteProperty(tx, appId, key);
  if (!gone) throw unknownKey(key);
  await insertRetired(tx, clock, appId, gone);
}

async function freeSlot({ tx, appId }: EditDeps, type: PropertyType): Promise<number | null> {
  return assignSlots(await listTakenSlots(tx, appId), [type])[0] ?? null;
}

function unknownKey(key: string): PropertyEditError {
  return new PropertyEditError('not_found', `The app has no property '${key}'.`);
}
