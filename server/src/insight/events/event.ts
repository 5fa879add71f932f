// A tracked event as a caller writes it: its fields, its limits, and the fields of a purchase
// (contract 10). Written by hand and not with a schema, because it is the service's hottest path;
// `routes.ts` describes the same fields. Pure.

import { isPathStep, pathStepProblem } from '../../ground/http/schemas.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { instantForm, parseInstant } from '../../ground/values/instant.ts';
import { isRecord } from '../../ground/values/is-record.ts';
import { type Issue, type IssueCode, issuesMax, nameOfField } from '../../ground/values/issue.ts';
import { readDeviceId } from '../../people/devices/device.ts';

export const eventsMax = 50;
export const nameLengthMax = 128;
export const externalIdLengthMax = 256;
export const idLengthMax = 128;
export const propertiesMax = 50;
export const propertyKeyLengthMax = 64;
export const propertiesBytesMax = 8_192;
/** The properties object itself is the first level. */
export const propertiesDepthMax = 5;
export const amountMax = 1_000_000_000_000;

export const eventFields = ['name', 'properties', 'device_id', 'external_id', 'id', 'occurred_at'] as const;
const knownFields: ReadonlySet<string> = new Set(eventFields);

type Values = Readonly<Record<string, unknown>>;

/**
 * The amount is exact, in the shortest decimal form of the JSON number; the currency is in upper
 * case.
 */
export interface Purchase {
  readonly amount: string;
  readonly currency: string;
}

export interface EventGiven {
  readonly name: string;
  readonly properties: Values;
  /** The properties as JSON text, as they are stored. */
  readonly propertiesText: string;
  /** The device that the caller names; it may not exist. */
  readonly deviceId: Uuid | null;
  readonly externalId: string | null;
  readonly id: string | null;
  /** Milliseconds since the epoch; null: the time at which the event is received. */
  readonly occurredAtMs: number | null;
  readonly purchase: Purchase | null;
}

type Path = readonly (string | number)[];

/** Reads one event. Otherwise adds its issues to `issues` and returns undefined. */
export function readEvent(given: unknown, at: Path, issues: Issue[]): EventGiven | undefined {
  if (!isRecord(given)) {
    issues.push(wrongType(at, 'an object'));
    return undefined;
  }
  const before = issues.length;
  for (const key in given) {
    if (issues.length >= issuesMax) return undefined;
    if (!knownFields.has(key)) refuseKey(at, key, eventFields, issues);
  }
  const name = readName(given['name'], at, issues);
  const properties = readProperties(given['properties'], at, issues);
  const purchase = name === 'purchase' && properties ? readPurchase(properties, [...at, 'properties'], issues) : null;
  const deviceId = readDevice(given['device_id'], at, issues);
  const externalId = readText(given['external_id'], at, 'external_id', externalIdLengthMax, issues);
  if (isPathStep(externalId)) issues.push(issue([...at, 'external_id'], 'invalid_value', pathStepProblem));
  const id = readId(given['id'], at, issues);
  const occurredAtMs = readTime(given['occurred_at'], at, issues);
  if (issues.length > before || name === undefined || properties === undefined) return undefined;
  const stored = purchase ? { ...properties, currency: purchase.currency } : properties;
  const propertiesText = JSON.stringify(stored);
  if (isLongerThan(propertiesText, propertiesBytesMax)) {
    issues.push(
      issue([...at, 'properties'], 'too_big', `The properties of an event have at most ${propertiesBytesMax} bytes.`),
    );
    return undefined;
  }
  return { name, properties: stored, propertiesText, purchase, deviceId, externalId, id, occurredAtMs };
}

/** Adds an issue for an unknown field. */
export function refuseKey(at: Path, key: string, allowed: readonly string[], issues: Issue[]): void {
  const path = [...at, key];
  issues.push({ path, code: 'unrecognized_keys', message: `${nameOfField(path)} is not a known field.`, allowed });
}

export function issue(path: Path, code: IssueCode, message: string): Issue {
  return { path, code, message };
}

export function wrongType(path: Path, what: string): Issue {
  return issue(path, 'invalid_type', `${nameOfField(path)} must be ${what}.`);
}

export function required(path: Path): Issue {
  return issue(path, 'required', `${nameOfField(path)} is required.`);
}

// Control characters as Unicode defines them: category Cc.
const controlCharacter = /\p{Cc}/u;

function readName(value: unknown, at: Path, issues: Issue[]): string | undefined {
  const isGood =
    typeof value === 'string' && value !== '' && value.length <= nameLengthMax && !controlCharacter.test(value);
  if (isGood && !isPathStep(value)) return value;
  const path = [...at, 'name'];
  if (value === undefined) issues.push(required(path));
  else if (typeof value !== 'string') issues.push(wrongType(path, 'a string'));
  else if (value === '') issues.push(tooShort(path));
  else if (value.length > nameLengthMax) issues.push(tooLong(path, nameLengthMax));
  else if (isPathStep(value)) issues.push(issue(path, 'invalid_value', pathStepProblem));
  else issues.push(issue(path, 'invalid_format', 'A name has no control characters.'));
  return undefined;
}

function tooShort(path: Path): Issue {
  return issue(path, 'too_small', `${nameOfField(path)} is too small: at least 1 character.`);
}

function tooLong(path: Path, most: number): Issue {
  return issue(path, 'too_big', `${nameOfField(path)} is too large: at most ${most} characters.`);
}

