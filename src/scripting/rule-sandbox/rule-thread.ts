/** A worker thread that runs rules. */
import { decodeAnswer, type RuleScript } from '../../protocol/rule-sandbox.ts';
import { exactJson } from '../../lib/json.ts';
import { type HostedScript, hostScripts, type RunPort } from '#scripting/host';
import { createRuleLog } from './rule-log.ts';
import { createRun } from './rule-run.ts';
import type { RuleTypes } from './thread-messages.ts';

function start(rule: RuleScript, port: RunPort<RuleTypes>): HostedScript<RuleTypes> {
  const { clock, limits, scripts, tell } = port;
  const log = createRuleLog({
    clock,
    limits: limits.rules,
    timeZone: () => port.shared().timeZone,
    send: (entries) => tell({ type: 'log', entries }),
  });
  const run = createRun({
    rule,
    scripts,
    clock,
    site: port.shared,
    limits,
    log,
    send: (request, answered) =>
      void port.request(exactJson(request)).then((content) => answered(decodeAnswer(content))),
    onEnded: (how) => {
      log.flush();
      tell({ type: 'ended', how });
      port.over();
    },
    onFault: (text) => tell({ type: 'fault', text }),
  });
  run.start();
  return {
    order: (change) => run.changed(change),
    stop: () => {
      run.stop();
      log.flush();
    },
    usage: () => run.usage(),
  };
}

hostScripts<RuleTypes>(start);
