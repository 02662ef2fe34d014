/** Operations on blueprints (http-contract.md 9.4). */
import { route, type Route } from '../../platform/http/index.ts';
import { toWire } from './schema.ts';
import type { BlueprintService } from './service.ts';

export function blueprintRoutes(service: BlueprintService): Route[] {
  return [
    route({
      operation: 'get_blueprint',
      method: 'GET',
      paths: ['/v3/blueprints/{blueprint_id}'],
      role: 'READONLY',
      errors: ['404 blueprint_not_found'],
      handle: (call) => ({ blueprint: toWire(service.require(call.params['blueprint_id'] ?? '')) }),
    }),
    route({
      operation: 'get_blueprint_by_name',
      method: 'GET',
      paths: ['/v3/blueprints/{namespace}/{blueprint_name}/{tag}'],
      role: 'READONLY',
      errors: ['404 blueprint_not_found'],
      handle: ({ params }) => ({
        blueprint: toWire(
          service.requireByName(
            params['namespace'] ?? '',
            params['blueprint_name'] ?? '',
            params['tag'] ?? '',
          ),
        ),
      }),
    }),
  ];
}
