// The app that a benchmark measures with: its own, without limits, with VAPID keys made by the command line.
import { callForJson } from './call-api.ts';
import type { Service } from './service.ts';
import { BenchError } from './workbench.ts';

export interface OwnApp {
  readonly id: string;
  readonly serverKey: string;
  readonly clientKey: string;
  /** What browsers subscribe with, base64url. */
  readonly vapidKey: string;
}

export async function makeApp(service: Service): Promise<OwnApp> {
  const app = await service.run<{ id: string; server_key: string; client_key: string }>(
    'app',
    'create',
    'Benchmark',
    '--plan',
    'unlimited',
  );
  await service.run('channel', 'set', app.id, 'webpush');
  const { vapid_public_key: vapidKey } = await callForJson<{ vapid_public_key: string | null }>({
    method: 'GET',
    url: `${service.url}/v1/config`,
    key: app.client_key,
  });
  if (vapidKey === null) throw new BenchError('the app has no VAPID key');
  return { id: app.id, serverKey: app.server_key, clientKey: app.client_key, vapidKey };
}
