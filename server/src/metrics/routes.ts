// GET /metrics on the main port. It exists only while METRICS_TOKEN is set, and only for callers
// with this token.
import { ApiError } from '../http/api-error.ts';
import { hasBearer } from '../http/bearer.ts';
import { Answer, type BoundRoute } from '../http/server.ts';
import { metricsContentType } from './registry.ts';

export interface MetricsRouteDeps {
  /** Null: the route does not exist. */
  readonly metricsToken: string | null;
  /** Resolves with the current metrics of this process and of all processes beside it. */
  readonly readMetrics: () => Promise<string>;
}

export function metricsRoutes<Caller>({ metricsToken, readMetrics }: MetricsRouteDeps): BoundRoute<Caller>[] {
  if (metricsToken === null) return [];
  return [
    {
      method: 'GET',
      path: '/metrics',
      access: 'public',
      ignoresUnknownQuery: true,
      async handle(request) {
        const [authorization, ...more] = request.header('authorization');
        if (more.length > 0 || !hasBearer(authorization, metricsToken)) {
          throw new ApiError(authorization === undefined ? 'missing_key' : 'invalid_key');
        }
        return new Answer(200, { 'content-type': metricsContentType }, await readMetrics());
      },
    },
  ];
}
