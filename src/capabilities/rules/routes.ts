/** Operations of the rule engine (docs/interface/http.md#rules) and the stream of rule logs. */
import {
  type Call,
  listed,
  route,
  type Route,
  shape,
  stream,
  type Stream,
} from '../../platform/http/index.ts';
import { LIMITS } from '../../lib/limits.ts';
import { type Site, sitePaths } from '../site/index.ts';
import { dryRunBody, dryRunShape, dryRunToWire } from './dry-run-schema.ts';
import { knownSite } from './check/known-site.ts';
import { scriptWarnings } from './check/script-check.ts';
import type { Rule } from './model.ts';
import { type RunRouteOptions, runRoutes } from './run-routes.ts';
import * as wire from './schema.ts';
import type { Rules } from './service.ts';

interface RouteOptions extends RunRouteOptions {
  site: Pick<Site, 'get'>;
}

const enginePaths = (suffix: string): [string, ...string[]] => sitePaths(`/rule_engine${suffix}`);
const CHANGES = 'OWNER';

/** HTTP operations on the rule engine and its rules. */
export function ruleRoutes(options: RouteOptions): Route[] {
  return [
    ...engineRoutes(options),
    ...readingRoutes(options),
    ...changingRoutes(options),
    ...switchingRoutes(options),
    ...batchRoutes(options),
    ...versionRoutes(options),
    ...runRoutes(options),
    dryRunRoute(options),
    checkRoute(options),
  ];
}

function ruleOf({ rules }: Pick<RouteOptions, 'rules'>, call: Call): Rule {
  return rules.require(call.param('rule_id'));
}

/** The rule on the wire, after a change has taken effect. */
export async function answerWithRule(rules: Rules, rule: Rule) {
  await rules.settled([rule]);
  return answerOf({ rules }, rule);
}

const answerSoon = ({ rules }: RouteOptions, rule: Rule) => answerWithRule(rules, rule);

function answerOf({ rules }: Pick<RouteOptions, 'rules'>, rule: Rule) {
  return wire.ruleToWire(rule, rules.condition(rule));
}

function engineRoutes({ rules, site }: RouteOptions): Route[] {
  const answer = () => ({
    engine: wire.engineToWire(rules.engine(), site.get().timezone),
  });
  return [
    route({
      operation: 'get_rule_engine',
      about: 'State of the rule engine.',
      answer: wire.ruleShapes.engine,
      GET: enginePaths(''),
      role: 'READONLY',
      handle: answer,
    }),
    route({
      operation: 'create_rule_engine',
      about: 'Older form: the engine always exists; `suspend` is applied.',
      answer: wire.ruleShapes.engine,
      POST: enginePaths(''),
      role: CHANGES,
      body: wire.createEngineBody,
      handle: ({ body }) => {
        if (body.suspend === true) rules.suspend();
        if (body.suspend === false) rules.resume();
        return answer();
      },
    }),
    ...(['suspend', 'resume'] as const).map((verb) =>
      route({
        operation: `${verb}_rule_engine`,
        about:
          verb === 'suspend'
            ? 'Stops every script; flags of rules stay.'
            : 'Starts every enabled rule again.',
        answer: wire.ruleShapes.engine,
        POST: enginePaths(`/${verb}`),
        role: CHANGES,
        handle: () => {
          rules[verb]();
          return answer();
        },
      }),
    ),
  ];
}

function readingRoutes(options: RouteOptions): Route[] {
  const { rules } = options;
  return [
    route({
      operation: 'list_rules',
      about: 'Rules by id.',
      answer: wire.ruleShapes.list,
      GET: enginePaths('/rules'),
      role: 'READONLY',
      query: wire.listQuery,
      handle: ({ query }) => listed('rules', rules.all(), (rule) => answerOf(options, rule), query),
    }),
    route({
      operation: 'get_rule',
      about: 'One rule, by id or slug.',
      answer: wire.ruleShapes.one,
      GET: enginePaths('/rules/{rule_id}'),
      role: 'READONLY',
      errors: ['404 rule_not_found'],
      handle: (call) => ({ rule: answerOf(options, ruleOf(options, call)) }),
    }),
    route({
      operation: 'get_rule_logs',
      about: 'The newest entries in ascending order.',
      answer: wire.ruleShapes.logs,
      GET: enginePaths('/rules/{rule_id}/logs'),
      role: 'USER',
      query: wire.logListQuery,
      errors: ['404 rule_not_found'],
      handle: (call) => {
        const { severity: severities, limit, offset } = call.query;
        const { id } = ruleOf(options, call);
        const { entries, totalCount } = rules.logs.list(id, { severities, limit, offset });
        return { logs: entries.map(wire.logToWire), total_count: totalCount };
      },
    }),
  ];
}

