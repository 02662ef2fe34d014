/**
 * Every strategy of the library through the faults of a site, in simulated time: what it controls is safe within a minute,
 * nothing is sent beyond the safe command and the one before, and the one before holds again when the fault is over.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Strategy } from '#library';
import { createRandom } from '../../scripts/support/random.ts';
import { anyScript, anyValues, type CommandOf, LIBRARY, measureAll } from './any-strategy.ts';
import { SimulatedSite, textOfCommand } from './strategy-site.ts';

const SAFE_S = 60;
const STEP_S = 10;
/** Longer than what a strategy waits for before it switches something on. */
const FIRST_S = 400;
/** Longer than the times for which strategies keep what they have switched. */
const SETTLED_S = 45 * 60;
/** A lost device gets its command when it is back, within two attempts. */
const RETRY_S = 12;
const CLOCK_JUMP_MS = 3_600_000;

/** What holds while the inputs are silent, where it is another command than that of a rule that is gone. */
const SILENT: Record<string, string> = { 'battery-reserve': 'hold', 'peak-limit': 'off' };

/** What it learns of the load would change its plan meanwhile. */
const OWN: Record<string, Record<string, undefined>> = { 'battery-by-price': { meter: undefined } };

/** Commands of one battery, of one charger, …: those of an output belong to one device. */
const commandOf: CommandOf = ({ kind, role }, name, list) => ({
  device: role ?? (list || 'device'),
  command: name,
  ...(kind === 'setpoint' && { argument: 'value' }),
  arguments: {},
});

type Commands = ReadonlyMap<string, string>;

interface Busy {
  site: SimulatedSite;
  measure: () => void;
  script: string;
  /** What each device has. */
  before: Commands;
  /** What each device has when the rule is gone. */
  safe: Commands;
  /** What was sent on the way to `before`. */
  way: ReadonlySet<string>;
}

const commandsOf = (site: SimulatedSite, devices: Iterable<string>): Commands =>
  new Map([...devices].map((device) => [device, site.last(device) ?? '']));

/** A site whose inputs stay as they are, and under which the strategy wants something else than its safe commands. */
async function busy(strategy: Strategy): Promise<Busy> {
  const script = anyScript(strategy, commandOf, OWN[strategy.id]);
  for (let seed = 1; seed <= 60; seed++) {
    const site = new SimulatedSite();
    const values = anyValues([strategy], createRandom(seed, 3), site.clock.wallMs());
    const measure = (): void => measureAll(site, values);
    measure();
    await site.start(script);
    await site.pass(FIRST_S, measure, STEP_S);
    const safe = new Map([...site.asked.values()].map((asked) => [asked.device, asked.safe]));
    const wants = (): boolean => [...safe].some(([device, command]) => site.last(device) !== command);
    if (!wants()) continue;
    await site.pass(SETTLED_S, measure, STEP_S);
    const before = commandsOf(site, safe.keys());
    const way = new Set([...safe.keys()].flatMap((device) => site.changes(device)));
    await site.pass(FIRST_S, measure, STEP_S);
    if (wants() && isDeepStrictEqual(commandsOf(site, safe.keys()), before))
      return { site, measure, script, before, safe, way };
  }
  throw new Error(`no values make ${strategy.id} do something`);
}

const numberOf = (command: string): number => Number(command.split(' ')[1] ?? Number.NaN);

/** Runs a fault, and checks what was sent until the commands of before hold again. */
async function through(
  { site, measure, before, safe, way }: Busy,
  what: string,
  fault: () => Promise<void>,
  silent?: string,
): Promise<void> {
  const first = site.commands.length;
  await fault();
  await site.pass(SETTLED_S, measure, STEP_S);
  for (const [device, command] of before) {
    assert.equal(site.last(device), command, `${device} after ${what}`);
    const safeCommand = safe.get(device) ?? '';
    const most = Math.max(numberOf(command) || 0, numberOf(safeCommand) || 0);
    const sent = site.commands.slice(first).filter((one) => one.device === device);
    for (const one of sent) {
      const text = textOfCommand(one);
      const isBetween = command.startsWith(`${one.name} `) && numberOf(text) <= most;
      assert.ok(
        [command, safeCommand, silent].includes(text) || isBetween || way.has(text),
        `${device} got ${text} during ${what}, between ${safeCommand} and ${command}`,
      );
    }
  }
}

