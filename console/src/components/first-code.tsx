// The first step of an empty page as code: the address of this service, this app's keys as far as
// they are shown, and ids that the app has.
import { useAnswer, whole } from '../api/queries.ts';
import { useAppId, useMay } from '../api/session.ts';
import { CodeBlock } from '../ui/copy.tsx';
import { curlOf } from './curl.ts';

const prefixes = { server: 'sk_live_…', client: 'ck_live_…' } as const;

/**
 * A key of this app as its list shows it, such as `sk_live_003a…6EQX`. Only its owner has the
 * complete key.
 */
export function useShownKey(scope: keyof typeof prefixes): string {
  const app = useAppId();
  const { may } = useMay('key.edit');
  const keys = useAnswer('listKeys', { app, ...whole }, { enabled: may }).data?.data;
  const key = keys?.find((each) => each.scope === scope && each.revoked_at === null);
  return key ? `${key.start}…${key.last4}` : prefixes[scope];
}

/** The ids that examples name: those of the app's first user and device, where there are any. */
function useSomeIds() {
  const app = useAppId();
  const users = useAnswer('listUsers', { app, limit: 1 }, { enabled: useMay('user.read').may });
  const devices = useAnswer('listDevices', { app, limit: 1 }, { enabled: useMay('device.read').may });
  return { user: users.data?.data[0]?.external_id ?? 'u-42', device: devices.data?.data[0]?.id };
}

export function FirstUser() {
  const key = useShownKey('server');
  const { device } = useSomeIds();
  const user = { external_id: 'u-42', first_name: 'Ada', country: 'DE', language: 'de' };
  const body = device === undefined ? user : { ...user, device_id: device };
  return <CodeBlock label="The first user" code={curlOf('/v1/users', key, body)} />;
}

export function FirstProperty() {
  const key = useShownKey('server');
  const { user } = useSomeIds();
  const body = { external_id: user, properties: { plan: 'pro', age: 30 } };
  return <CodeBlock label="The first property" code={curlOf('/v1/users', key, body)} />;
}

export function FirstEvent() {
  const key = useShownKey('server');
  const { user } = useSomeIds();
  const body = { name: 'purchase', external_id: user, properties: { amount: 79.9, currency: 'EUR' } };
  return <CodeBlock label="The first event" code={curlOf('/v1/events', key, body)} />;
}

export function FirstDevice() {
  const code = [
    "import { createCarillon } from '@carillon/web';",
    '',
    'const carillon = createCarillon({',
    `  baseUrl: '${window.location.origin}',`,
    `  clientKey: '${useShownKey('client')}', // the client key of this app`,
    '});',
    "button.addEventListener('click', () => carillon.subscribe());",
  ].join('\n');
  return <CodeBlock label="The first device" code={code} />;
}

export function FirstSend() {
  const body = { audience: { all: true }, content: { title: 'Hello', body: 'From Carillon' } };
  return <CodeBlock label="The first message" code={curlOf('/v1/messages', useShownKey('server'), body)} />;
}
