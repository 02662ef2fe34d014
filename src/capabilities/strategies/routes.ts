import { listed, route, type Route } from '../../platform/http/index.ts';
import { answerWithRule, type Rules, ruleShapes, scriptToWire } from '../rules/index.ts';
import { sitePaths } from '../site/index.ts';
import * as wire from './schema.ts';
import type { Strategies } from './service.ts';

const STRATEGIES = '/v3/library/strategies';
const STRATEGY = `${STRATEGIES}/{strategy_id}`;

interface RouteOptions {
  strategies: Strategies;
  rules: Rules;
}

/** Operations on the library of strategies: extensions of the interface. */
export function strategyRoutes(options: RouteOptions): Route[] {
  return [...readingRoutes(options), ...makingRoutes(options)];
}

function readingRoutes({ strategies }: RouteOptions): Route[] {
  return [
    route({
      operation: 'list_library_strategies',
      about: 'Rules that the gateway can make from a few parameters, by name.',
      answer: wire.strategyShapes.list,
      GET: [STRATEGIES],
      role: 'READONLY',
      query: wire.listQuery,
      handle: ({ query }) =>
        listed(
          'strategies',
          strategies.list(query.search ?? '', query['category.in']),
          wire.strategyToWire,
          query,
        ),
    }),
    route({
      operation: 'get_library_strategy',
      about: 'A strategy with its parameters: all that a form needs.',
      answer: wire.strategyShapes.one,
      GET: [STRATEGY],
      role: 'READONLY',
      errors: ['404 strategy_not_found'],
      handle: (call) => ({ strategy: wire.entryToWire(strategies.require(call.param('strategy_id'))) }),
    }),
    route({
      operation: 'show_strategy_script',
      about: 'The script that these parameters give, for reading and for a dry run; nothing is stored.',
      answer: ruleShapes.script,
      POST: [`${STRATEGY}/script`],
      role: 'OWNER',
      body: wire.scriptBody,
      isReading: true,
      errors: ['404 strategy_not_found', '422 invalid_strategy_parameters'],
      handle: (call) => ({
        script: scriptToWire(strategies.script(call.param('strategy_id'), call.body.parameters)),
      }),
    }),
  ];
}

function makingRoutes({ strategies, rules }: RouteOptions): Route[] {
  return [
    route({
      operation: 'create_strategy_rule',
      about: 'Makes an ordinary rule that keeps the parameters it was made from.',
      answer: ruleShapes.one,
      POST: [`${STRATEGY}/rule`],
      role: 'OWNER',
      body: wire.newRuleBody,
      errors: [
        '404 strategy_not_found',
        '409 already_exists',
        '422 invalid_strategy_parameters',
        '422 rule_limit_reached',
      ],
      handle: async (call) => {
        const { slug, parameters, disable } = call.body;
        const rule = strategies.createRule(call.param('strategy_id'), {
          slug,
          disabled: disable ?? false,
          parameters,
          by: call.principal.origin.name,
        });
        call.note({ rule_id: rule.id, rule_slug: rule.slug });
        return { rule: await answerWithRule(rules, rule) };
      },
    }),
    route({
      operation: 'update_rule_parameters',
      about:
        'Extension: changes parameters of a rule that was made from a strategy; it starts again with them and keeps slug, log and storage.',
      answer: ruleShapes.one,
      POST: sitePaths('/rule_engine/rules/{rule_id}/update_parameters'),
      role: 'OWNER',
      body: wire.parametersBody,
      errors: [
        '404 rule_not_found',
        '404 strategy_not_found',
        '422 invalid_strategy_parameters',
        '422 rule_without_strategy',
      ],
      handle: async (call) => {
        const rule = rules.require(call.param('rule_id'));
        const by = call.principal.origin.name;
        const updated = strategies.updateParameters(rule, call.body.parameters, by);
        return { rule: await answerWithRule(rules, updated) };
      },
    }),
  ];
}