function changingRoutes(options: RouteOptions): Route[] {
  const { rules } = options;
  return [
    route({
      operation: 'create_rule',
      about:
        'A script that does not compile is stored, and its log tells what is wrong. The answer waits briefly for the state STARTED; Get Rule shows a start that takes longer.',
      answer: wire.ruleShapes.one,
      POST: enginePaths('/rules'),
      role: CHANGES,
      body: wire.newRuleBody,
      errors: ['409 already_exists', '422 rule_limit_reached'],
      handle: async (call) => {
        const { slug, script, disable } = call.body;
        const rule = rules.create({
          slug,
          script,
          disabled: disable ?? false,
          by: call.principal.origin.name,
        });
        call.note({ rule_id: rule.id, rule_slug: rule.slug });
        return { rule: await answerSoon(options, rule) };
      },
    }),
    route({
      operation: 'update_rule',
      about: 'Changes the slug, or whether runs are traced; nothing restarts.',
      answer: wire.ruleShapes.one,
      PATCH: enginePaths('/rules/{rule_id}'),
      role: CHANGES,
      body: wire.updateRuleBody,
      errors: ['404 rule_not_found', '409 already_exists'],
      handle: (call) => {
        const { slug, traced } = call.body;
        const found = ruleOf(options, call);
        const rule = rules.rename(found, slug ?? found.slug);
        return {
          rule: answerOf(options, typeof traced === 'boolean' ? rules.setTraced(rule, traced) : rule),
        };
      },
    }),
    route({
      operation: 'update_rule_script',
      about: 'Replaces the whole script; a running rule restarts with it.',
      answer: wire.ruleShapes.one,
      POST: enginePaths('/rules/{rule_id}/update_script'),
      role: CHANGES,
      body: wire.updateScriptBody,
      errors: ['404 rule_not_found'],
      handle: async (call) => {
        const by = call.principal.origin.name;
        const rule = rules.updateScript(ruleOf(options, call), call.body.script, { by });
        return { rule: await answerSoon(options, rule) };
      },
    }),
  ];
}

function versionRoutes(options: RouteOptions): Route[] {
  const { rules } = options;
  const path = '/rules/{rule_id}/versions';
  return [
    route({
      operation: 'list_rule_versions',
      about: 'Extension: scripts that the rule had, newest first; the first one is its present script.',
      answer: wire.ruleShapes.versions,
      GET: enginePaths(path),
      role: 'USER',
      query: wire.listQuery,
      errors: ['404 rule_not_found'],
      handle: (call) => {
        const rule = ruleOf(options, call);
        const versions = rules.versions(rule);
        return listed('rule_versions', versions, (one) => wire.versionToWire(one, versions[0]), call.query);
      },
    }),
    route({
      operation: 'get_rule_version',
      about: 'Extension: one of them.',
      answer: wire.ruleShapes.version,
      GET: enginePaths(`${path}/{version_id}`),
      role: 'USER',
      errors: ['404 rule_not_found', '404 rule_version_not_found'],
      handle: (call) => {
        const rule = ruleOf(options, call);
        const version = rules.requireVersion(rule, call.param('version_id'));
        return { rule_version: wire.versionToWire(version, rules.versions(rule)[0]) };
      },
    }),
    route({
      operation: 'restore_rule_version',
      about:
        'Extension: gives the rule this script again, as its newest version; a running rule restarts with it.',
      answer: wire.ruleShapes.one,
      POST: enginePaths(`${path}/{version_id}/restore`),
      role: CHANGES,
      errors: ['404 rule_not_found', '404 rule_version_not_found'],
      handle: async (call) => {
        const rule = ruleOf(options, call);
        const { script, strategy } = rules.requireVersion(rule, call.param('version_id'));
        const by = call.principal.origin.name;
        return { rule: await answerSoon(options, rules.updateScript(rule, script, { strategy, by })) };
      },
    }),
  ];
}

