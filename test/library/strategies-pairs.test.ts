/**
 * All pairs of strategies that can share a battery or a charger, through random surroundings, silence, kills and a lost device: in each
 * step the device has the command of the highest priority that is valid, within the limits of both, or the safe one.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ScriptValues, Strategy } from '#library';
import { createRandom, type Random } from '../../scripts/support/random.ts';
import { anyScript, anyValues, type CommandOf, LIBRARY, measureAll, withoutWaits } from './any-strategy.ts';
import { type Asked, scriptOf, SimulatedSite, value } from './strategy-site.ts';

const SEGMENTS = 14;
/** A silent rule is safe within a minute; a lost device gets its command when it is back, within two attempts. */
const SILENCE_S = 60;
const RETRY_S = 12;
const DEVICE = 'output';

interface Code {
  script: string;
  /** Of the device. */
  commands: ReadonlySet<string>;
}
type Codes = ReadonlyMap<Strategy, Code>;

const command = (name: string, given: Record<string, number> = {}): ScriptValues => ({
  device: DEVICE,
  command: name,
  arguments: given,
});
const setpoint = (name: string, argument: string): ScriptValues => ({
  ...(command(name) as object),
  argument,
});

/** Every command of a battery is one of this battery. */
const onBattery: CommandOf = ({ kind, role }, name) => {
  if (role !== 'battery') return undefined;
  return kind === 'action' ? command(name) : setpoint(name === 'battery' ? 'discharge' : 'charge', 'power');
};
/** Every command of a charger, or of a load in a list, is one of this charger. */
const onCharger: CommandOf = ({ kind, role }, name, list) => {
  if (role !== 'ev_charger' && !(list && role === undefined)) return undefined;
  if (kind === 'setpoint') return setpoint('set_current', 'current');
  if (name === 'on') return command('set_current', { current: 16 });
  return command(name === 'off' ? 'stop' : name);
};

/** Numbers that go with the commands of the device. */
const OWN: Record<string, Record<string, ScriptValues>> = {
  'grid-signal': { loads: [{ power: setpoint('set_current', 'current'), limit_w: 7, free_w: 16 }] },
};

/** The strategies that have a command for the device, with their scripts. */
function codesFor(commandOf: CommandOf): Codes {
  const codes = new Map<Strategy, Code>();
  for (const one of LIBRARY.filter(({ rule }) => rule.includes('new_output('))) {
    const commands = new Set<string>();
    const noting: CommandOf = (parameter, name, list) => {
      const found = commandOf(parameter, name, list) as { command: string } | undefined;
      if (found) commands.add(found.command);
      return found;
    };
    anyScript(one, noting);
    const script = anyScript(one, commandOf, { ...withoutWaits(one), ...OWN[one.id] });
    if (commands.size > 0) codes.set(one, { script, commands });
  }
  return codes;
}

/** Pairs with a command in common: rules that only charge and only discharge a battery have an output each. */
function pairsOf(codes: Codes): (readonly [Strategy, Strategy])[] {
  const all = [...codes];
  return all.flatMap(([first, { commands }], index) =>
    all
      .slice(index + 1)
      .filter(([, other]) => !commands.isDisjointFrom(other.commands))
      .map(([second]) => [first, second] as const),
  );
}

/** The sentence of the manual as a plain function: what the device should have. */
function expected(asked: readonly Asked[], nowMs: number): string {
  const valid = asked.filter(({ untilMs }) => untilMs > nowMs);
  const wanting = valid.filter(({ arguments: given }) => given !== null);
  const highest = Math.max(...wanting.map(({ priority }) => priority));
  const holder = wanting.find(({ priority }) => priority === highest);
  if (!holder) return 'safe';
  const numbers = Object.entries(holder.arguments ?? {}).map(([name, number]) =>
    Math.min(Number(number), ...valid.map(({ max }) => max[name] ?? Number.POSITIVE_INFINITY)),
  );
  return [holder.name, ...numbers].join(' ');
}

/** What may happen in a part of the time. */
function segment(random: Random, site: SimulatedSite, pair: readonly Strategy[]): () => void {
  const values = anyValues(pair, random, site.clock.wallMs());
  const isSilent = random.integer(0, 5) === 0;
  return () => {
    if (!isSilent) measureAll(site, values);
  };
}

