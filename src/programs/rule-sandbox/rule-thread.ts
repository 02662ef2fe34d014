/**
 * A worker thread that runs rules. It tells through shared memory whose slice it is, so that the main thread
 * can end it when a script is stuck inside the C library.
 */
import { randomBytes } from 'node:crypto';
import { Rota, Scripts, type Turns } from '../../lua/index.ts';
import { createSystemClock, nextTurn } from '../../platform/clock/index.ts';
import { connectThread } from '../../platform/threads/index.ts';
import type { RuleAnswer, RuleScript, SandboxSite } from '../../protocol/rule-sandbox.ts';
import { dryRun } from './dry-run/dry-run.ts';
import { createRuleLog, type RuleLog } from './rule-log.ts';
import { createRun, type Run } from './rule-run.ts';
import { type FromThread, type ThreadData, type ToThread, WATCH_WORDS } from './thread-messages.ts';

interface Seated {
  rule: RuleScript;
  run: Run;
  log: RuleLog;
}

const port = connectThread<ThreadData, ToThread, FromThread>();
const { limits } = port.data;
const clock = createSystemClock();
const watch = new Int32Array(port.data.watch);
const runs = new Map<number, Seated>();
const runOfTurns = new WeakMap<Turns, number>();
const answers = new Map<number, (answer: RuleAnswer) => void>();
let site: SandboxSite = port.data.site;
let lastQuestion = 0;
let release: { cancel(): void } | undefined;

const rota = new Rota({
  clock,
  nextTurn,
  limits: limits.lua,
  onSlice: (_seat, isRunning, turns) => tellSlice(isRunning ? (runOfTurns.get(turns) ?? 0) : 0),
});
const scripts = new Scripts({
  clock,
  monotonicMs: () => clock.monotonicMs(),
  rota,
  limits: limits.lua,
  seed: (bytes = randomBytes) => {
    const seed = bytes(16);
    return [seed.readBigInt64LE(0), seed.readBigInt64LE(8)];
  },
});

/** A slice of a run begins, or, with 0, it ended. */
function tellSlice(run: number): void {
  Atomics.add(watch, WATCH_WORDS.slices, 1);
  Atomics.store(watch, WATCH_WORDS.run, run);
}

function start(rule: RuleScript, number: number): void {
  const log = createRuleLog({
    clock,
    limits: limits.rules,
    send: (entries) => port.post({ type: 'log', run: number, entries }),
  });
  // Questions of one run that are open when it ends.
  const open = new Set<number>();
  const run = createRun({
    rule,
    scripts,
    clock,
    site: () => site,
    limits,
    log,
    send: (question, answered) => {
      const id = ++lastQuestion;
      open.add(id);
      answers.set(id, (answer) => {
        open.delete(id);
        answered(answer);
      });
      port.post({ type: 'request', run: number, id, question });
    },
    onState: (script) => {
      runOfTurns.set(script.turns, number);
      // Another one was given up for it, unless it is the first.
      releaseSoon();
    },
    onEnded: (how) => {
      end(number);
      port.post({ type: 'ended', run: number, how });
    },
    onFault: (text) => port.post({ type: 'fault', ruleId: rule.id, text }),
  });
  runs.set(number, { rule, run, log });
  openQuestions.set(number, open);
  run.start();
}

const openQuestions = new Map<number, Set<number>>();

/** A state that is gone holds up to its bound until it is collected, and V8 sees little reason to. */
function releaseSoon(): void {
  release ??= clock.setTimer(limits.rules.releaseMs, () => {
    release = undefined;
    globalThis.gc?.();
  });
}

function end(number: number): void {
  releaseSoon();
  for (const id of openQuestions.get(number) ?? []) answers.delete(id);
  openQuestions.delete(number);
  runs.get(number)?.log.flush();
  runs.delete(number);
}

/** In a thread of its own: it would keep rules beside it waiting. */
async function startDryRun({ rule, run, period }: ToThread & { type: 'dry_run' }): Promise<void> {
  const report = await dryRun({
    rule,
    period,
    site: () => site,
    limits,
    clock,
    nextTurn,
    ask: (question) =>
      new Promise((resolve) => {
        const id = ++lastQuestion;
        answers.set(id, resolve);
        port.post({ type: 'dry_run_request', run, id, question });
      }),
    tell: (entry) => port.post({ type: 'dry_run_entry', run, entry }),
    onSlice: (isRunning) => tellSlice(isRunning ? run : 0),
    onFault: (text) => port.post({ type: 'fault', ruleId: rule.id, text }),
  });
  port.post({ type: 'dry_run_over', run, report });
}

function usage(): FromThread {
  return {
    type: 'usage',
    usage: [...runs.values()].map(({ rule, run }) => ({
      ruleId: rule.id,
      memoryBytes: run.memoryBytes,
      processorMs: Math.round(run.processorMs),
    })),
  };
}

port.onMessage((message) => {
  switch (message.type) {
    case 'start':
      start(message.rule, message.run);
      break;
    case 'stop':
      runs.get(message.run)?.run.stop();
      end(message.run);
      port.post({ type: 'stopped', run: message.run });
      break;
    case 'site':
      site = message.site;
      break;
    case 'answer': {
      const answered = answers.get(message.id);
      answers.delete(message.id);
      answered?.(message.answer);
      break;
    }
    case 'changed':
      runs.get(message.run)?.run.changed(message.watchId, message.value, message.timestampMs);
      break;
    case 'dry_run':
      void startDryRun(message);
      break;
    case 'usage':
      port.post(usage());
  }
});
