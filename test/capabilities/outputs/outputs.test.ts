/** Outputs of devices: who sets them, what limits them, and what holds when nobody asks. Denials first. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { type OutputBench, startOutputs } from './support.ts';

const STOP = { safe: 'stop' };
const amperes = (current: number) => ({ current });

async function pass(bench: OutputBench, durationS: number): Promise<void> {
  for (let passedS = 0; passedS < durationS; passedS += 0.5) await bench.clock.advance(500);
}

describe('a request for an output is refused', () => {
  const rows: [title: string, name: string, given: object | null, options: object, message: RegExp][] = [
    ['without a safe command', 'set_current', amperes(10), {}, /needs the option "safe"/],
    [
      'with a command that the device does not have',
      'set_curent',
      amperes(10),
      STOP,
      /no command "set_curent"/,
    ],
    ['with arguments that the command refuses', 'set_current', amperes(99), STOP, /"current"/],
    [
      'with a safe command that the device refuses',
      'set_current',
      amperes(10),
      { safe: amperes(1) },
      /"current"/,
    ],
    [
      'with a misspelt option',
      'set_current',
      amperes(10),
      { ...STOP, prority: 1 },
      /no option "prority".*priority/,
    ],
    [
      'with a priority beyond the range',
      'set_current',
      amperes(10),
      { ...STOP, priority: 101 },
      /from 0 to 100/,
    ],
    [
      'with a validity that is no number',
      'set_current',
      amperes(10),
      { ...STOP, valid_s: 'long' },
      /from 1 to/,
    ],
    ['with a bound of an argument without numbers', 'stop', null, { max: amperes(3) }, /no numeric argument/],
    ...(
      [
        ['with a plan that is no table', 'tomorrow'],
        ['with a plan of steps without a length', { start: 0, step_s: 0, values: ['ON'] }],
        ['with a plan of steps longer than a week', { start: 0, step_s: 604_801, values: ['ON'] }],
        ['with a plan from before 1970', { start: -1, step_s: 900, values: ['ON'] }],
        ['with a plan of an action that there is not', { start: 0, step_s: 900, values: ['SELL'] }],
        [
          'with a plan of too many steps',
          { start: 0, step_s: 900, values: Array(LIMITS.outputs.planSteps + 1).fill('ON') },
        ],
      ] as const
    ).map(([title, plan]): (typeof rows)[number] => [
      title,
      'stop',
      {},
      { ...STOP, plan },
      /option "plan" must be \{ start = .* CHARGE, DISCHARGE, HOLD, ON, OFF or nil/,
    ]),
    [
      'with further commands that the device does not have',
      'set_current',
      amperes(10),
      { ...STOP, commands: ['fly'] },
      /no command "fly"/,
    ],
    [
      'with more further commands than an output has',
      'set_current',
      amperes(10),
      { ...STOP, commands: Array.from({ length: LIMITS.outputs.commands + 1 }, () => 'start') },
      /at most 16 names/,
    ],
    ['with further commands that are no list', 'stop', {}, { ...STOP, commands: 'start' }, /must be a list/],
    ['with bounds that are no numbers', 'set_current', null, { max: { current: 'low' } }, /table of numbers/],
  ];
  for (const [title, name, given, options, message] of rows)
    test(title, async (t) => {
      const bench = await startOutputs(t);
      assert.throws(() => bench.ask('sun', name, given, options), { message });
      await pass(bench, 5);
      assert.deepEqual([bench.arrived, bench.outputs.all()], [[], []]);
    });

  test('a request for an output is refused beyond the outputs of a site, unless one of them is not held any more', async (t) => {
    const bench = await startOutputs(t);
    const ask = (relay: number) =>
      bench.ask(
        'sun',
        'set_relay',
        { relay, on: true },
        { output: `relay ${relay}`, safe: { relay, on: false } },
      );
    for (let relay = 1; relay <= LIMITS.outputs.outputs; relay++) ask(relay);
    assert.throws(() => ask(1_000), { message: `the site has ${LIMITS.outputs.outputs} outputs` });
    await pass(bench, 2);
    bench.outputs.release({ id: 'sun', slug: 'sun' }, bench.charger, 'set_relay', 'relay 1');
    await pass(bench, 2);
    ask(1_000);
    assert.equal(bench.outputs.all().length, LIMITS.outputs.outputs);
  });
});

describe('an output', () => {
  test('an output has the command with the highest priority, and falls back to the next one when that ends', async (t) => {
    const bench = await startOutputs(t);
    assert.deepEqual(bench.ask('sun', 'set_current', amperes(16), { ...STOP, priority: 40 }), {
      holds: true,
      holder: 'sun',
    });
    await pass(bench, 2);
    assert.equal(bench.value(), 'set_current 16');
    bench.ask('peak', 'stop', {}, { safe: 'start', priority: 80, valid_s: 20 });
    await pass(bench, 2);
    assert.equal(bench.value(), 'stop');
    assert.deepEqual(bench.ask('sun', 'set_current', amperes(12), { ...STOP, priority: 40 }), {
      holds: false,
      holder: 'peak',
    });
    await pass(bench, 25);
    assert.equal(bench.value(), 'set_current 12');
    assert.equal(bench.outputs.all().length, 1, 'commands in one request belong to one output');
  });

  test('an output stays with the rule that asks for longest among equal priorities, as long as it asks in time', async (t) => {
    const bench = await startOutputs(t);
    for (let round = 0; round < 4; round++) {
      bench.ask('late', 'set_current', amperes(round === 0 ? 7 : 8), { ...STOP, valid_s: 30 });
      if (round === 0) continue;
      bench.ask('early', 'set_current', amperes(20), { ...STOP, valid_s: 30 });
      await pass(bench, 20);
      assert.equal(bench.value(), 'set_current 8');
    }
    bench.outputs.ruleStopped('late');
    await pass(bench, 2);
    assert.equal(bench.value(), 'set_current 20');
  });

  test('an output keeps to the strictest bounds of all rules, whatever their priority, also for its safe command', async (t) => {
    const bench = await startOutputs(t);
    const safe = amperes(32);
    bench.ask('sun', 'set_current', amperes(20), { safe, priority: 90 });
    bench.ask('grid', 'set_current', null, { max: amperes(10), priority: 1, valid_s: 600 });
    const answer = bench.ask('peak', 'set_current', null, { max: amperes(12), min: amperes(8) });
    assert.deepEqual(answer, { holds: false, holder: 'sun', limited_by: ['grid'] });
    await pass(bench, 2);
    assert.equal(bench.value(), 'set_current 10');
    bench.ask('sun', 'set_current', amperes(6), { safe, priority: 90 });
    await pass(bench, 2);
    assert.equal(bench.value(), 'set_current 8');
    bench.outputs.ruleStopped('sun');
    await pass(bench, 2);
    assert.equal(bench.value(), 'set_current 10', 'the safe 32 A are limited');
    bench.outputs.ruleStopped('grid');
    bench.outputs.ruleStopped('peak');
    await pass(bench, 2);
    assert.equal(bench.value(), 'set_current 32');
  });

  test('an output gets the safe command when a bound leaves nothing that the device takes', async (t) => {
    const bench = await startOutputs(t);
    bench.ask('sun', 'set_current', amperes(20), STOP);
    bench.ask('grid', 'set_current', null, { max: amperes(3) });
    await pass(bench, 2);
    assert.equal(bench.value(), 'stop');
  });

  test('an output repeats an accepted command as often as its rule says, and a refused one every ten seconds', async (t) => {
    const bench = await startOutputs(t);
    const ask = (current: number): unknown =>
      bench.ask('sun', 'set_current', amperes(current), { ...STOP, valid_s: 3_600, repeat_s: 60 });
    ask(16);
    await pass(bench, 130);
    assert.deepEqual(
      bench.arrived.map(({ atS }) => Math.round(atS / 10) * 10),
      [0, 60, 120],
    );
    bench.refuse('the plug is locked');
    ask(17);
    await pass(bench, 35);
    assert.deepEqual(
      bench.logged.filter((line) => line.includes('locked')),
      ['sun error charger set_current current=17: the plug is locked'],
      'a fault is logged once',
    );
    assert.equal((ask(17) as { error?: string }).error, 'the plug is locked');
    bench.refuse(undefined);
    await pass(bench, 11);
    assert.equal(bench.value(), 'set_current 17');
  });

  test('an output is tried again within ten seconds when its device is back, without a trace of each attempt', async (t) => {
    const bench = await startOutputs(t);
    bench.setListening(bench.charger, 0);
    const answer = (): unknown => bench.ask('sun', 'set_current', amperes(16), { ...STOP, valid_s: 3_600 });
    answer();
    await pass(bench, 120);
    assert.equal((answer() as { error?: string }).error, 'device is offline');
    assert.equal(bench.logged.length, 1);
    bench.setListening(bench.charger, 1);
    await pass(bench, 11);
    assert.deepEqual(
      bench.arrived.map(({ text }) => text),
      ['set_current 16'],
    );
  });

  test('an output gets at most one command a second, however often its rule changes its mind', async (t) => {
    const bench = await startOutputs(t);
    for (let step = 0; step < 40; step++) {
      bench.ask('sun', 'set_current', amperes(6 + (step % 20)), STOP);
      await bench.clock.advance(250);
    }
    assert.ok(bench.arrived.length <= 11, String(bench.arrived.length));
    await pass(bench, 2);
    assert.equal(bench.value(), 'set_current 25', 'the last one counts');
  });

  test('an output is one of several that share a command when rules name them', async (t) => {
    const bench = await startOutputs(t);
    for (const relay of [1, 2])
      bench.ask(
        'sun',
        'set_relay',
        { relay, on: true },
        { output: `relay ${relay}`, safe: { relay, on: false } },
      );
    await pass(bench, 2);
    assert.deepEqual(bench.arrived.map(({ text }) => text).toSorted(), [
      'set_relay 1 true',
      'set_relay 2 true',
    ]);
  });

  test('an output is one for rules of which one names the command of the other beforehand', async (t) => {
    const bench = await startOutputs(t);
    bench.ask('grid', 'set_current', amperes(16), { safe: amperes(7), priority: 0 });
    bench.ask('sun', 'stop', {}, { ...STOP, priority: 1, commands: ['set_current'] });
    assert.equal(bench.outputs.all().length, 1);
    await pass(bench, 3);
    assert.equal(bench.value(), 'stop');
  });

  test('an output has the safe command of a rule that only limits when no other rule has one', async (t) => {
    const bench = await startOutputs(t);
    bench.ask('grid', 'set_current', amperes(16), { safe: amperes(7), priority: 0, valid_s: 10 });
    await pass(bench, 20);
    assert.equal(bench.value(), 'set_current 7');
    bench.ask('grid', 'set_current', amperes(16), { safe: amperes(7), priority: 0, valid_s: 10 });
    bench.ask('sun', 'set_current', amperes(12), { ...STOP, priority: 40, valid_s: 10 });
    await pass(bench, 20);
    assert.equal(bench.value(), 'stop');
  });

  test('an output becomes one when a request names the commands of two', async (t) => {
    const bench = await startOutputs(t);
    bench.ask('a', 'set_current', amperes(16), { safe: amperes(6) });
    bench.ask('b', 'start', {}, STOP);
    assert.equal(bench.outputs.all().length, 2);
    bench.ask('c', 'charger.current', amperes(20), { ...STOP, priority: 60 });
    const [output, ...others] = bench.outputs.all();
    assert.deepEqual(
      [[...(output?.commands ?? [])].toSorted(), others],
      [['set_current', 'start', 'stop'], []],
    );
    await pass(bench, 3);
    assert.equal(bench.value(), 'set_current 20');
    bench.restartOutputs();
    assert.equal(bench.outputs.all().length, 1);
  });

  test('an output has the safe command of the rule that has it in ordinary times', async (t) => {
    const bench = await startOutputs(t);
    bench.ask('sun', 'set_current', amperes(16), { ...STOP, priority: 30, valid_s: 40 });
    bench.ask('peak', 'stop', {}, { safe: 'start', priority: 80, valid_s: 20 });
    await pass(bench, 41);
    assert.equal(bench.value(), 'stop');
    assert.ok(!bench.arrived.some(({ text }) => text === 'start'));
  });
});

describe('an output that nobody asks for', () => {
  test('an output that nobody asks for gets its safe command at once when the rule is stopped or withdraws, and then is left alone', async (t) => {
    const bench = await startOutputs(t);
    bench.ask('sun', 'set_current', amperes(16), STOP);
    await pass(bench, 2);
    bench.outputs.release({ id: 'sun', slug: 'sun' }, bench.charger, 'charger.current', null);
    await pass(bench, 2);
    assert.equal(bench.value(), 'stop');
    await pass(bench, 900);
    assert.equal(bench.arrived.length, 2);
    assert.equal(bench.outputs.all()[0]?.safe, undefined);
  });

  test('an output that nobody asks for gets its safe command within a minute when the rule is silent or its script has ended', async (t) => {
    for (const isEnded of [false, true]) {
      const bench = await startOutputs(t);
      bench.ask('sun', 'set_current', amperes(16), { ...STOP, ...(isEnded && { valid_s: 3_600 }) });
      await pass(bench, 2);
      if (isEnded) bench.outputs.ruleEnded('sun');
      await pass(bench, 40);
      assert.equal(bench.value(), 'set_current 16', 'a rule that starts again goes on without a jump');
      await pass(bench, 18);
      assert.equal(bench.value(), 'stop');
    }
  });

  test('an output keeps its value over a restart of the gateway while its rules come back', async (t) => {
    const bench = await startOutputs(t);
    bench.ask('grid', 'set_current', null, { max: amperes(10) });
    bench.ask('sun', 'set_current', amperes(16), { ...STOP, priority: 30 });
    await pass(bench, 5);
    bench.restartOutputs();
    bench.ask('sun', 'set_current', amperes(16), { ...STOP, priority: 30 });
    await pass(bench, 20);
    assert.deepEqual(
      bench.arrived.map(({ text }) => text),
      ['set_current 10'],
      'not 16 A before the limit is back',
    );
    bench.ask('grid', 'set_current', null, { max: amperes(8) });
    await pass(bench, 2);
    assert.equal(bench.value(), 'set_current 8');
  });

  test('an output that nobody asks for gets its safe command within a minute after a restart without its rules, also when the device comes later', async (t) => {
    const bench = await startOutputs(t);
    bench.ask('sun', 'set_current', amperes(16), STOP);
    await pass(bench, 2);
    bench.restartOutputs();
    await pass(bench, 58);
    assert.equal(bench.value(), 'stop');
    bench.ask('sun', 'set_current', amperes(16), STOP);
    await pass(bench, 2);
    bench.setListening(bench.charger, 0);
    bench.restartOutputs();
    await pass(bench, 600);
    bench.restartOutputs();
    await pass(bench, 60);
    bench.setListening(bench.charger, 1);
    await pass(bench, 11);
    assert.deepEqual(
      bench.arrived.map(({ text }) => text),
      ['set_current 16', 'stop', 'set_current 16', 'stop'],
    );
  });

  test('an output that nobody asks for is forgotten with its device', async (t) => {
    const bench = await startOutputs(t);
    bench.ask('sun', 'set_current', amperes(16), STOP);
    await pass(bench, 2);
    bench.deleteDevice(bench.charger);
    bench.restartOutputs();
    await pass(bench, 120);
    assert.deepEqual([bench.outputs.all(), bench.arrived.length], [[], 1]);
  });
});

describe('the history of an output', () => {
  test('the history of an output has each change with its rule, its limit, and manual commands, which hold until the next change', async (t) => {
    const bench = await startOutputs(t);
    const sun = (current: number): void =>
      void bench.ask('sun', 'set_current', amperes(current), { ...STOP, valid_s: 3_600 });
    sun(16);
    await pass(bench, 2);
    await bench.run(bench.charger, 'set_current', { arguments: amperes(31) });
    await pass(bench, 2);
    const [output] = bench.outputs.all();
    assert.ok(output);
    assert.deepEqual(bench.outputs.otherCommand(output)?.command, {
      name: 'set_current',
      arguments: amperes(31),
    });
    sun(16);
    await pass(bench, 60);
    assert.equal(bench.value(), 'set_current 31');
    bench.ask('grid', 'set_current', null, { max: amperes(10), valid_s: 3_600 });
    await pass(bench, 2);
    assert.equal(bench.value(), 'set_current 10');
    assert.equal(bench.outputs.otherCommand(output), undefined);
    const { changes, totalCount } = bench.outputs.changes(output, 10, 0);
    assert.deepEqual(
      changes.map(({ source, origin, limitedBy, command }) =>
        [source, origin.name, ...limitedBy, JSON.stringify(command.arguments)].join(' '),
      ),
      ['REQUEST sun grid {"current":10}', 'OTHER test {"current":31}', 'REQUEST sun {"current":16}'],
    );
    assert.equal(totalCount, 3);
  });

  test('the history of an output has the plan of an active rule, with what was planned for the past', async (t) => {
    const bench = await startOutputs(t);
    const { charger, clock } = bench;
    const startS = Math.floor(clock.wallMs() / 1_000);
    const ask = (afterS: number, ...values: (string | null)[]): void =>
      void bench.ask('sun', 'stop', {}, { ...STOP, plan: { start: startS + afterS, step_s: 10, values } });
    const steps = (): string[] =>
      bench.outputs
        .plans()
        .flatMap(({ steps }) =>
          steps.map(({ fromS, toS, action }) => `${action} ${fromS - startS}-${toS - startS}`),
        );
    ask(0, 'ON', 'ON', null, 'OFF');
    assert.deepEqual(steps(), ['ON 0-20', 'OFF 30-40']);
    const [plan] = bench.outputs.plans();
    assert.deepEqual([plan?.rule.slug, plan?.deviceName, plan?.output], ['sun', charger.name, '']);
    await pass(bench, 15);
    ask(15, 'OFF', 'ON');
    assert.deepEqual(steps(), ['ON 0-15', 'OFF 15-25', 'ON 25-35']);
    ask(30, 'OFF');
    assert.deepEqual(steps(), ['ON 0-15', 'OFF 30-40'], 'what was not begun is planned anew');
    bench.ask('peak', 'stop', {}, { ...STOP, priority: 80 });
    assert.equal(steps().length, 2, 'a plan is told whoever holds the output');
    bench.ask('sun', 'stop', {}, STOP);
    assert.deepEqual(steps(), [], 'a rule without a plan has none');
    ask(15, 'ON');
    await pass(bench, LIMITS.outputs.validDefaultS + 1);
    assert.deepEqual(steps(), [], 'the request has ended');
    ask(60, 'ON');
    bench.outputs.ruleStopped('sun');
    assert.deepEqual(steps(), []);
    ask(60, 'ON');
    bench.outputs.release({ id: 'sun', slug: 'sun' }, charger, 'stop', null);
    assert.deepEqual(steps(), []);
    ask(60, 'ON');
    bench.restartOutputs();
    assert.deepEqual(steps(), []);
  });

  test('the history of an output keeps a bounded number of changes', async (t) => {
    const bench = await startOutputs(t);
    for (let step = 0; step < LIMITS.outputs.changes + 20; step++) {
      bench.ask('sun', 'set_current', amperes(6 + (step % 2)), STOP);
      await bench.clock.advance(1_100);
    }
    const [output] = bench.outputs.all();
    assert.ok(output);
    assert.equal(bench.outputs.changes(output, 1, 0).totalCount, LIMITS.outputs.changes);
  });
});
