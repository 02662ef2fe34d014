/** Outputs over real commands and a real state.db, with a charger that the test plays and a clock that it moves. */
import type { TestContext } from 'node:test';
import type { Device } from '../../../src/capabilities/devices/index.ts';
import { Outputs } from '../../../src/capabilities/outputs/index.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import type { JsonValue } from '../../../src/protocol/telemetry.ts';
import { recordingLog } from '../../support/workspace.ts';
import { type Bench, startBench } from '../commands/support.ts';

const COMMANDS = {
  set_current: {
    aliases: ['charger.current'],
    arguments: {
      current: { display_name: 'Current', type: 'float', required: true, min: 6, max: 32 },
    },
  },
  stop: {},
  start: {},
  set_relay: {
    arguments: {
      relay: { display_name: 'Relay', type: 'integer', required: true },
      on: { display_name: 'On', type: 'boolean', required: true },
    },
  },
} as const;

export interface OutputBench extends Bench {
  outputs: Outputs;
  charger: Device;
  /** What the charger does: the last command that it accepted. */
  value(): string | undefined;
  /** Commands that reached the charger, each with the second of its arrival. */
  arrived: { atS: number; text: string }[];
  /** Entries for the logs of rules. */
  logged: string[];
  /** The next commands are refused with this message. */
  refuse(message: string | undefined): void;
  ask(rule: string, name: string, given: object | null, options?: object): JsonValue;
  /** The gateway is killed and started again: rules know nothing of before. */
  restartOutputs(): void;
}

export async function startOutputs(test: Pick<TestContext, 'after'>): Promise<OutputBench> {
  let isOver = false;
  test.after(() => {
    isOver = true;
  });
  const bench = await startBench(test);
  const { clock, state } = bench;
  const { log } = recordingLog(clock);
  const charger = bench.addDevice({ slug: 'charger', commands: COMMANDS as never });
  const arrived: OutputBench['arrived'] = [];
  const logged: string[] = [];
  let refusal: string | undefined;
  const startedMs = clock.monotonicMs();
  bench.publish = async ({ id, name, arguments: given }) => {
    const text = [name, ...Object.values(given).map(String)].join(' ');
    if (refusal === undefined) arrived.push({ atS: (clock.monotonicMs() - startedMs) / 1_000, text });
    const answer =
      refusal === undefined
        ? { id, state: 'completed', payload: {} }
        : { id, state: 'error', payload: { message: refusal } };
    setImmediate(() => {
      if (!isOver) void bench.deliver(charger, 'command_responses', answer);
    });
    return 1;
  };
  const build = (): Outputs => {
    const outputs = new Outputs({
      database: state,
      clock,
      log,
      metrics: createMetrics(),
      devices: bench.devices,
      commands: bench.commands,
    });
    outputs.start((ruleId, severity, message) => void logged.push(`${ruleId} ${severity} ${message}`));
    return outputs;
  };
  const own = Object.assign(bench, {
    outputs: build(),
    charger,
    arrived,
    logged,
    value: () => arrived.at(-1)?.text,
    refuse: (message: string | undefined) => {
      refusal = message;
    },
    ask: (rule: string, name: string, given: object | null, options: object = {}) =>
      own.outputs.request({ id: rule, slug: rule }, charger, {
        deviceId: charger.id,
        name,
        arguments: given as Record<string, JsonValue> | null,
        options: options as Record<string, JsonValue>,
      }),
    restartOutputs: () => {
      own.outputs.stop();
      own.outputs = build();
    },
  });
  test.after(() => own.outputs.stop());
  return own;
}
