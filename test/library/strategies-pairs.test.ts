/**
 * Two strategies on one battery or one charger, through random surroundings, silence, kills and a lost device: in each
 * step the device has the command of the highest priority that is valid, within the limits of both, or the safe one.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom, type Random } from '../../scripts/support/random.ts';
import { action, type Asked, scriptOf, setpoint, SimulatedSite, value } from './strategy-site.ts';

const SEGMENTS = 14;
/** A silent rule is safe within a minute; a lost device gets its command when it is back, within two attempts. */
const SILENCE_S = 60;
const RETRY_S = 12;
const DEVICE = 'output';

type Code = () => string;
const battery = {
  battery_soc: value('battery', 'soc'),
  hold: action(DEVICE, 'hold'),
  release: action(DEVICE, 'release'),
  charge: setpoint(DEVICE, 'charge', 'power'),
};
const charger = { stop: action(DEVICE, 'stop'), current: setpoint(DEVICE, 'set_current', 'current') };
const sixteen = { device: DEVICE, command: 'set_current', arguments: { current: 16 } };
const load = { power_w: 3_000, on: sixteen, off: charger.stop };

const ON_BATTERY: Record<string, Code> = {
  'battery-by-price': () =>
    scriptOf('battery-by-price', {
      ...battery,
      prices: { device: 'market', attribute: 'prices', factor: 1 },
    }),
  'battery-reserve': () =>
    scriptOf('battery-reserve', { ...battery, min_min: 0, storm: value('weather', 'storm') }),
  'peak-limit': () =>
    scriptOf('peak-limit', {
      meter: value('meter'),
      limit_w: 5_000,
      battery: setpoint(DEVICE, 'discharge', 'power'),
      release: battery.release,
    }),
};
const ON_CHARGER: Record<string, Code> = {
  'surplus-charging': () =>
    scriptOf('surplus-charging', {
      ...charger,
      meter: value('meter'),
      charger_power: value('charger'),
      phases: '1',
      start_hold_s: 0,
    }),
  'surplus-loads': () => scriptOf('surplus-loads', { meter: value('meter'), loads: [load], hold_s: 0 }),
  'peak-limit': () => scriptOf('peak-limit', { meter: value('meter'), limit_w: 5_000, loads: [load] }),
  'grid-signal': () =>
    scriptOf('grid-signal', {
      signal: value('contact', 'closed'),
      loads: [{ power: charger.current, limit_w: 7, free_w: 16 }],
    }),
};

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
function segment(random: Random, site: SimulatedSite): () => void {
  const gridW = random.integer(-9_000, 9_000);
  const soc = random.integer(5, 99);
  const signal = random.integer(0, 1);
  const storm = random.integer(0, 4) === 0 ? 1 : 0;
  const isSilent = random.integer(0, 5) === 0;
  return () => {
    if (isSilent) return;
    site.measure('meter', gridW);
    site.measure('charger', 0);
    site.measure('battery.soc', soc);
    site.measure('contact.closed', signal);
    site.measure('weather.storm', storm);
  };
}

async function run(
  codes: Record<string, Code>,
  names: readonly [string, string],
  seed: number,
): Promise<void> {
  const random = createRandom(seed, 1);
  const site = new SimulatedSite();
  const start = async (name: string): Promise<void> => site.start(codes[name]?.() ?? '', name);
  const values = Array.from({ length: 96 }, () => random.integer(10, 50) / 100);
  site.measure('market.prices', { start: Math.floor(site.clock.wallMs() / 1_000), step_s: 900, values });
  for (const name of names) await start(name);
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
    const before = segment(random, site);
    const fault = random.integer(0, 5);
    const name = names[random.integer(0, 1)] ?? names[0];
    if (fault === 0) site.rejected.add(DEVICE);
    if (fault === 1) {
      const was = site.last(DEVICE);
      await start(name);
      assert.equal(site.last(DEVICE), was, 'a restart sends nothing else');
    }
    if (fault === 2) site.end(name);
    for (let step = 0; step < 4; step++) {
      await settle(before);
      if (fault !== 0) check(`part ${part}, step ${step}`);
    }
    if (fault === 0) {
      site.rejected.delete(DEVICE);
      await site.pass(RETRY_S, before, 1);
      check('the device is back');
    }
    if (fault === 2) await start(name);
  }
  for (const name of names) site.end(name);
  const safe = new Set([...site.asked.values()].map((asked) => asked.safe));
  await site.pass(SILENCE_S);
  assert.ok(safe.has(site.last(DEVICE) ?? ''), `safe after the end of both: ${site.last(DEVICE)}`);
}

describe('two strategies on one output', () => {
  for (const [what, codes] of [
    ['battery', ON_BATTERY],
    ['charger', ON_CHARGER],
  ] as const) {
    const names = Object.keys(codes);
    for (const [index, first] of names.entries())
      for (const second of names.slice(index + 1))
        test(`agree about a ${what}: ${first} and ${second}`, async () => {
          await run(codes, [first, second], index * 10 + names.indexOf(second) + 1);
        });
  }
});

test("five seconds after the grid operator's signal no command is above its limit, whatever the car wants", async () => {
  const random = createRandom(5, 2);
  const site = new SimulatedSite();
  for (const name of ['surplus-charging', 'grid-signal']) await site.start(ON_CHARGER[name]?.() ?? '', name);
  const now = (signal: number) => (): void => {
    site.measure('meter', random.integer(-4_000, -2_000));
    site.measure('charger', 0);
    site.measure('contact.closed', signal);
  };
  const current = (): number => Number(site.last(DEVICE)?.split(' ')[1] ?? 0);
  for (let round = 0; round < 6; round++) {
    await site.pass(random.integer(61, 90), now(0), 1);
    assert.ok(current() > 7, `without a signal the car follows the sun: ${current()} A`);
    if (round === 3) await site.start(ON_CHARGER['grid-signal']?.() ?? '', 'grid-signal');
    await site.pass(5, now(1), 1);
    for (let second = 0; second < 40; second++) {
      assert.ok(current() <= 7, `${current()} A in round ${round}, ${second} s later`);
      // The signal holds without new values, too.
      await site.pass(1, second < 20 ? now(1) : undefined, 1);
    }
  }
});
