import { listed, query, route, type Route, shape } from '../../platform/http/index.ts';
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
      about: 'Targets of telemetry by name, with the progress of each.',
      answer: targetShapes.list,
      GET: [TARGETS],
      role: 'OWNER',
      query: query.pageQuery,
      handle: ({ query: page }) => listed('targets', targets.list(), targetToWire, page),
    }),
    route({
      operation: 'create_target',
      about: 'Adds a target that gets telemetry from now on; with `history_from` also stored telemetry.',
      answer: targetShapes.one,
      POST: [TARGETS],
      role: 'OWNER',
      body: newTargetBody,
      errors: [
        '400 invalid_body',
        '404 device_not_found',
        '409 already_exists',
        '422 target_limit_reached',
        '503 unavailable',
      ],
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
      about: 'One target and its progress.',
      answer: targetShapes.one,
      GET: [TARGET],
      role: 'OWNER',
      errors: ['404 target_not_found'],
      handle: (call) => ({ target: targetToWire(targets.get(call.param('target_id'))) }),
    }),
    route({
      operation: 'update_target',
      about:
        'Changes the given members; sending continues where it was. An absent secret stays, but another server needs it again.',
      answer: targetShapes.one,
      PATCH: [TARGET],
      role: 'OWNER',
      body: updateBody,
      errors: ['400 invalid_body', '404 target_not_found', '404 device_not_found', '409 already_exists'],
      handle: async (call) => ({
        target: targetToWire(await targets.update(call.param('target_id'), call.body)),
      }),
    }),
    route({
      operation: 'test_target',
      about: 'Sends a test sample with the stored address and secret.',
      answer: targetShapes.test,
      isReading: true,
      POST: [`${TARGET}/test`],
      role: 'OWNER',
      errors: ['404 target_not_found', '409 in_rehearsal'],
      handle: async (call) => {
        const reason = await targets.test(call.param('target_id'), call.signal);
        return { test: { accepted: reason === undefined, ...(reason !== undefined && { reason }) } };
      },
    }),
    route({
      operation: 'delete_target',
      about: 'Deletes the target; unsent data is not sent.',
      answer: shape.nothing(),
      DELETE: [TARGET],
      role: 'OWNER',
      errors: ['404 target_not_found'],
      handle: (call) => targets.remove(call.param('target_id')),
    }),
  ];
}
