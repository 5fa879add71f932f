// GET /metrics on the main port, for callers with METRICS_TOKEN and for people of the first
// organisation who are signed in to the console. While METRICS_PORT is set, the main port serves it
// by the token alone.
import { ApiError, notFound } from '../../ground/http/api-error.ts';
import { hasBearer } from '../../ground/http/bearer.ts';
import { Answer, type BoundRoute, type RequestHead } from '../../ground/http/server.ts';
import { metricsContentType } from './registry.ts';

export interface MetricsRouteDeps {
  /** Null: there is no token for the route. */
  readonly metricsToken: string | null;
  /**
   * Throws for a request without a session of the console. Null: sessions do not open the route.
   */
  readonly admitPerson: ((head: RequestHead) => Promise<unknown>) | null;
  /** Resolves with the current metrics of this process and of all processes beside it. */
  readonly readMetrics: () => Promise<string>;
}

export function metricsRoutes<Caller>({
  metricsToken,
  admitPerson,
  readMetrics,
}: MetricsRouteDeps): BoundRoute<Caller>[] {
  if (metricsToken === null && admitPerson === null) return [];
  const read = async () => new Answer(200, { 'content-type': metricsContentType }, await readMetrics());
  return [
    {
      method: 'GET',
      path: '/metrics',
      access: 'public',
      ignoresUnknownQuery: true,
      async guard(head) {
        const [authorization, ...more] = head.header('authorization');
        const isPerson = admitPerson !== null && authorization === undefined && head.header('cookie').length > 0;
        if (isPerson) await admitPerson(head);
        else if (metricsToken === null) throw notFound();
        else if (more.length > 0 || !hasBearer(authorization, metricsToken)) {
          throw new ApiError(authorization === undefined ? 'missing_key' : 'invalid_key');
        }
        return { share: 'metrics', headers: { 'cache-control': 'no-store' }, handle: read };
      },
      handle: read,
    },
  ];
}
