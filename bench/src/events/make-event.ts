// Makes the events that ingest is measured with. Each has an id of its own and a device of the app.
// Of a hundred events, 40 are session starts, 5 are purchases, and 55 are custom events with three
// properties under twenty names.
import { randomFillSync } from 'node:crypto';

export interface TrackedEvent {
  readonly id: string;
  readonly name: string;
  readonly deviceId: string;
  readonly occurredAt: string;
  readonly properties: Readonly<Record<string, string | number>>;
}

const entropy = Buffer.alloc(16 * 1024);
let used = entropy.length;

function randomId(): string {
  if (used === entropy.length) {
    randomFillSync(entropy);
    used = 0;
  }
  used += 16;
  return entropy.toString('hex', used - 16, used);
}

const sections = ['news', 'sport', 'culture', 'weather', 'offers'];

export function makeEvent(deviceIds: readonly string[], number: number, occurredAt: string): TrackedEvent {
  const deviceId = deviceIds[Math.floor(Math.random() * deviceIds.length)] ?? '';
  const common = { id: randomId(), deviceId, occurredAt };
  const share = number % 20;
  if (share < 8) return { ...common, name: 'session_start', properties: {} };
  if (share === 8) {
    const amount = (1 + (number % 9_999)) / 100;
    return { ...common, name: 'purchase', properties: { amount, currency: 'EUR', product: `product-${number % 500}` } };
  }
  const properties = { section: sections[number % 5] ?? '', seconds: number % 300, product: `product-${number % 500}` };
  return { ...common, name: `custom_${Math.floor(number / 20) % 20}`, properties };
}

/** The JSON of an event in a request. */
export function writeEvent({ id, name, deviceId, occurredAt, properties }: TrackedEvent): string {
  return `{"id":"${id}","name":"${name}","device_id":"${deviceId}","occurred_at":"${occurredAt}","properties":${JSON.stringify(properties)}}`;
}
