/** Operations on the runs of a rule: extensions of the interface. */
import { listed, route, type Route } from '../../platform/http/index.ts';
import type { Commands } from '../commands/index.ts';
import type { Devices } from '../devices/index.ts';
import { sitePaths } from '../site/index.ts';
import { runListQuery, runShapes, runToWire } from './run-schema.ts';
import type { Rules } from './service.ts';

export interface RunRouteOptions {
  rules: Rules;
  devices: Devices;
  commands: Pick<Commands, 'shown'>;
}

const RULE = '/rule_engine/rules/{rule_id}';

/** HTTP operations on runs. */
export function runRoutes({ rules, devices, commands }: RunRouteOptions): Route[] {
  return [
    route({
      operation: 'list_rule_runs',
      about:
        'Extension: the last traced runs of a rule, newest first, with the values they saw and what they did: those that acted ' +
        'otherwise than the one before, and the newest of the others.',
      answer: runShapes.list,
      GET: sitePaths(`${RULE}/runs`),
      role: 'USER',
      query: runListQuery,
      errors: ['404 rule_not_found'],
      handle: async (call) => {
        const { role } = call.principal;
        const runs = await rules.runs(rules.require(call.param('rule_id')));
        return listed('runs', runs, (run) => runToWire({ devices, commands, role }, run), call.query);
      },
    }),
    route({
      operation: 'run_rule',
      about:
        'Extension: runs the rule once now, whatever its schedule, and answers with these runs when they have ended, after 12 s ' +
        'at the latest.',
      answer: runShapes.several,
      POST: sitePaths(`${RULE}/run`),
      role: 'OWNER',
      errors: [
        '404 rule_not_found',
        '409 rule_disabled',
        '409 rule_engine_suspended',
        '409 rule_running',
        '422 rule_broken',
        '422 rule_sandbox_off',
        '422 rule_without_functions',
      ],
      handle: async (call) => {
        const rule = rules.require(call.param('rule_id'));
        const { role } = call.principal;
        const runs = await rules.runNow(rule);
        return { runs: runs.map((run) => runToWire({ devices, commands, role }, run)) };
      },
    }),
  ];
}
