// GET /metrics on the main port: there only while METRICS_TOKEN is set, and only for who has it.
import { ApiError } from './platform/api-error.ts';
import { hasBearer } from './platform/bearer.ts';
import { Answer, type BoundRoute } from './platform/http-server.ts';
import { metricsContentType } from './platform/metrics.ts';

export interface MetricsRouteDeps {
  /** Null: there is no such route. */
  readonly metricsToken: string | null;
  /** The text of the moment, of all processes beside this one. */
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
