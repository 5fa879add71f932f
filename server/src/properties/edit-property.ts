// An operator's changes of the catalog: declare a key, change its type, delete it. A key that was
// deleted or changed gets a new number when it returns, so that no former value is ever seen again.
// A worker clears the former values later.
import type { AuditChange } from '../audit/entry.ts';
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import type { Clock } from '../database/clock.ts';
import type { Tx } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import { keyPattern, type Property, type PropertyType, propertiesPerAppMax } from './property.ts';
import {
  countProperties,
  countValues,
  deleteProperty,
  findPropertiesByKeys,
  insertDeclaredProperty,
  insertRetired,
  listRetiredSlots,
  listSlottedAndNumbered,
  takePropertyNumbers,
} from './queries.ts';
import { assignSlots } from './slots.ts';

/** The reason why a key cannot be declared, changed or deleted, as a text for people. */
export class PropertyEditError extends Error {
  override readonly name = 'PropertyEditError';
}

export interface EditedProperty {
  readonly key: string;
  readonly type: PropertyType;
  /** Values that are no longer seen: on users' profiles and on devices themselves. */
  readonly removed: { readonly users: number; readonly devices: number };
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
    throw new PropertyEditError('A property key has 1 to 64 of A-Z a-z 0-9 _ - and begins with a letter or _.');
  }
  const number = await takePropertyNumbers(tx, appId, 1);
  const [known] = await findPropertiesByKeys(tx, appId, [key]);
  if (known) throw new PropertyEditError(`The app has a property '${key}' already: it is a ${known.type}.`);
  if ((await countProperties(tx, appId)) >= propertiesPerAppMax) {
    throw new PropertyEditError(`An app has at most ${propertiesPerAppMax} properties.`);
  }
  await insertDeclaredProperty(tx, appId, { id: number, key, type, slot: await freeSlot(deps, type) });
  await recordAudit(deps, { appId, action: 'property.declare', target: key, after: { type } });
  return { key, type, removed: { users: 0, devices: 0 } };
}

/**
 * Changes the type of a key; values of the former type are no longer seen. Throws for an unknown
 * key, and when the key has this type already.
 */
export async function changePropertyType(deps: EditDeps, key: string, type: PropertyType): Promise<EditedProperty> {
  const { tx, appId } = deps;
  const number = await takePropertyNumbers(tx, appId, 1);
  const [known] = await findPropertiesByKeys(tx, appId, [key]);
  if (!known) throw unknownKey(key);
  if (known.type === type) throw new PropertyEditError(`Property '${key}' is a ${type} already.`);
  const removed = await retire(deps, key);
  await insertDeclaredProperty(tx, appId, { id: number, key, type, slot: await freeSlot(deps, type) });
  await recordAudit(deps, { ...removal(appId, key, known.type, removed), action: 'property.change', after: { type } });
  return { key, type, removed };
}

/**
 * Deletes a key from the catalog. The next value under this key registers it again. Throws for an
 * unknown key.
 */
export async function retireProperty(deps: EditDeps, key: string): Promise<EditedProperty> {
  const { tx, appId } = deps;
  // Takes the lock on the catalog, as a transaction that adds keys does, so that a deletion and a
  // first value of the same key run one after the other.
  await takePropertyNumbers(tx, appId, 0);
  const [known] = await findPropertiesByKeys(tx, appId, [key]);
  if (!known) throw unknownKey(key);
  const removed = await retire(deps, key);
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
  { users, devices }: EditedProperty['removed'],
): Pick<AuditChange, 'appId' | 'target' | 'before'> {
  return { appId, target: key, before: { type, user_values: users, device_values: devices } };
}

async function retire({ tx, clock, appId }: EditDeps, key: string): Promise<EditedProperty['removed']> {
  const gone = await deleteProperty(tx, appId, key);
  if (!gone) throw unknownKey(key);
  await insertRetired(tx, clock, appId, gone);
  return countValues(tx, appId, gone.id);
}

async function freeSlot({ tx, appId }: EditDeps, type: PropertyType): Promise<number | null> {
  const taken: Pick<Property, 'type' | 'slot'>[] = [
    ...(await listSlottedAndNumbered(tx, appId, [])),
    ...(await listRetiredSlots(tx, appId)),
  ];
  return assignSlots(taken, [type])[0] ?? null;
}

function unknownKey(key: string): PropertyEditError {
  return new PropertyEditError(`The app has no property '${key}'.`);
}
