/** Health and metrics, for service managers and monitoring. */
import * as v from 'valibot';
import { gatewayError } from '../../lib/errors.ts';
import { type MediaAnswer, route, type Route } from '../../platform/http/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Appliance } from './service.ts';

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const healthShape = v.pipe(
  v.object({ status: v.literal('ok'), version: v.string() }),
  v.examples([{ status: 'ok', version: '0.1.0' }]),
);

const METRICS: MediaAnswer = {
  mediaType: 'text/plain',
  about: 'Metrics in the text format of Prometheus.',
};

export function applianceRoutes(options: {
  appliance: Appliance;
  metrics: Metrics;
  version: string;
}): Route[] {
  return [
    route({
      operation: 'get_health',
      about: 'Whether everything serves; for service managers and monitoring.',
      answer: healthShape,
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
      about: 'Counters and gauges of the gateway.',
      answer: METRICS,
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
