/** Health and metrics, for service managers and monitoring. */
import { gatewayError } from '../../lib/errors.ts';
import { route, type Route } from '../../platform/http/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Appliance } from './service.ts';

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export function applianceRoutes(options: {
  appliance: Appliance;
  metrics: Metrics;
  version: string;
}): Route[] {
  return [
    route({
      operation: 'get_health',
      method: 'GET',
      paths: ['/healthz'],
      role: null,
      beforeClaim: true,
      handle: () => {
        if (!options.appliance.isServing())
          throw gatewayError('unavailable', 'unavailable', 'The gateway is starting.');
        return { status: 'ok', version: options.version };
      },
    }),
    route({
      operation: 'get_metrics',
      method: 'GET',
      paths: ['/metrics'],
      role: 'READONLY',
      handle: async () =>
        new Response(await options.metrics.text(), {
          headers: { 'Content-Type': METRICS_TYPE, 'Cache-Control': 'no-store' },
        }),
    }),
  ];
}
