// Measures the work `worst`: what the worst bodies of each route cost the API's process beside plain
// ones of the same size, and what another app notices of a client key that sends nothing else
// . CPU time, because other programs may keep the machine busy.
import { cpuMsOf, median, rounded } from '../../rig/src/measure.ts';
import { findProcesses, openDatabase, readPostgresVersion, startService } from '../../rig/src/service.ts';
import { progress, type Workbench } from '../../rig/src/workbench.ts';
import { consoleRoutes } from '../../server/src/console/routes.ts';
import { listRoutes } from '../../server/src/console/serve.ts';
import { bodyBytesDefault } from '../../server/src/http/request-body.ts';
import { apiRoutes } from '../../server/src/process/api-routes.ts';
import { fillApp } from './api/fill-app.ts';
import { callForJson } from './call-api.ts';
import { watchOthers } from './costs.ts';
import { completeResult, type Result, type WorstMeasured, type WorstRoute } from './results.ts';
import { lateFaults, type WorstBody, worstBodiesOf } from './worst/bodies.ts';
import { measureBystander } from './worst/bystander.ts';
import { type Known, plainBody } from './worst/plain.ts';
import { createSender, type Sender } from './worst/sender.ts';

/** Bodies below this are too short to matter. */
const bytesLeast = 16 * 1024;
const scales = {
  full: { first: 2, again: 9, closest: 4, seconds: 20, each: 1 },
  quick: { first: 1, again: 1, closest: 1, seconds: 1, each: 20 },
};

type AnyRoute = Pick<
  (typeof apiRoutes)[number] | ReturnType<typeof listRoutes<never>>[number],
  'method' | 'path' | 'access' | 'body' | 'bodyBytesMax' | 'params'
>;

export async function measureWorst(
  workbench: Workbench,
  { isQuick, profileDir }: { readonly isQuick: boolean; readonly profileDir: string | undefined },
): Promise<Result<WorstMeasured>> {
  const scale = isQuick ? scales.quick : scales.full;
  const service = await startService(workbench, await workbench.makeDirectory('data'), {
    environment: { NEW_DEVICES_PER_MINUTE: '0' },
    nodeOptions: profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`],
  });
  const sql = await openDatabase(workbench, service);
  const { api } = await findProcesses(service, sql);
  const app = await fillApp(service, 'unlimited', 20);
  const { token } = await service.run<{ token: string }>('token', 'create', '--role', 'owner');
  const { id: segmentId } = await callForJson<{ id: string }>({
    method: 'POST',
    url: `${service.url}/v1/segments`,
    key: app.server_key,
    body: { name: 'Plain', filter: { field: 'country', op: 'exists' } },
  });
  const { id: deviceId } = await callForJson<{ id: string }>({
    method: 'POST',
    url: `${service.url}/v1/devices`,
    key: app.server_key,
    body: { platform: 'android', token: 'known:APA91b'.padEnd(152, 'x') },
  });
  const known: Known = { deviceId, externalId: app.names[0] ?? '' };
  const ids: Readonly<Record<string, string>> = { app: app.id, id: segmentId };
  const cpuMs = async (): Promise<number> => (await Promise.all(api.map(cpuMsOf))).reduce((sum, each) => sum + each, 0);

  const countOthers = await watchOthers();
  const routes: WorstRoute[] = [];
  for (const route of measuredRoutes()) {
    const key = route.path.startsWith('/v1/') ? app.server_key : token;
    const path = route.path.replaceAll(/:(\w+)/g, (_all, name: string) => {
      const isOwn = name === 'app' || (route.path.startsWith('/v1/segments/') && name === 'id');
      return encodeURIComponent(isOwn ? (ids[name] ?? '') : (route.params[name]?.example ?? name));
    });
    const send = createSender(service.port, { method: route.method, path, key });
    const found = await measureRoute(route, { send, known, cpuMs, scale });
    send.close();
    routes.push(found);
    progress(`${found.route}: ${found.ratio} × (${found.worst}, ${found.bytes} bytes)`);
  }
  const bystanders = [];
  for (const plan of ['free', 'unlimited']) {
    const attacker = await fillApp(service, plan, 1);
    bystanders.push({ plan, ...(await measureBystander(service, { attacker, calm: app, seconds: scale.seconds })) });
  }
  const foreignCores = await countOthers();
  const postgres = await readPostgresVersion(sql);
  await service.stop();
  return completeResult(
    {
      work: 'worst',
      params: { bytes_least: bytesLeast, quick: isQuick },
      ours: { routes, bystanders, foreign_cores: foreignCores },
    },
    postgres,
  );
}

/** The routes whose bodies may be long. A session or a visitor of the console has no long ones. */
function measuredRoutes(): AnyRoute[] {
  const ofConsole = listRoutes(consoleRoutes).filter(({ access }) => access === 'session-or-token');
  return [...apiRoutes, ...ofConsole].filter(
    ({ body, access }) => body !== null && body !== undefined && access !== 'public',
  );
}

interface Means {
  readonly send: Sender;
  readonly known: Known;
  readonly cpuMs: () => Promise<number>;
  readonly scale: (typeof scales)['full'];
}

/** The size and the body at which a route does worst. */
async function measureRoute(route: AnyRoute, { send, known, cpuMs, scale }: Means): Promise<WorstRoute> {
  const name = `${route.method} ${route.path}`;
  const { schema, example } = route.body ?? {};
  if (!schema) throw new Error(`${name} has no body`);
  const cost = async (make: (turn: number) => Buffer, times: number, isWanted = (_status: number) => true) => {
    const costs: number[] = [];
    for (let turn = 0; turn < times; turn++) {
      const body = make(turn);
      const before = await cpuMs();
      const status = await send(body);
      const after = await cpuMs();
      if (!isWanted(status)) return undefined;
      costs.push(after - before);
    }
    return median(costs);
  };
  let worst: WorstRoute | undefined;
  let turns = 0;
  const bodies: WorstBody[] = [...worstBodiesOf(schema, example), ...(lateFaults[name] ?? [])].filter(
    (_body, i) => i % scale.each === 0,
  );
  const most = route.bodyBytesMax ?? bodyBytesDefault;
  for (const bytes of scale.each === 1 ? [bytesLeast, most] : [bytesLeast]) {
    const plain = (): Buffer => plainBody(name, example, bytes, turns++, known);
    await cost(plain, scale.again);
    const plainMs = (await cost(plain, scale.again)) ?? Number.NaN;
    const tried: { readonly body: WorstBody; readonly ms: number }[] = [];
    for (const body of bodies) {
      const bytesOf = body.make(bytes - 1024);
      if (bytesOf.length > bytes * 1.05 || bytesOf.length > most) continue;
      const ms = await cost(
        () => bytesOf,
        scale.first,
        (status) => status === 400,
      );
      if (ms !== undefined) tried.push({ body, ms: ms * (bytes / bytesOf.length) });
    }
    for (const { body } of tried.sort((a, b) => b.ms - a.ms).slice(0, scale.closest)) {
      const bytesOf = body.make(bytes - 1024);
      const ms = ((await cost(() => bytesOf, scale.again)) ?? 0) * (bytes / bytesOf.length);
      const ratio = rounded(ms / plainMs, 2);
      if (worst && worst.ratio >= ratio) continue;
      worst = {
        route: name,
        worst: body.name,
        bytes,
        bodies: tried.length,
        ms_worst: rounded(ms),
        ms_plain: rounded(plainMs),
        ratio,
      };
    }
  }
  if (!worst) throw new Error(`${name} refuses no body`);
  return worst;
}