async function run(codes: Codes, pair: readonly [Strategy, Strategy], seed: number): Promise<void> {
  const random = createRandom(seed, 1);
  const site = new SimulatedSite();
  const names = pair.map(({ id }) => id);
  const start = async (one: Strategy): Promise<void> => site.start(codes.get(one)?.script ?? '', one.id);
  for (const one of pair) await start(one);
  const check = (why: string): void => {
    const want = expected([...site.asked.values()], site.clock.monotonicMs());
    if (want === 'safe') return;
    assert.equal(site.last(DEVICE), want, `${names.join(' and ')}, seed ${seed}, ${site.nowS} s: ${why}`);
  };
  const settle = async (before?: () => void): Promise<void> => {
    await site.pass(5, before);
    // A pause of a second between two commands may reach beyond a step.
    const want = expected([...site.asked.values()], site.clock.monotonicMs());
    if (want !== 'safe' && site.last(DEVICE) !== want) await site.pass(2, undefined, 1);
  };
  for (let part = 0; part < SEGMENTS; part++) {
    const before = segment(random, site, pair);
    const fault = random.integer(0, 5);
    const one = pair[random.integer(0, 1)] ?? pair[0];
    if (fault === 0) site.rejected.add(DEVICE);
    if (fault === 1) {
      const was = site.last(DEVICE);
      await start(one);
      // Only what the rule wants by the values of now.
      if (site.last(DEVICE) !== was) check('a restart');
    }
    if (fault === 2) site.end(one.id);
    for (let step = 0; step < 4; step++) {
      await settle(before);
      if (fault !== 0) check(`part ${part}, step ${step}`);
    }
    if (fault === 0) {
      site.rejected.delete(DEVICE);
      await site.pass(RETRY_S, before, 1);
      check('the device is back');
    }
    if (fault === 2) await start(one);
  }
  for (const name of names) site.end(name);
  const safe = new Set([...site.asked.values()].map((asked) => asked.safe));
  await site.pass(SILENCE_S);
  assert.ok(safe.has(site.last(DEVICE) ?? ''), `safe after the end of both: ${site.last(DEVICE)}`);
}

describe('two strategies on one output', () => {
  for (const [what, commandOf] of [
    ['battery', onBattery],
    ['charger', onCharger],
  ] as const) {
    const codes = codesFor(commandOf);
    for (const [index, pair] of pairsOf(codes).entries())
      test(`two strategies on one output agree about a ${what}: ${pair[0].id} and ${pair[1].id}`, async () => {
        await run(codes, pair, index + 1);
      });
  }
});

test("no command is above the limit five seconds after the grid operator's signal, whatever the car wants", async () => {
  const random = createRandom(5, 2);
  const site = new SimulatedSite();
  const charger = { stop: command('stop'), current: setpoint('set_current', 'current') };
  const codes: Record<string, string> = {
    'surplus-charging': scriptOf('surplus-charging', {
      ...charger,
      meter: value('meter'),
      charger_power: value('charger'),
      phases: '1',
      start_hold_s: 0,
    }),
    'grid-signal': scriptOf('grid-signal', {
      signal: value('contact', 'closed'),
      loads: [{ power: charger.current, limit_w: 7, free_w: 16 }],
    }),
  };
  for (const [name, code] of Object.entries(codes)) await site.start(code, name);
  const now = (signal: number) => (): void => {
    site.measure('meter', random.integer(-4_000, -2_000));
    site.measure('charger', 0);
    site.measure('contact.closed', signal);
  };
  const current = (): number => Number(site.last(DEVICE)?.split(' ')[1] ?? 0);
  for (let round = 0; round < 6; round++) {
    await site.pass(random.integer(61, 90), now(0), 1);
    assert.ok(current() > 7, `without a signal the car follows the sun: ${current()} A`);
    if (round === 3) await site.start(codes['grid-signal'] ?? '', 'grid-signal');
    await site.pass(5, now(1), 1);
    for (let second = 0; second < 40; second++) {
      assert.ok(current() <= 7, `${current()} A in round ${round}, ${second} s later`);
      // The signal holds without new values, too.
      await site.pass(1, second < 20 ? now(1) : undefined, 1);
    }
  }
});
