import { listed, route, type Route, shape } from '../../platform/http/index.ts';
import { newTargetBody, updateBody } from './request-schema.ts';
import { targetShapes, targetToWire } from './schema.ts';
import type { Targets } from './service.ts';

const TARGETS = '/v3/targets';
const TARGET = `${TARGETS}/{target_id}` as const;

/** Operations on the targets: an extension of the interface. */
export function targetRoutes(targets: Targets): Route[] {
  return [...listRoutes(targets), ...oneTargetRoutes(targets)];
}

function listRoutes(targets: Targets): Route[] {
  return [
    route({
      operation: 'list_targets',
      about: 'Where the telemetry is carried to, by name, and how far each target got.',
      answer: targetShapes.list,
      GET: [TARGETS],
      role: 'OWNER',
      handle: () => listed('targets', targets.list(), targetToWire),
    }),
    route({
      operation: 'create_target',
      about: 'Carries telemetry to one more target from now on; `history_from` sends what is stored, too.',
      answer: targetShapes.one,
      POST: [TARGETS],
      role: 'OWNER',
      body: newTargetBody,
      errors: ['400 invalid_body', '409 already_exists', '422 target_limit_reached', '503 unavailable'],
      handle: async (call) => {
        const created = await targets.create(call.body);
        call.note({ target_id: created.record.id, target_name: created.record.name });
        return { target: targetToWire(created) };
      },
    }),
  ];
}

function oneTargetRoutes(targets: Targets): Route[] {
  return [
    route({
      operation: 'get_target',
      about: 'One target, and how far it got.',
      answer: targetShapes.one,
      GET: [TARGET],
      role: 'OWNER',
      errors: ['404 target_not_found'],
      handle: (call) => ({ target: targetToWire(targets.get(call.param('target_id'))) }),
    }),
    route({
      operation: 'update_target',
      about:
        'Changes what is given; it goes on where it was. A secret that is not given stays, but another server asks for it anew.',
      answer: targetShapes.one,
      PATCH: [TARGET],
      role: 'OWNER',
      body: updateBody,
      errors: ['400 invalid_body', '404 target_not_found', '409 already_exists'],
      handle: async (call) => ({
        target: targetToWire(await targets.update(call.param('target_id'), call.body)),
      }),
    }),
    route({
      operation: 'test_target',
      about: 'Sends one sample of a test with the address and the secret that are stored.',
      answer: targetShapes.test,
      isReading: true,
      POST: [`${TARGET}/test`],
      role: 'OWNER',
      errors: ['404 target_not_found'],
      handle: async (call) => {
        const reason = await targets.test(call.param('target_id'), call.signal);
        return { test: { accepted: reason === undefined, ...(reason !== undefined && { reason }) } };
      },
    }),
    route({
      operation: 'delete_target',
      about: 'Ends it; what was not sent yet is sent to nobody.',
      answer: shape.nothing(),
      DELETE: [TARGET],
      role: 'OWNER',
      errors: ['404 target_not_found'],
      handle: (call) => targets.remove(call.param('target_id')),
    }),
  ];
}