// Null counts as absent.
function readText(value: unknown, at: Path, field: string, lengthMax: number, issues: Issue[]): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' && value !== '' && value.length <= lengthMax) return value;
  const path = [...at, field];
  if (typeof value !== 'string') issues.push(wrongType(path, 'a string'));
  else if (value === '') issues.push(tooShort(path));
  else issues.push(tooLong(path, lengthMax));
  return null;
}

// A malformed id is treated like an unknown one.
function readDevice(value: unknown, at: Path, issues: Issue[]): Uuid | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return readDeviceId(value);
  issues.push(wrongType([...at, 'device_id'], 'a string'));
  return null;
}

const visibleAscii = /^[\x21-\x7e]*$/;

function readId(value: unknown, at: Path, issues: Issue[]): string | null {
  const id = readText(value, at, 'id', idLengthMax, issues);
  if (id === null || visibleAscii.test(id)) return id;
  issues.push(issue([...at, 'id'], 'invalid_format', 'An id is visible ASCII without spaces.'));
  return null;
}

function readTime(value: unknown, at: Path, issues: Issue[]): number | null {
  if (value === undefined || value === null) return null;
  const instant = typeof value === 'string' ? parseInstant(value) : undefined;
  if (instant) return instant.ms;
  const path = [...at, 'occurred_at'];
  const message = `It must be ${instantForm}.`;
  issues.push(typeof value === 'string' ? issue(path, 'invalid_format', message) : wrongType(path, 'a string'));
  return null;
}

const none: Values = Object.freeze({});

function readProperties(value: unknown, at: Path, issues: Issue[]): Values | undefined {
  if (value === undefined || value === null) return none;
  if (!isRecord(value)) {
    issues.push(wrongType([...at, 'properties'], 'an object'));
    return undefined;
  }
  // `__proto__` is a key like any other here: an object that JSON.parse created has it as an own
  // key.
  const keys = Object.keys(value);
  if (keys.length > propertiesMax) {
    issues.push(issue([...at, 'properties'], 'too_big', `An event has at most ${propertiesMax} properties.`));
    return undefined;
  }
  const before = issues.length;
  for (const key of keys) {
    if (issues.length >= issuesMax) return undefined;
    if (key.length > propertyKeyLengthMax) issues.push(tooLong([...at, 'properties', key], propertyKeyLengthMax));
    const fault = findFault(value[key], 1);
    if (!fault) continue;
    issues.push(issue([...at, 'properties', key, ...fault.path.reverse()], fault.code, fault.message));
  }
  return issues.length > before ? undefined : value;
}

interface Fault {
  /** The path from the innermost key outwards. */
  readonly path: (string | number)[];
  readonly code: IssueCode;
  readonly message: string;
}

// Finds values that JSON can express and the contract does not allow: numbers beyond all doubles,
// and too deep nesting.
function findFault(value: unknown, depth: number): Fault | undefined {
  if (typeof value === 'number') {
    return Number.isFinite(value)
      ? undefined
      : { path: [], code: 'invalid_value', message: 'A number must be finite.' };
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth === propertiesDepthMax) {
    return { path: [], code: 'too_deep', message: `Properties are nested at most ${propertiesDepthMax} deep.` };
  }
  // Visits values without their names, because entries of objects with new names take V8 twice as
  // long.
  const items: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  for (let i = 0; i < items.length; i++) {
    const fault = findFault(items[i], depth + 1);
    if (!fault) continue;
    fault.path.push(Array.isArray(value) ? i : (Object.keys(value)[i] ?? ''));
    return fault;
  }
  return undefined;
}

const currencyForm = /^[A-Za-z]{3}$/;

function readPurchase(properties: Values, at: Path, issues: Issue[]): Purchase | null {
  const { amount, currency } = { amount: ownOf(properties, 'amount'), currency: ownOf(properties, 'currency') };
  const amountAt = [...at, 'amount'];
  const currencyAt = [...at, 'currency'];
  const before = issues.length;
  if (amount === undefined) issues.push(required(amountAt));
  else if (typeof amount !== 'number') issues.push(wrongType(amountAt, 'a number'));
  else if (amount < 0) issues.push(issue(amountAt, 'too_small', 'The amount of a purchase is at least 0.'));
  else if (amount > amountMax) {
    issues.push(issue(amountAt, 'too_big', `The amount of a purchase is at most ${amountMax}.`));
  }
  if (currency === undefined) issues.push(required(currencyAt));
  else if (typeof currency !== 'string') issues.push(wrongType(currencyAt, 'a string'));
  else if (!currencyForm.test(currency)) {
    issues.push(issue(currencyAt, 'invalid_format', 'A currency is 3 letters, such as EUR.'));
  }
  if (issues.length > before) return null;
  // String(amount) is the shortest decimal form, and '0' for -0.
  return { amount: String(amount), currency: String(currency).toUpperCase() };
}

// Reads an own key. Null in a required field is not absent but has the wrong type.
function ownOf(values: Values, key: string): unknown {
  return Object.hasOwn(values, key) ? values[key] : undefined;
}

function isLongerThan(text: string, bytesMax: number): boolean {
  // A UTF-16 code unit takes at least one byte of UTF-8 and at most three.
  return text.length > bytesMax || (text.length * 3 > bytesMax && Buffer.byteLength(text) > bytesMax);
}
