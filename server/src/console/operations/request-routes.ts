// The area Log: what callers asked lately (contract 19).

import { z } from 'zod';
import { ok } from '../../ground/http/route.ts';
import { component, count, idSchema, instantText, keyId, text } from '../../ground/http/schemas.ts';
import { listChunks } from '../../insight/requests/queries.ts';
import { keptDays, keptMax, type RequestEntry } from '../../insight/requests/request-entry.ts';
import { routesOfApp } from './area.ts';

const entry = component(
  'RequestEntry',
  z.strictObject({
    request_id: idSchema('req'),
    at: instantText,
    method: z.string(),
    path: z.string().describe('Without a query. A value that is no id of Carillon is replaced by its name.'),
    status: z.int(),
    error: z.string().nullable(),
    issue: z.string().nullable().describe('Path and code of the first issue.'),
    key_id: keyId,
    key_name: z.string(),
    ms: count,
  }),
);
const note =
  'Of each app the last 1,000 refused and the last 1,000 accepted requests are kept, for 7 days at most. A crash loses the last second, and a crash of the database all of it.';
const dayMs = 86_400_000;
const shownMax = 200;

const route = routesOfApp('Log');

export const requestAreaRoutes = [
  route('listRequests', 'GET /requests', {
    least: 'viewer',
    summary: 'Recent requests of callers, newest first',
    query: z.strictObject({
      status: z
        .string()
        .regex(/^(?:[1-5]\d\d|[1-5]xx|refused|accepted)$/)
        .optional()
        .describe('A status, a class such as `4xx`, `refused` or `accepted`.'),
      path: text(256).optional().describe('The beginning of the path.'),
      key: text(128).optional().describe("A key's id, or its name."),
    }),
    answers: ok(
      `Up to ${shownMax} entries.`,
      component('RequestList', z.strictObject({ data: z.array(entry), note: z.string() }), {
        data: [
          {
            request_id: 'req_3OHYx2g8zVpD6AIcbF7kjW',
            at: '2026-11-21T10:15:30.123Z',
            method: 'POST',
            path: '/v1/messages',
            status: 400,
            error: 'validation_failed',
            issue: 'audience: required',
            key_id: 'key_02y9GVDsV2ZXUMbsiEJszB',
            key_name: 'Backend',
            ms: 3,
          },
        ],
        note,
      }),
    ),
  }).handle(async ({ sql, clock }, { caller: { app }, query: { status, path, key } }) => {
    const since = new Date(clock.nowMs() - keptDays * dayMs);
    const chunks = await listChunks(sql, app.id, since, keptMax);
    const fits = (each: RequestEntry): boolean =>
      (status === undefined || hasStatus(each.status, status)) &&
      (path === undefined || each.path.startsWith(path)) &&
      (key === undefined || each.keyId === key || each.keyName === key);
    const entries = chunks.flatMap((chunk) => chunk.entries.filter(fits)).sort((a, b) => (a.at < b.at ? 1 : -1));
    return { data: entries.slice(0, shownMax).map(present), note };
  }),
];

function hasStatus(status: number, asked: string): boolean {
  if (asked === 'refused') return status >= 400;
  if (asked === 'accepted') return status < 400;
  return asked.endsWith('xx') ? String(status).startsWith(asked.slice(0, 1)) : String(status) === asked;
}

function present({ at, requestId, method, path, status, error, issue, keyId, keyName, ms }: RequestEntry) {
  return { request_id: requestId, at, method, path, status, error, issue, key_id: keyId, key_name: keyName, ms };
}
