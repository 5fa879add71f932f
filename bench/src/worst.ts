// Measures the work `worst`: what the worst bodies of each route cost the API's process beside plain
// ones of the same size, and what another app notices of a client key that sends nothing else
// . CPU time, because other programs may keep the machine busy.
import { cpuMsOf, median } from '../../rig/src/measure.ts';
import { progress, type Workbench } from '../../rig/src/workbench.ts';
import { consoleRoutes } from '../../server/src/console/operations/routes.ts';
import { listRoutes } from '../../server/src/console/operations/serve.ts';
import { bodyBytesDefault } from '../../server/src/ground/http/request-body.ts';
import { noFields } from '../../server/src/ground/http/server.ts';
import { apiRoutes } from '../../server/src/operation/process/api-routes.ts';
import { fillApp } from './api/fill-app.ts';
import { callForJson } from './call-api.ts';
import { watchOthers } from './costs.ts';
import { makeCredentials } from './credentials.ts';
import { type Figure, figure } from './figures.ts';
import { startOwnService } from './own-service.ts';
import type { Measured, RunOptions } from './results.ts';
import { lateFaults, type WorstBody, worstBodiesOf } from './worst/bodies.ts';
import { measureBystander } from './worst/bystander.ts';
import { type Known, plainBody } from './worst/plain.ts';
import { createSender, type Sender } from './worst/sender.ts';

/** Bodies below this are too short to matter. */
const bytesLeast = 16 * 1024;
const scales = {
  full: { warm: 9, first: 2, pairs: 9, closest: 3, seconds: 40, each: 1 },
  quick: { warm: 1, first: 1, pairs: 1, closest: 1, seconds: 2, each: 20 },
};
/**
 * A ratio above this is measured again with more pairs (this many times as many) before it counts.
 */
const doubted = { above: 1.4, pairsTimes: 3 };
/** The target of a ratio. */
const ratioMost = 1.5;

type AnyRoute = Pick<
  (typeof apiRoutes)[number] | ReturnType<typeof listRoutes>[number],
  'method' | 'path' | 'access' | 'body' | 'bodyBytesMax' | 'params'
>;

interface WorstOptions extends RunOptions {
  /** A part of a method and path; empty for all. */
  readonly routes?: string;
}

export async function measureWorst(
  workbench: Workbench,
  { isQuick, profile: profileDir, routes: routesNamed = '' }: WorstOptions,
): Promise<Measured> {
  const scale = isQuick ? scales.quick : scales.full;
  const environment = { NEW_DEVICES_PER_MINUTE: '0' };
  const { service, processes, postgres } = await startOwnService(workbench, { environment, profileDir });
  const app = await fillApp(service, 'unlimited', 20);
  const { token } = await service.run<{ token: string }>('token', 'create', '--role', 'owner');
  const { id: segmentId } = await callForJson<{ id: string }>({
    method: 'POST',
    url: `${service.url}/v1/segments`,
    key: app.serverKey,
    body: { name: 'Plain', filter: { field: 'country', op: 'exists' } },
  });
  const { id: deviceId } = await callForJson<{ id: string }>({
    method: 'POST',
    url: `${service.url}/v1/devices`,
    key: app.serverKey,
    body: { platform: 'android', token: 'known:APA91b'.padEnd(152, 'x') },
  });
  const credentials = makeCredentials({ origins: { token: 'https://oauth2.googleapis.com' } });
  const known: Known = { deviceId, externalId: app.names[0] ?? '', credentials };
  const ids: Readonly<Record<string, string>> = { app: app.id, id: segmentId, external_id: known.externalId };
  const cpuMs = async (): Promise<number> =>
    (await Promise.all(processes.api.map(cpuMsOf))).reduce((sum, each) => sum + each, 0);

  const countOthers = await watchOthers();
  const figures: Figure[] = [];
  const { measured, short } = splitRoutes();
  for (const route of measured.filter(({ method, path }) => `${method} ${path}`.includes(routesNamed))) {
    const key = route.path.startsWith('/v1/') ? app.serverKey : token;
    const path = route.path.replaceAll(/:(\w+)/g, (_all, name: string) => {
      const own = name === 'id' && route.path.includes('/devices/') ? deviceId : ids[name];
      return encodeURIComponent(own ?? route.params[name]?.example ?? name);
    });
    const send = createSender(service.port, { method: route.method, path, key });
    const found = await measureRoute(route, { send, known, cpuMs, scale });
    send.close();
    figures.push(found);
    progress(`${found.name}: ${found.beside?.ratio} ×`);
  }
  const routesMeasured = figures.length;
  for (const plan of routesNamed === '' ? ['free', 'unlimited'] : []) {
    const attacker = await fillApp(service, plan, 1);
    figures.push(...(await measureBystander(service, { plan, attacker, calm: app, seconds: scale.seconds })));
  }
  const foreignCores = await countOthers();
  await service.stop();
  return {
    isTrial: routesNamed !== '',
    params: { bytes_least: bytesLeast },
    figures: [
      figure('routes measured', routesMeasured, ''),
      figure('routes whose bodies are shorter', short.length, ''),
      ...figures,
    ],
    foreignCores,
    postgres,
  };
}