const withOutputs = LIBRARY.filter(({ rule }) => rule.includes('new_output('));

describe('a strategy of the library', () => {
  for (const strategy of withOutputs)
    test(`the strategy ${strategy.id} is safe within a minute of each fault, and goes on without a jump`, async () => {
      const here = await busy(strategy);
      const { site, measure, script, before, safe } = here;
      const silent = SILENT[strategy.id];
      const devices = [...safe.keys()];
      const isSafe = (why: string): void => {
        for (const device of devices) assert.equal(site.last(device), safe.get(device), `${device}: ${why}`);
      };
      const isAsBefore = (why: string): void => assert.deepEqual(commandsOf(site, devices), before, why);

      const isUnchanged = async (restart: () => void, why: string): Promise<void> => {
        const sent = site.commands.length;
        restart();
        await site.start(script);
        await site.pass(SAFE_S, measure, STEP_S);
        const others = site.commands
          .slice(sent)
          .filter((one) => textOfCommand(one) !== before.get(one.device));
        assert.deepEqual(others, [], why);
        isAsBefore(why);
      };

      await through(here, 'a restart of the rule', async () =>
        isUnchanged(() => undefined, 'a restart of the rule changes nothing'),
      );
      await through(here, 'the end of the rule', async () => {
        site.end();
        await site.pass(SAFE_S, measure, STEP_S);
        isSafe('the rule is gone');
        await site.start(script);
      });
      await through(here, 'a restart of the gateway', async () =>
        isUnchanged(() => site.restartGateway(), 'a restart of the gateway changes nothing'),
      );
      await through(here, 'a restart of the gateway without the rule', async () => {
        site.restartGateway();
        await site.pass(SAFE_S, measure, STEP_S);
        isSafe('the gateway is back, and the rule is not');
        await site.start(script);
      });
      await through(here, 'a lost device', async () => {
        for (const device of devices) site.rejected.add(device);
        await site.pass(300, measure, STEP_S);
        for (const device of devices) site.rejected.delete(device);
        await site.pass(RETRY_S, measure, 1);
        isAsBefore('a device that is back has its command');
      });
      await through(
        here,
        'silence',
        async () => {
          await site.pass(SAFE_S, undefined, STEP_S);
          for (const device of devices) {
            const name = site.last(device) ?? '';
            assert.ok([safe.get(device), silent].includes(name), `${device} has ${name} in silence`);
          }
          await site.pass(600, undefined, STEP_S);
        },
        silent,
      );
      for (const jumpMs of [CLOCK_JUMP_MS, -CLOCK_JUMP_MS])
        await through(
          here,
          jumpMs > 0 ? 'a clock that is put forward' : 'a clock that is put back',
          async () => {
            site.clock.step(jumpMs);
            await site.pass(300, measure, STEP_S);
          },
          silent,
        );
      assert.deepEqual(
        site.said.filter((line) => /attempt to|error/.test(line)),
        [],
      );
    });

  for (const strategy of LIBRARY.filter((one) => !withOutputs.includes(one)))
    test(`a fault makes ${strategy.id} run nothing`, async () => {
      const script = anyScript(strategy, commandOf);
      const site = new SimulatedSite();
      const values = anyValues([strategy], createRandom(2, 3), site.clock.wallMs());
      const measure = (): void => measureAll(site, values);
      const settled = async (): Promise<void> => site.pass(FIRST_S, measure, STEP_S);
      measure();
      await site.start(script);
      await settled();
      const ran = site.commands.length;
      await site.start(script);
      await settled();
      site.restartGateway();
      await site.start(script);
      await settled();
      await site.pass(900, undefined, STEP_S);
      await settled();
      for (const jumpMs of [CLOCK_JUMP_MS, -CLOCK_JUMP_MS]) {
        site.clock.step(jumpMs);
        await settled();
      }
      assert.equal(site.commands.length, ran);
    });
});
