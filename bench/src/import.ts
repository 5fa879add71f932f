// Measures the work `import`: rows of a file a second through the built command, beside the same
// rows through the API. It also compares the command's memory for a small and for a large file. The
// rows are realistic and include browsers.
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { carillon } from '../../rig/src/command.ts';
import { peakRssMbOf } from '../../rig/src/measure.ts';
import type { Service } from '../../rig/src/service.ts';
import { plainEnvironment, progress, RunError, startProgram, type Workbench } from '../../rig/src/workbench.ts';
import { writeCell } from '../../server/src/ground/values/csv.ts';
import { personAt, type SeededDevice, type SeededUser } from '../../server/src/operation/seed/population.ts';
import { makeToken } from '../../server/src/operation/seed/tokens.ts';
import { generateVapidKeys } from '../../server/src/sending/channels/webpush/vapid.ts';
import { callForJson } from './call-api.ts';
import { watchOthers } from './costs.ts';
import { figure, figuresOf } from './figures.ts';
import { createApp } from './own-app.ts';
import { startOwnService } from './own-service.ts';
import type { Measured, RunOptions } from './results.ts';

/** Rows of the small file, whose memory the large file's memory is compared with. */
const smallRows = 10_000;
const requestsInFlight = 16;
const memoryPollMs = 50;

/** The number of rows of a file when no option gives one. */
const rowsUsual = 1_000_000;

interface ImportOptions extends RunOptions {
  readonly rows?: number;
}

export async function measureImport(
  workbench: Workbench,
  { isQuick, rows = isQuick ? 1_000 : rowsUsual }: ImportOptions,
): Promise<Measured> {
  const directory = await workbench.makeDirectory('files');
  const vapid = generateVapidKeys();
  const vapidFile = join(directory, 'vapid.json');
  await writeFile(vapidFile, JSON.stringify(vapid));
  const files = new Map<number, string>();
  for (const count of new Set([Math.min(smallRows, rows), rows])) {
    files.set(count, join(directory, `${count}.csv`));
    await writeRows(join(directory, `${count}.csv`), count, vapid.publicKey);
  }
  const { service, postgres } = await startOwnService(workbench);
  const countOthers = await watchOthers();

  const rssMb: Record<string, number> = {};
  let seconds = Number.NaN;
  for (const [count, file] of files) {
    const app = await createApp(service, `Import ${count}`);
    const done = await runImport(service, directory, [app.id, file, '--vapid-file', vapidFile]);
    if (done.document.devices.created !== count) throw new RunError(`${done.document.devices.created} of ${count}`);
    rssMb[`${count} rows`] = done.rssMb;
    seconds = done.document.seconds;
    progress(`${count} rows in ${seconds} s, ${Math.round(done.rssMb)} MB at most`);
  }
  const perSecond = rows / seconds;

  const { serverKey } = await createApp(service, 'API');
  const asked = Math.min(rows, isQuick ? 200 : 10_000);
  const askedSeconds = await registerAll(service, serverKey, asked);
  const beside = { side: `the API, ${requestsInFlight} at once`, value: asked / askedSeconds };
  return {
    isTrial: rows < rowsUsual,
    params: { rows, rows_by_api: asked },
    figures: [
      figure('rows a second', perSecond, '/s', { beside }),
      figure('the whole file', seconds, 's'),
      ...figuresOf('peak memory', rssMb, 'MB'),
    ],
    foreignCores: await countOthers(),
    postgres,
  };
}

interface Imported {
  readonly seconds: number;
  readonly devices: { readonly created: number };
}

/** Runs the command as a process and watches its memory until it ends. */
async function runImport(
  { dataDir, port }: Service,
  directory: string,
  parameters: readonly string[],
): Promise<{ document: Imported; rssMb: number }> {
  const program = await startProgram({
    parameters: [carillon, 'import', ...parameters, '--json'],
    workingDir: directory,
    environment: { ...plainEnvironment(), DATA_DIR: dataDir, PORT: String(port) },
    logFile: join(directory, 'import.log'),
    readsOutput: true,
  });
  let rssMb = 0;
  const watch = setInterval(async () => {
    rssMb = Math.max(rssMb, await peakRssMbOf(program.pid));
  }, memoryPollMs);
  let output = '';
  for await (const piece of program.child.stdout ?? []) output += piece;
  clearInterval(watch);
  if (output === '') throw new RunError(`carillon import: ${await program.lastWords()}`);
  return { document: JSON.parse(output) as Imported, rssMb };
}

/** The device and the user of each row, with the field names of the API. */
function* rowsOf(count: number): Generator<{ device: SeededDevice; user: SeededUser | null }> {
  let made = 0;
  for (let number = 0; ; number++) {
    const { user, devices } = personAt('import', number);
    for (const device of devices) {
      if (made++ === count) return;
      yield { device, user };
    }
  }
}

const userKeys = ['plan', 'age', 'orders', 'spent', 'newsletter', 'favorite', 'source'];

async function writeRows(file: string, count: number, vapidPublicKey: string): Promise<void> {
  const out = createWriteStream(file);
  out.write(
    'platform,token,vapid_public_key,locale,timezone,app_version,sdk,os,os_version,model,properties.topic,' +
      `external_id,user.first_name,user.country,user.language,${userKeys.map((key) => `user.properties.${key}`)}\n`,
  );
  for (const { device, user } of rowsOf(count)) {
    const { facts, platform } = device;
    const cells = [
      ...[platform, makeToken(device).text, platform === 'web' ? vapidPublicKey : '', facts.locale, facts.timezone],
      ...[facts.appVersion, facts.sdk, facts.os, facts.osVersion, facts.model, device.properties.get('topic')],
      ...[user?.externalId, user?.firstName, user?.country, user?.language],
      ...userKeys.map((key) => user?.properties.get(key)),
    ];
    const line = `${cells.map((cell) => writeCell(String(cell ?? ''))).join(',')}\n`;
    if (!out.write(line)) await once(out, 'drain');
  }
  out.end();
  await finished(out);
}

/**
 * Registers the same rows through the API: one request for each device and one for its user.
 * Returns the seconds that took.
 */
async function registerAll({ url }: Service, key: string, count: number): Promise<number> {
  const rows = rowsOf(count);
  const startedAt = performance.now();
  const ask = async (): Promise<void> => {
    for (const { device, user } of rows) {
      const { facts, platform, properties } = device;
      const registered = await callForJson<{ id: string }>({
        method: 'POST',
        url: `${url}/v1/devices`,
        key,
        body: {
          platform,
          token: makeToken(device).text,
          locale: facts.locale,
          timezone: facts.timezone,
          app_version: facts.appVersion,
          sdk: facts.sdk,
          os: facts.os,
          os_version: facts.osVersion,
          model: facts.model,
          properties: Object.fromEntries(properties),
        },
      });
      if (!user) continue;
      await callForJson({
        method: 'POST',
        url: `${url}/v1/users`,
        key,
        body: {
          external_id: user.externalId,
          first_name: user.firstName,
          country: user.country,
          language: user.language,
          properties: Object.fromEntries(user.properties),
          device_id: registered.id,
        },
      });
    }
  };
  await Promise.all(Array.from({ length: requestsInFlight }, ask));
  return (performance.now() - startedAt) / 1000;
}
