// What a start prints: where things are and, with an empty database of its own, the first app and its keys, once. The banner
// is for a person and goes to standard output; it is not a log line, and no key in it stands anywhere else but in
// DATA_DIR/first-run.txt (0600).
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createApp } from './apps/create-app.ts';
import { saveCredential } from './apps/credentials.ts';
import { listApps } from './apps/queries.ts';
import { generateVapidKeys } from './channels/webpush/vapid.ts';
import type { Config } from './config.ts';
import { createClock } from './platform/clock.ts';
import type { Sql } from './platform/db.ts';
import type { EmbeddedDatabase } from './platform/embedded-postgres.ts';
import type { Seal } from './platform/seal.ts';

/** Push services ask for somebody to write to. An operator's own address is set with `carillon channel set`. */
export const defaultVapidSubject = 'mailto:push@carillon.example';

export const demoAppName = 'Demo';

export interface FirstStartDeps {
  readonly sql: Sql;
  readonly seal: Seal;
  readonly config: Config;
  readonly embedded: EmbeddedDatabase | undefined;
}

/** Returns what to print once the service answers, given the address it listens on. */
export async function firstStart(deps: FirstStartDeps): Promise<(address: string | null) => string> {
  const { config, embedded, sql } = deps;
  const keys = embedded && (await listApps(sql)).length === 0 ? await makeDemoApp(deps) : undefined;
  return (address) => {
    const base = config.publicUrl ?? address ?? '';
    const lines = [
      '',
      `  Carillon is up at ${address ?? base}`,
      '',
      ...(address === null ? [] : [`  Console     ${base}/`]),
      `  Data        ${embedded ? embedded.clusterDir : 'the database of DATABASE_URL'}`,
      ...(embedded ? [`  Keys, files ${config.dataDir}`] : []),
      `  Plan        a new app is on '${config.defaultPlan}'; lift it with: npx carillon app plan APP unlimited`,
      ...(config.publicUrl === null
        ? ['  PUBLIC_URL  is not set: pushes carry the real url, and clicks on Apple endpoints are not counted']
        : []),
    ];
    if (!keys) return `${lines.join('\n')}\n\n`;
    lines.push(
      '',
      `  This is the first start. The app '${demoAppName}' was made, with these keys, shown now and kept in`,
      `  ${keys.file}:`,
      '',
      `  Server key  ${keys.serverKey}`,
      `  Client key  ${keys.clientKey}`,
      '',
      '  Ring your own browser: open this link, allow notifications, and follow the page.',
      `  Demo        ${base}/demo#${keys.clientKey}`,
    );
    return `${lines.join('\n')}\n\n`;
  };
}

interface DemoKeys {
  readonly serverKey: string;
  readonly clientKey: string;
  readonly file: string;
}

async function makeDemoApp({ sql, seal, config }: FirstStartDeps): Promise<DemoKeys> {
  const clock = await createClock(sql);
  const app = await createApp(
    { sql, clock },
    { name: demoAppName, plan: config.defaultPlan, createdBy: 'first start' },
  );
  const vapid = generateVapidKeys();
  await saveCredential(
    { sql, clock, seal },
    {
      appId: app.id,
      channel: 'webpush',
      public: { publicKey: vapid.publicKey, subject: defaultVapidSubject },
      secret: vapid.privateKey,
    },
  );
  const file = join(config.dataDir, 'first-run.txt');
  const base = config.publicUrl ?? `http://${config.host}:${config.port}`;
  const text = `Carillon, app '${demoAppName}'\n\nserver key  ${app.serverKey}\nclient key  ${app.clientKey}\ndemo        ${base}/demo#${app.clientKey}\n`;
  await writeFile(file, text, { mode: 0o600 });
  return { serverKey: app.serverKey, clientKey: app.clientKey, file };
}