/**
 * All routes with a body: the measured ones, and those whose limit is too small to matter, because
 * only strangers or persons call them. Routes without a body all read a body in the same way, so
 * the last of each method represents them.
 */
function splitRoutes(): { readonly measured: readonly AnyRoute[]; readonly short: readonly AnyRoute[] } {
  const all: readonly AnyRoute[] = [...apiRoutes, ...listRoutes(consoleRoutes)];
  const isShort = ({ access }: AnyRoute): boolean => access === 'public' || access === 'session';
  const withBody = all.filter(({ body }) => body);
  const without = all.filter((route) => !route.body && !isShort(route) && route.path.startsWith('/v1/'));
  const stands = new Map(without.map((route) => [route.method, { ...route, body: noBody }]));
  return {
    measured: [...withBody.filter((route) => !isShort(route)), ...stands.values()],
    short: withBody.filter(isShort),
  };
}

const noBody = { schema: noFields, example: {} };

interface Means {
  readonly send: Sender;
  readonly known: Known;
  readonly cpuMs: () => Promise<number>;
  readonly scale: (typeof scales)['full'];
}

/** The size and the body that cost a route most CPU, beside a plain body of that size. */
async function measureRoute(route: AnyRoute, { send, known, cpuMs, scale }: Means): Promise<Figure> {
  const name = `${route.method} ${route.path}`;
  const { schema, example } = route.body ?? {};
  if (!schema) throw new Error(`${name} has no body`);
  const costOf = async (body: Buffer): Promise<{ readonly ms: number; readonly status: number }> => {
    const before = await cpuMs();
    const status = await send(body);
    return { ms: (await cpuMs()) - before, status };
  };
  let turns = 0;
  const plain = (bytes: number): Buffer => plainBody(name, example, bytes, turns++, known);
  // The pairs are measured in turns, because other programs slow the machine down for some seconds
  // at a time.
  const compare = async (body: Buffer, pairs: number) => {
    const ms = { worst: [] as number[], plain: [] as number[] };
    let plainStatus = 0;
    for (let i = 0; i < pairs; i++) {
      const accepted = await costOf(plain(body.length));
      plainStatus = accepted.status;
      ms.plain.push(accepted.ms);
      ms.worst.push((await costOf(body)).ms);
    }
    const [msWorst, msPlain] = [median(ms.worst), median(ms.plain)];
    return { plainStatus, msWorst, msPlain, ratio: msWorst / msPlain };
  };
  const bodies: WorstBody[] = [...worstBodiesOf(schema, example), ...(lateFaults[name] ?? [])].filter(
    (_body, i) => i % scale.each === 0,
  );
  const most = route.bodyBytesMax ?? bodyBytesDefault;
  const closest: { readonly body: WorstBody; readonly made: Buffer; readonly bodies: number }[] = [];
  for (const bytes of scale.each === 1 ? [bytesLeast, most] : [bytesLeast]) {
    for (let i = 0; i < scale.warm; i++) await costOf(plain(bytes));
    const tried: { readonly body: WorstBody; readonly made: Buffer; readonly ms: number }[] = [];
    for (const body of bodies) {
      const made = body.make(bytes - 512);
      if (made.length < bytesLeast * 0.95 || made.length > Math.min(bytes * 1.05, most)) continue;
      const costs: number[] = [];
      for (let i = 0; i < scale.first; i++) {
        const { ms, status } = await costOf(made);
        if (status === 400) costs.push(ms);
      }
      if (costs.length === scale.first) tried.push({ body, made, ms: median(costs) });
    }
    const dearest = [
      tried.toSorted((a, b) => b.ms - a.ms).slice(0, scale.closest),
      tried.toSorted((a, b) => b.ms / b.made.length - a.ms / a.made.length).slice(0, scale.closest),
    ];
    for (const { body, made } of new Set(dearest.flat())) closest.push({ body, made, bodies: tried.length });
  }
  let worst: { readonly ratio: number; readonly figure: Figure } | undefined;
  for (const { body, made, bodies: count } of closest) {
    let found = await compare(made, scale.pairs);
    if (found.ratio > doubted.above) found = await compare(made, scale.pairs * doubted.pairsTimes);
    const { ratio, msWorst, msPlain, plainStatus } = found;
    if (worst && worst.ratio >= ratio) continue;
    const what = `${name}: ${body.name}, the worst of ${count}, ${Math.round(made.length / 1024)} KiB`;
    // Answered otherwise than 200, the plain body names a missing object and costs less than an
    // accepted one.
    const beside = { side: `plain (${plainStatus})`, value: msPlain };
    worst = { ratio, figure: figure(what, msWorst, 'ms', { beside, atMost: ratioMost }) };
  }
  if (!worst) throw new Error(`${name} refuses no body`);
  return worst.figure;
}
