// Plain bodies of any size that the service accepts. The worst bodies are compared with them.
import { apnsIdentity, type Credentials } from '../credentials.ts';

/** The device and the user of the app under test, and credentials for it. */
export interface Known {
  readonly deviceId: string;
  readonly externalId: string;
  readonly credentials: Credentials;
}

interface Forms {
  [route: string]: (bytes: number, turn: number, known: Known) => object;
}

const filterOf = (bytes: number): object => {
  const leaves = Math.max(1, Math.ceil(bytes / 50_000));
  const value = Array.from({ length: Math.floor(bytes / leaves / 55) }, (_, i) => `${i}-`.padEnd(48, 'x'));
  return { or: Array.from({ length: leaves }, () => ({ field: 'external_id', op: 'in', value })) };
};

/** Bodies of about the requested size, by method and path. Other routes get their example. */
const forms: Forms = {
  'POST /v1/users': (bytes, _turn, { externalId }) => {
    const count = Math.min(90, Math.ceil(bytes / 1000));
    const length = Math.min(1000, Math.floor(bytes / count) - 20);
    return {
      external_id: externalId,
      properties: Object.fromEntries(Array.from({ length: count }, (_, i) => [`text_${i}`, 'x'.repeat(length)])),
    };
  },
  'POST /v1/devices': () => ({
    platform: 'android',
    token: 'worst:APA91b'.padEnd(152, 'x'),
    locale: 'de-DE',
    os: 'Android',
  }),
  'POST /v1/identify': (bytes, _turn, { deviceId, externalId }) => ({
    device_id: deviceId,
    external_id: externalId,
    user_hash: 'x'.repeat(Math.max(1, bytes - 200)),
  }),
  'POST /v1/events': (bytes) => {
    const count = Math.min(50, Math.max(1, Math.ceil(bytes / 8000)));
    const text = 'x'.repeat(Math.min(7900, Math.floor(bytes / count) - 80));
    return {
      events: Array.from({ length: count }, () => ({ name: 'article_read', properties: { section: 'news', text } })),
    };
  },
  'POST /v1/messages': (bytes) => {
    const external_ids = Array.from({ length: Math.ceil(bytes / 130) }, (_, i) => `${i}-`.padEnd(120, 'x'));
    return { audience: { external_ids }, content: { title: 'Sale' }, dry_run: true };
  },
  'POST /v1/segments': (bytes, turn) => ({ name: `Plain ${turn}`, filter: filterOf(bytes - 300) }),
  'PUT /v1/segments/:id': (bytes) => ({ name: 'Plain', filter: filterOf(bytes - 300) }),
  'POST /v1/segments/preview': (bytes) => ({ filter: filterOf(bytes - 300) }),
  'PUT /console/api/apps/:app/channels/apns': (_bytes, _turn, { credentials }) => ({
    p8: credentials.apnsKey,
    key_id: apnsIdentity.keyId,
    team_id: apnsIdentity.teamId,
    bundle_id: apnsIdentity.bundleId,
  }),
  'PUT /console/api/apps/:app/channels/fcm': (_bytes, _turn, { credentials }) => ({
    service_account_json: JSON.stringify(credentials.serviceAccount),
  }),
};

/** A body of exactly this size, filled up with white space if its fields cannot be longer. */
export function plainBody(route: string, example: unknown, bytes: number, turn: number, known: Known): Buffer {
  const text = JSON.stringify(forms[route]?.(bytes, turn, known) ?? example);
  return Buffer.from(text.padEnd(bytes, ' '));
}
