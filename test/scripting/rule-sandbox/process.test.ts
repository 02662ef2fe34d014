/** The sandbox as a child process, as the gateway starts it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createSystemClock } from '../../../src/platform/clock/index.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import { Processes, programEntry } from '../../../src/platform/processes/index.ts';
import {
  decodeFromSandbox,
  encodeSandboxMessage,
  type FromSandbox,
  RULE_SANDBOX_PROGRAM,
  type SandboxSettings,
} from '../../../src/protocol/rule-sandbox.ts';
import { until } from '../../support/until.ts';
import { recordingLog } from '../../support/workspace.ts';

const GIB = 2 ** 30;
const MIB = 2 ** 20;
const RULES = 8;

function residentBytes(processId: number | undefined): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${processId}/status`, 'utf8'))?.[1]) * 1_024;
}

test('the sandbox runs rules in a process of its own, frees memory, restarts when it dies, and ends on request', async () => {
  const clock = createSystemClock();
  const heard: FromSandbox[] = [];
  let starts = 0;
  const settings: SandboxSettings = {
    site: { timeZone: 'UTC' },
    log: { level: 'error', format: 'json' },
  };
  const program = new Processes({
    clock,
    log: recordingLog(clock).log,
    metrics: createMetrics(),
  }).program({
    name: 'rule-sandbox',
    entry: programEntry('scripting/rule-sandbox/main'),
    ...RULE_SANDBOX_PROGRAM,
    settings: () => settings,
    onRunning: () => {
      starts++;
      for (let rule = 0; rule < 20; rule++)
        program.send(
          encodeSandboxMessage({
            type: 'start',
            generation: starts,
            rule: {
              id: `r-${rule}`,
              slug: `rule-${rule}`,
              runtimeVersion: 'V3',
              code: `enapter.log("hello " .. (9007199254740993 | 0)) scheduler.add(1000, function() end)`,
              execIntervalMs: 0,
            },
          }),
        );
    },
    onPayload: (payload) => heard.push(decodeFromSandbox(payload)),
  });
  const hellos = (): number =>
    heard.filter(
      (message) =>
        message.type === 'log' && message.entries.some((entry) => entry.message === 'hello 9007199254740993'),
    ).length;
  try {
    program.start();
    await until(() => hellos() === 20);
    const status = readFileSync(`/proc/${program.processId}/status`, 'utf8');
    const addresses = Number(/VmSize:\s+(\d+) kB/.exec(status)?.[1]) * 1_024;
    assert.ok(addresses < 64 * GIB, `${addresses / GIB} GiB of addresses`);
    const beforeBytes = residentBytes(program.processId);
    for (let bomb = 0; bomb < 5; bomb++) {
      const code = 'local t = {} while true do t[#t + 1] = ("x"):rep(10000) .. #t end';
      const rule = { id: `b-${bomb}`, slug: 'bomb', runtimeVersion: 'V3', code, execIntervalMs: 0 } as const;
      program.send(encodeSandboxMessage({ type: 'start', generation: 1, rule }));
    }
    const stopped = (): number =>
      heard.filter((message) => message.type === 'state' && message.state === 'STOPPED').length;
    await until(() => stopped() === 5);
    await until(() => residentBytes(program.processId) < beforeBytes + 48 * MIB);
    process.kill(program.processId ?? 0, 'SIGKILL');
    await until(() => hellos() === 40);
    assert.equal(starts, 2);
  } finally {
    await program.stop();
    clock.close();
  }
  assert.equal(program.lastExit?.reason, 'stopped');
});

test('a value sent right behind the answer of its watch reaches the function', async () => {
  const clock = createSystemClock();
  const commands: unknown[] = [];
  const say = (message: Parameters<typeof encodeSandboxMessage>[0]): void =>
    void program.send(encodeSandboxMessage(message));
  const program = new Processes({
    clock,
    log: recordingLog(clock).log,
    metrics: createMetrics(),
  }).program({
    name: 'rule-sandbox',
    entry: programEntry('scripting/rule-sandbox/main'),
    ...RULE_SANDBOX_PROGRAM,
    settings: (): SandboxSettings => ({ site: { timeZone: 'UTC' }, log: { level: 'error', format: 'json' } }),
    onRunning: () => {
      for (let number = 0; number < RULES; number++) {
        const code = `local meter = enapter.device("meter")
          meter.telemetry.on_update("power", function(value) meter.execute_command("set", { value = value }) end)`;
        const rule = {
          id: `r-${number}`,
          slug: `r-${number}`,
          runtimeVersion: 'V3',
          code,
          execIntervalMs: 0,
        } as const;
        say({ type: 'start', generation: 1, rule });
      }
    },
    onPayload: (payload) => {
      const message = decodeFromSandbox(payload);
      if (message.type !== 'request') return;
      const { id, run, method, parameters } = message;
      const result =
        method === 'find_device' ? { id: 'd', slug: 'meter', name: 'Meter', type: 'LUA' as const } : null;
      say({ type: 'answer', id, ok: true, result });
      if (method === 'watch')
        say({ type: 'changed', run, watchId: parameters.watchId, value: 7, timestampMs: 0 });
      if (method === 'execute') commands.push(parameters.arguments);
    },
  });
  try {
    program.start();
    await until(() => commands.length === RULES);
    for (const given of commands) assert.deepEqual(given, { value: 7 });
  } finally {
    await program.stop();
    clock.close();
  }
});
