/** The rule sandbox as a child process, with a gateway that answers at once: for benchmarks. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROGRAMS } from '../build.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { createMetrics } from '../../src/platform/metrics/index.ts';
import { Processes } from '../../src/platform/processes/index.ts';
import {
  decodeFromSandbox,
  encodeSandboxMessage,
  type FromSandbox,
  RULE_SANDBOX_PROGRAM,
  type RuleAnswer,
  type RuleRequest,
} from '../../src/protocol/rule-sandbox.ts';
import { packPrograms } from './packed-programs.ts';

export interface SandboxUnderTest {
  start(id: string, code: string): void;
  /** Waits until so many rules watch something. */
  watches(count: number): Promise<void>;
  /** Tells a rule one value after another and waits for its command; sorted times in between. */
  react(id: string, times: number): Promise<number[]>;
  memoryBytes(): number;
  processorMs(): number;
  processId(): number;
  nowMs(): number;
  stop(): Promise<void>;
}

const CLOCK_TICK_MS = 10;

/** A bundle, because stripping types takes more memory than the program. */
export async function startRuleSandbox(): Promise<SandboxUnderTest> {
  const packed = await packPrograms(PROGRAMS.filter((name) => name.startsWith('scripting/rule-sandbox/')));
  const clock = createSystemClock();
  const watches = new Map<string, { run: number; watchId: number }>();
  const waiting: { isDone: () => boolean; resolve: () => void }[] = [];
  let onCommand = (): void => undefined;
  const running = Promise.withResolvers<void>();
  const log = createLog({ level: 'error', format: 'json', clock, write: (text) => console.error(text) });
  const program = new Processes({ clock, log, metrics: createMetrics() }).program({
    name: 'rule-sandbox',
    entry: join(packed.folder, 'dist/scripting/rule-sandbox/main.js'),
    ...RULE_SANDBOX_PROGRAM,
    settings: () => ({ site: { timeZone: 'UTC' }, log: { level: 'error', format: 'json' } }),
    onRunning: () => running.resolve(),
    onPayload: (payload) => heard(decodeFromSandbox(payload)),
  });

  function heard(message: FromSandbox): void {
    if (message.type !== 'request') return;
    if (message.method === 'watch')
      watches.set(message.ruleId, { run: message.run, watchId: message.parameters.watchId });
    const answer = answerTo(message);
    program.send(encodeSandboxMessage({ type: 'answer', id: message.id, ...answer }));
    if (message.method === 'execute') onCommand();
    for (const { isDone, resolve } of waiting) if (isDone()) resolve();
  }

  program.start();
  await running.promise;
  return {
    start: (id, code) => {
      const rule = { id, slug: id, runtimeVersion: 'V3', code, execIntervalMs: 0 } as const;
      program.send(encodeSandboxMessage({ type: 'start', generation: 1, rule }));
    },
    watches: (count) =>
      new Promise((resolve) => waiting.push({ isDone: () => watches.size >= count, resolve })),
    react: async (id, times) => {
      const { run, watchId } = watches.get(id) ?? { run: 0, watchId: 0 };
      const durationsMs: number[] = [];
      for (let value = 0; value < times; value++) {
        const startMs = clock.monotonicMs();
        await new Promise<void>((resolve) => {
          onCommand = resolve;
          program.send(encodeSandboxMessage({ type: 'changed', run, watchId, value, timestampMs: 0 }));
        });
        durationsMs.push(clock.monotonicMs() - startMs);
        // The rule's function has to end before it takes the next value; its commands are limited in rate.
        await clock.sleep(REACTION_PAUSE_MS);
      }
      return durationsMs.sort((a, b) => a - b);
    },
    memoryBytes: () => {
      const status = readFileSync(`/proc/${program.processId}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1_024;
    },
    processorMs: () => {
      const fields = readFileSync(`/proc/${program.processId}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK_MS;
    },
    processId: () => program.processId ?? 0,
    nowMs: () => clock.monotonicMs(),
    stop: async () => {
      await program.stop();
      clock.close();
      packed.remove();
    },
  };
}

const REACTION_PAUSE_MS = 100;

function answerTo(message: RuleRequest): RuleAnswer {
  switch (message.method) {
    case 'find_device':
      return { ok: true, result: { id: 'd', slug: 'meter', name: 'Meter', type: 'LUA' } };
    case 'latest':
      return { ok: true, result: { value: 1.5, timestampMs: 0 } };
    case 'execute':
      return { ok: true, result: {} };
    case 'several':
      return { ok: true, result: message.parameters.requests.map(answerTo) };
    default:
      return { ok: true, result: null };
  }
}
