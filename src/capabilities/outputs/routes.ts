/** Outputs that rules set: an extension of the interface. */
import type { Role } from '../../lib/role.ts';
import { listed, route, type Route } from '../../platform/http/index.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Devices } from '../devices/index.ts';
import { sitePaths } from '../site/index.ts';
import type { Output } from './arbiter.ts';
import * as wire from './schema.ts';
import type { Outputs } from './service.ts';

interface RouteOptions {
  outputs: Outputs;
  devices: Devices;
  clock: Clock;
}

const OUTPUT = '/outputs/{output_id}';

/** HTTP operations on outputs. */
export function outputRoutes(options: RouteOptions): Route[] {
  return [listRoute(options), ...singleRoutes(options)];
}

/** The reader's role, and wall clock times for moments of the monotonic clock. */
function readerOf({ outputs, clock }: RouteOptions, role: Role) {
  const aheadMs = clock.wallMs() - clock.monotonicMs();
  return { outputs, role, wallMs: (monotonicMs: number) => monotonicMs + aheadMs };
}

/** Commands have a role that may read them. */
function maySee({ outputs }: RouteOptions, { deviceId, commands }: Output, role: Role): boolean {
  return [...commands].every((name) => outputs.shown(deviceId, { name, arguments: {} }, role) !== undefined);
}

function listRoute(options: RouteOptions): Route {
  const { outputs, devices } = options;
  return route({
    operation: 'list_outputs',
    about: 'Outputs of devices that rules set, by id: what holds, who asked for it, and what limits it.',
    answer: wire.outputShapes.list,
    GET: sitePaths('/outputs'),
    role: 'READONLY',
    query: wire.listQuery,
    errors: ['404 device_not_found'],
    handle: ({ query, principal: { role } }) => {
      const deviceIds = query['device_id.in']?.map((name) => devices.require(name).id);
      const ruleIds = query['rule_id.in'];
      const found = outputs
        .all()
        .filter(
          (output) =>
            (!deviceIds || deviceIds.includes(output.deviceId)) &&
            (!ruleIds || ruleIds.some((id) => output.requests.has(id))) &&
            maySee(options, output, role),
        );
      const isExpanded = query.expand.includes('requests');
      const reader = readerOf(options, role);
      return listed('outputs', found, (output) => wire.outputToWire(reader, output, isExpanded), query);
    },
  });
}

function singleRoutes(options: RouteOptions): Route[] {
  const { outputs } = options;
  const requireFor = (id: string, role: Role): Output => {
    const output = outputs.require(id);
    return maySee(options, output, role) ? output : outputs.require('');
  };
  return [
    route({
      operation: 'get_output',
      about: 'One output.',
      answer: wire.outputShapes.one,
      GET: sitePaths(OUTPUT),
      idsOnly: true,
      role: 'READONLY',
      query: wire.oneQuery,
      errors: ['404 output_not_found'],
      handle: (call) => {
        const { role } = call.principal;
        const output = requireFor(call.param('output_id'), role);
        const isExpanded = call.query.expand.includes('requests');
        return { output: wire.outputToWire(readerOf(options, role), output, isExpanded) };
      },
    }),
    route({
      operation: 'list_output_changes',
      about: 'Commands to the output that differed from the one before, or had another result; newest first.',
      answer: wire.outputShapes.changes,
      GET: sitePaths(`${OUTPUT}/changes`),
      idsOnly: true,
      role: 'READONLY',
      query: wire.changesQuery,
      errors: ['404 output_not_found'],
      handle: (call) => {
        const { role } = call.principal;
        const output = requireFor(call.param('output_id'), role);
        const { changes, totalCount } = outputs.changes(output, call.query.limit, call.query.offset);
        return {
          changes: changes.map((change) => wire.changeToWire(change, role)),
          total_count: totalCount,
        };
      },
    }),
  ];
}
