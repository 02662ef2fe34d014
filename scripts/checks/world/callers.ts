/** People and programs on the HTTP side of the fault check: they rename devices and run commands. */
import type { Clock } from '../../../src/platform/clock/index.ts';
import { type GatewayClient, GatewayRefusal, GatewayUnreachable } from '../../support/gateway-client.ts';
import type { Random } from '../../support/random.ts';
import type { DeviceActor } from './device-actor.ts';
import { type ExecutionJournal, FINAL_STATES } from './execution-journal.ts';

export interface CallersOptions {
  client: GatewayClient;
  actors: readonly DeviceActor[];
  command: { name: string; tagArgument: string };
  executions: ExecutionJournal;
  clock: Clock;
  random: Random;
  run: () => number;
  /** Between two renamings, and between two commands; default so often that every kill interrupts some. */
  renameIntervalMs?: number;
  commandIntervalMs?: number;
}

const RENAME_INTERVAL_MS = 120;
const COMMAND_INTERVAL_MS = 150;
/** Commands waiting for their end at once; more would say nothing more. */
const COMMANDS_IN_FLIGHT = 20;
/** A gateway that answers later than this counts as silent. */
const CALL_TIMEOUT_MS = 90_000;
/** Tags are hundredths, so that a number argument carries each as it is. */
const TAG_STEP = 100;

/** Starts calling; the returned function stops and waits for the calls under way. */
export function startCallers(options: CallersOptions): () => Promise<void> {
  const { clock } = options;
  const { renameIntervalMs = RENAME_INTERVAL_MS, commandIntervalMs = COMMAND_INTERVAL_MS } = options;
  const underWay = new Set<Promise<void>>();
  const renaming = new Set<DeviceActor>();
  let commands = 0;
  const keep = (call: Promise<void>): void => {
    const kept = call.finally(() => underWay.delete(kept));
    underWay.add(kept);
  };
  const timers = [
    clock.setRepeating(renameIntervalMs, () => {
      const actor = options.random.pick(options.actors);
      if (renaming.has(actor)) return;
      renaming.add(actor);
      keep(rename(options, actor).finally(() => renaming.delete(actor)));
    }),
    clock.setRepeating(commandIntervalMs, () => {
      const actor = options.random.pick(options.actors);
      if (!actor.isConnected || commands >= COMMANDS_IN_FLIGHT) return;
      commands += 1;
      // The first thing that the call does is to note its tag, so the next one differs.
      keep(command(options, actor, (options.executions.count + 1) / TAG_STEP).finally(() => (commands -= 1)));
    }),
  ];
  return async () => {
    for (const timer of timers) timer.cancel();
    await Promise.all(underWay);
  };
}

async function rename(options: CallersOptions, actor: DeviceActor): Promise<void> {
  const name = `Device ${actor.index}, name ${options.clock.wallMs()}`;
  const attempt = actor.name.attempt(name);
  const answer = await tried(() =>
    options.client.json({
      method: 'PATCH',
      path: `/devices/${actor.device.id}`,
      body: { name },
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    }),
  );
  if (answer === 'refused') throw new Error(`the gateway refused to rename device ${actor.index}`);
  if (answer) actor.name.acknowledge(attempt);
}

async function command(options: CallersOptions, actor: DeviceActor, tag: number): Promise<void> {
  const { executions, random } = options;
  const waits = random.chance(0.5);
  executions.called(tag, options.run());
  const answer = await tried(() =>
    options.client.json({
      method: 'POST',
      path: `/devices/${actor.device.id}/commands/${waits ? 'execute' : 'executions'}`,
      body: { name: options.command.name, arguments: { [options.command.tagArgument]: tag } },
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    }),
  );
  if (answer === 'refused') return executions.refused(tag);
  if (!answer) return;
  const execution = answer['execution'] as { id: string; state: string } | undefined;
  if (waits && execution) {
    // A gateway that stops on a disk that takes nothing may answer one without an end.
    const { id, state } = execution;
    return executions.answered(tag, id, FINAL_STATES.includes(state) ? state : undefined);
  }
  executions.answered(tag, String(answer['execution_id']), undefined);
}

/** The answer; `undefined` when the connection broke or the gateway failed, so that nobody knows. */
async function tried(
  call: () => Promise<Record<string, unknown>>,
): Promise<Record<string, unknown> | 'refused' | undefined> {
  try {
    return await call();
  } catch (error) {
    // A body cut short may still end without an error; then it does not parse.
    if (error instanceof GatewayUnreachable || error instanceof SyntaxError) return undefined;
    if (error instanceof GatewayRefusal) return error.status >= 500 ? undefined : 'refused';
    throw error;
  }
}