function switchingRoutes(options: RouteOptions): Route[] {
  const { rules } = options;
  return [
    route({
      operation: 'delete_rule',
      about: 'Deletes the rule, its earlier versions, its storage and its logs.',
      answer: shape.nothing(),
      DELETE: enginePaths('/rules/{rule_id}'),
      role: CHANGES,
      errors: ['404 rule_not_found'],
      handle: (call) => {
        const { id, slug } = ruleOf(options, call);
        call.note({ rule_slug: slug });
        rules.remove([id]);
      },
    }),
    ...(['disable', 'enable'] as const).map((verb) =>
      route({
        operation: `${verb}_rule`,
        about: verb === 'disable' ? 'Stops the rule.' : 'Starts the rule, unless the engine is suspended.',
        answer: wire.ruleShapes.one,
        POST: enginePaths(`/rules/{rule_id}/${verb}`),
        role: CHANGES,
        errors: ['404 rule_not_found'],
        handle: async (call) => {
          const [rule = ruleOf(options, call)] = rules.setDisabled(
            [ruleOf(options, call).id],
            verb === 'disable',
          );
          return { rule: await answerSoon(options, rule) };
        },
      }),
    ),
  ];
}

function batchRoutes(options: RouteOptions): Route[] {
  const { rules } = options;
  const errors = ['404 rule_not_found'];
  return [
    ...(['disable', 'enable'] as const).map((verb) =>
      route({
        operation: `batch_${verb}_rules`,
        about: 'All or none; answers the rules in the order of the request.',
        answer: wire.ruleShapes.several,
        POST: enginePaths(`/rules/batch_${verb}`),
        role: CHANGES,
        body: wire.ruleIdsBody,
        errors,
        handle: async (call) => {
          const changed = rules.setDisabled(call.body.rule_ids, verb === 'disable');
          call.note({ rule_slugs: changed.map(({ slug }) => slug).join(' ') });
          await rules.settled(changed);
          return { rules: changed.map((rule) => answerOf(options, rule)) };
        },
      }),
    ),
    route({
      operation: 'batch_delete_rules',
      about: 'All or none.',
      answer: shape.nothing(),
      POST: enginePaths('/rules/batch_delete'),
      role: CHANGES,
      body: wire.ruleIdsBody,
      errors,
      handle: (call) => {
        const slugs = call.body.rule_ids.map((id) => rules.require(id).slug);
        call.note({ rule_slugs: slugs.join(' ') });
        rules.remove(call.body.rule_ids);
      },
    }),
  ];
}

function dryRunRoute({ rules }: RouteOptions): Route {
  return route({
    operation: 'dry_run_rule',
    about:
      'Extension: runs a script, or that of a rule, against the recorded telemetry of a past period in virtual ' +
      'time. It sends no commands or requests and stores nothing; the answer lists what the script would have done. One at a time.',
    answer: dryRunShape,
    POST: enginePaths('/rules/dry_run'),
    role: CHANGES,
    body: dryRunBody,
    isReading: true,
    errors: ['404 rule_not_found', '409 dry_run_active', '422 rule_sandbox_off'],
    handle: async ({ body, signal }) => ({ dry_run: dryRunToWire(await rules.dryRun(body, signal)) }),
  });
}

function checkRoute({ rules, devices }: RouteOptions): Route {
  return route({
    operation: 'check_rule',
    about:
      'Extension: checks whether a script compiles, and whether the functions, devices, attributes, properties and commands that it names exist, without running or storing it.',
    answer: wire.ruleShapes.check,
    POST: enginePaths('/rules/check'),
    role: CHANGES,
    body: wire.updateScriptBody,
    isReading: true,
    handle: ({ body }) => {
      const fault = rules.check(body.script);
      const warnings = scriptWarnings(body.script, LIMITS.rules.warnings, knownSite(devices));
      return {
        ...(fault && { fault: { message: fault.message, ...(fault.line && { line: fault.line }) } }),
        ...(warnings.length > 0 && { warnings }),
      };
    },
  });
}

/** The WebSocket stream of rule logs. */
export function ruleStreams(options: RouteOptions): Stream[] {
  const { rules } = options;
  return [
    stream({
      operation: 'stream_rule_logs',
      about: 'Entries as they are written; no history.',
      message: wire.ruleShapes.log,
      paths: [...enginePaths('/rules/{rule_id}/logs'), ...enginePaths('/rules/{rule_id}/logs/ws')],
      role: 'USER',
      query: wire.logStreamQuery,
      open: (call) => {
        const rule = ruleOf(options, call);
        const { severity } = call.query;
        return (socket) => [
          rules.events.on('log_entry', 'rule log stream', ({ entry }) => {
            if (entry.ruleId !== rule.id) return;
            if (severity?.includes(entry.severity) ?? true) socket.send(wire.logToWire(entry));
          }),
          rules.events.on('rule_deleted', 'rule log stream', ({ ruleId }) => {
            if (ruleId === rule.id) socket.close(1008, 'The rule was deleted.');
          }),
        ];
      },
    }),
  ];
}
