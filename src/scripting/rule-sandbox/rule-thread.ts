/** A worker thread that runs rules. */
import { decodeAnswer } from '../../protocol/rule-sandbox.ts';
import { exactJson } from '../../lib/json.ts';
import type { MonotonicMs } from '../../lib/time.ts';
import { type HostedScript, hostScripts, type RunPort } from '#scripting/host';
import { createRuleLog } from './rule-log.ts';
import { createRun, type Run } from './rule-run.ts';
import { RuleTrace } from './rule-trace.ts';
import type { RuleTypes, StartedScript } from './thread-messages.ts';

function start({ runNowId, ...rule }: StartedScript, port: RunPort<RuleTypes>): HostedScript<RuleTypes> {
  const { clock, limits, scripts, tell } = port;
  const log = createRuleLog({
    clock,
    limits: limits.rules,
    timeZone: () => port.shared().timeZone,
    send: (entries) => tell({ type: 'log', entries }),
  });
  const usual = rule.runtimeVersion === 'V1' ? 'interval' : 'start';
  const trace = new RuleTrace({
    clock,
    limits: limits.rules.trace,
    isOn: rule.isTraced === true,
    mainCause: runNowId === undefined ? usual : 'run_now',
  });
  const lastWords = (): void => {
    log.flush();
    const runs = trace.runs();
    if (runs.length > 0) tell({ type: 'runs', runs });
  };
  const run = createRun({
    rule,
    scripts,
    clock,
    site: port.shared,
    limits,
    log,
    trace,
    send: (request, answered) =>
      void port.request(exactJson(request)).then((content) => answered(decodeAnswer(content))),
    onMainOver: () => {
      if (runNowId !== undefined) tell({ type: 'runs', id: runNowId, runs: trace.runs() });
    },
    onEnded: (how) => {
      lastWords();
      tell({ type: 'ended', how });
      port.over();
    },
    onFault: (text) => tell({ type: 'fault', text }),
  });
  run.start();
  return {
    order: (order) => {
      switch (order.type) {
        case 'changed':
          return run.changed(order);
        case 'traced':
          trace.isOn = order.isTraced;
          return;
        case 'trace':
          return tell({ type: 'runs', id: order.id, runs: trace.runs() });
        case 'run_now':
          return runNow(
            { run, trace, clock, untilMs: clock.monotonicMs() + limits.rules.trace.freeMs },
            (report) => tell({ type: 'runs', id: order.id, ...report }),
          );
      }
    },
    stop: () => {
      run.stop();
      lastWords();
    },
    usage: () => run.usage(),
  };
}

type RunsEvent = RuleTypes['event'] & { type: 'runs' };

interface Wish {
  run: Run;
  trace: RuleTrace;
  clock: RunPort<RuleTypes>['clock'];
  /** A run that goes on is waited for until then: most take some milliseconds, such as the start of the script. */
  untilMs: MonotonicMs;
}

const AGAIN_MS = 50;

function runNow(wish: Wish, tell: (report: Omit<RunsEvent, 'type' | 'id'>) => void): void {
  const { run, trace, clock, untilMs } = wish;
  const before = trace.lastNumber;
  const outcome = run.runNow((work) => trace.byHand(work));
  if (outcome === 'running' && clock.monotonicMs() < untilMs)
    clock.setTimer(AGAIN_MS, () => runNow(wish, tell));
  else if (outcome instanceof Promise) void outcome.then(() => tell({ runs: trace.runsByHand(before) }));
  else tell({ runs: [], refusal: outcome });
}

hostScripts<RuleTypes>(start);
