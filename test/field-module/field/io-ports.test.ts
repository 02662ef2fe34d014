/** CAN, contacts and channels of a board, on programs that stand in for those of the system. Denials first. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test, type TestContext } from 'node:test';
import { LIMITS, type Limits } from '../../../src/lib/limits.ts';
import { type Clock, createSystemClock } from '../../../src/platform/clock/index.ts';
import { FieldBus, type IoPortMapping } from '../../../src/field-module/field/index.ts';
import { systemPrograms } from '../../../src/field-module/field/system-program.ts';
import { IoStandIn } from '../../support/io-stand-in.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { temporaryFolder } from '../../support/workspace.ts';

const clock = createSystemClock();
after(() => clock.close());

const RECONNECT_MS = 20;
const CHIP = '/dev/gpiochip0';
const PORTS = {
  can: { kind: 'can', path: 'can0' },
  'di-1': { kind: 'digital_input', path: CHIP, line: 17, isActiveLow: true, bias: 'pull-up', debounceMs: 5 },
  'di-2': { kind: 'digital_input', path: CHIP, line: 18, isActiveLow: false, bias: 'pull-up', debounceMs: 5 },
  'rl-1': { kind: 'digital_output', path: CHIP, line: 4, isActiveLow: true },
} as const satisfies Record<string, IoPortMapping>;

function setUp(
  t: TestContext,
  ioPorts: Record<string, IoPortMapping> = PORTS,
  time: Clock = clock,
  limits: Partial<Limits['field']> = {},
) {
  const standIn = new IoStandIn(t);
  const failures: string[] = [];
  const bus = new FieldBus({
    clock: time,
    ports: {},
    ioPorts,
    programs: systemPrograms(standIn.folder),
    limits: { ...LIMITS.field, reconnectFirstMs: RECONNECT_MS, reconnectMaxMs: RECONNECT_MS, ...limits },
    onPortFailed: ({ port, reason }) => failures.push(`${port}: ${reason}`),
  });
  t.after(() => bus.close());
  return { standIn, bus, failures, ...partsOf(bus) };
}

function partsOf({ io }: FieldBus) {
  const [can, first, second, relay] = [
    io.buses.get('can'),
    io.contacts.get('di-1'),
    io.contacts.get('di-2'),
    io.outputs.get('rl-1'),
  ];
  return { can, first, second, relay };
}

const bytes = (text: string): Buffer => Buffer.from(text, 'hex');

describe('a port of the board fails', () => {
  test('a port of the board fails when the interface is down, and works again by itself when it is up', async (t) => {
    const { standIn, bus, can, failures } = setUp(t);
    assert.ok(can);
    standIn.fail('down');
    await assert.rejects(can.send(0x123, bytes('01')), /No buffer space available: .*wiring, termination/);
    const frames: string[] = [];
    can.listen(({ id, data }) => frames.push(`${id.toString(16)} ${data.toString('hex')}`));
    await until(() =>
      failures.some((said) => said.startsWith('can: read: Network is down: the system must set')),
    );
    assert.deepEqual(bus.portsFailed, ['can']);
    standIn.mend('down');
    standIn.frame('123#0102');
    await until(() => frames.length > 0);
    assert.deepEqual(bus.portsFailed, []);
  });

  test('a CAN frame with too many bytes or an identifier of 30 bits is refused', async (t) => {
    const { can, standIn } = setUp(t);
    await assert.rejects(async () => can?.send(1, bytes('010203040506070809')), /8 bytes at most/);
    for (const id of [-1, 0.5, 0x2000_0000])
      await assert.rejects(async () => can?.send(id, bytes('01')), /11 or 29 bits/);
    assert.deepEqual(standIn.sent, []);
  });

  test('a contact fails when its chip is missing or was removed', async (t) => {
    const { standIn, first, relay, bus, failures } = setUp(t);
    standIn.fail('no-chip');
    await assert.rejects(async () => first?.isClosed(), /cannot find GPIO chip/);
    await assert.rejects(async () => first?.isClosed(), /cannot find GPIO chip/, 'at once, while it rests');
    await assert.rejects(async () => relay?.set(true), /cannot find GPIO chip/);
    await assert.rejects(async () => relay?.isOn(), /cannot find GPIO chip/);
    assert.deepEqual(bus.portsFailed, ['di-1', 'rl-1']);
    assert.equal(standIn.calls('gpioget').length, 2, 'once for the inputs, once for the relay');
    standIn.mend('no-chip');
    await until(
      () =>
        first?.isClosed().then(
          (isClosed) => isClosed,
          () => false,
        ) ?? false,
    );
    await relay?.set(true);
    assert.deepEqual(bus.portsFailed, []);
    process.kill(standIn.holder(17), 'SIGKILL');
    await until(() => failures.includes('di-1: gpiomon ended'));
  });

  test('a contact fails within a time limit when its chip does not answer, and later calls go on', async (t) => {
    const { standIn, first, relay } = setUp(t, PORTS, clock, { programMs: 200 });
    standIn.fail('stuck');
    await assert.rejects(async () => first?.isClosed(), /gpiomon ended/);
    const both = [relay?.set(true), relay?.set(false)];
    for (const set of both) await assert.rejects(async () => set, /gpioset ended/);
    standIn.mend('stuck');
    await relay?.set(true);
    assert.equal(standIn.level(4), '0');
  });

  test('a contact fails when the program is missing, and the message names the package', async (t) => {
    const { standIn, can, first } = setUp(t);
    for (const program of ['canplayer', 'gpioget'] as const) standIn.uninstall(program);
    await assert.rejects(
      async () => can?.send(1, bytes('')),
      /the program canplayer is not installed, the package can-utils brings it/,
    );
    await assert.rejects(
      async () => first?.isClosed(),
      /gpioget is not installed, the package gpiod brings it/,
    );
  });
});

describe('a CAN port', () => {
  test('a CAN port delivers what others send, with identifiers of 11 and 29 bits', async (t) => {
    const { standIn, can } = setUp(t);
    const frames: string[] = [];
    const stop = can?.listen(({ id, data }) => frames.push(`${id.toString(16)} ${data.toString('hex')}`));
    standIn.frame('7FF#');
    standIn.frame('18FF50E5#0011223344556677');
    standIn.frame('123#R');
    standIn.frame('123##0AABB');
    standIn.frame('001#FF');
    await until(() => frames.length === 3);
    assert.deepEqual(frames, ['7ff ', '18ff50e5 0011223344556677', '1 ff']);
    stop?.();
    standIn.frame('002#FF');
    await clock.sleep(30);
    assert.equal(frames.length, 3);
  });

  test('a CAN port reports for each frame whether it was sent when the interface takes only some of them', async (t) => {
    const { can, standIn } = setUp(t);
    assert.ok(can);
    standIn.room(2);
    const sends = await Promise.allSettled([1, 2, 3, 4, 5].map((id) => can.send(id, bytes('0a'))));
    assert.deepEqual(
      sends.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'],
      'the first goes out alone',
    );
    assert.equal(standIn.sent.length, 3);
  });

  test('a CAN port sends waiting frames in the order of the calls', async (t) => {
    const { standIn, can } = setUp(t);
    assert.ok(can);
    const sends = [0x7ff, 0x800, 1, 2, 3].map((id) => can.send(id, bytes('0a0b')));
    await Promise.all(sends);
    assert.deepEqual(
      standIn.sent,
      ['7FF', '00000800', '001', '002', '003'].map((id) => `(0.000000) can0 ${id}#0A0B`),
    );
    assert.deepEqual(standIn.calls('canplayer'), ['-t -x -v can0=can0', '-t -x -v can0=can0']);
  });
});

describe('contacts', () => {
  test('contacts have the level from before the watch, then each change, and count closings', async (t) => {
    const { standIn, first, second } = setUp(t);
    assert.ok(first && second);
    standIn.rest(17, 0);
    standIn.rest(18, 0);
    assert.equal(await first.isClosed(), true, 'closed is low');
    assert.equal(await second.isClosed(), false);
    assert.deepEqual(standIn.calls('gpiomon'), [
      `--banner --format %o %e --bias pull-up --debounce-period 5ms --chip ${CHIP} 17 18`,
    ]);
    for (const level of [1, 0, 1, 0, 1] as const) standIn.edge(17, level);
    standIn.edge(18, 1);
    await until(() => second.isClosed());
    assert.equal(await first.isClosed(), false);
    assert.deepEqual(await first.readCounter(), { count: 2, seconds: 0 });
    await first.setCounter(40);
    standIn.edge(17, 0);
    await until(async () => (await first.readCounter()).count === 41);
    assert.equal((await second.readCounter()).count, 1);
  });

  test('contacts report no earlier level while the watch begins, and none when it fails', async (t) => {
    const { standIn, first } = setUp(t, PORTS, clock, { programMs: 300 });
    standIn.fail('stuck');
    const asked = [first?.isClosed()];
    await until(() => standIn.calls('gpiomon').length > 0);
    asked.push(first?.isClosed());
    for (const answer of asked) await assert.rejects(async () => answer, /gpiomon ended/);
  });

  test('contacts are closed and opened, and otherwise stay as they were', async (t) => {
    const { standIn, relay } = setUp(t);
    assert.ok(relay);
    standIn.rest(4, 0);
    assert.equal(await relay.isOn(), true, 'low is on, and to ask changes nothing');
    await relay.set(true);
    await relay.set(true);
    assert.equal(standIn.level(4), '0');
    const [call, ...more] = standIn.calls('gpioset');
    assert.equal(call, `--banner --active-low --chip ${CHIP} 4=1`);
    assert.deepEqual(more, [], 'the same state is held already');
    await relay.set(false);
    assert.equal(standIn.level(4), '1');
    assert.equal(await relay.isOn(), false);
  });

  test('contacts make an impulse and go back, unless somebody sets them meanwhile', async (t) => {
    const { standIn, relay } = setUp(t);
    assert.ok(relay);
    await relay.set(false);
    await relay.impulse(50);
    assert.equal(await relay.isOn(), true);
    await until(async () => !(await relay.isOn()));
    await relay.impulse(50);
    await relay.set(true);
    await clock.sleep(120);
    assert.equal(standIn.level(4), '0');
  });

  test('contacts make one impulse of two that overlap, and go back to the level before the first', async (t) => {
    const time = new TestClock();
    const { relay } = setUp(t, PORTS, time);
    assert.ok(relay);
    await relay.set(false);
    await relay.impulse(1_000);
    await time.advance(500);
    await relay.impulse(1_000);
    await time.advance(999);
    assert.equal(await relay.isOn(), true);
    await time.advance(1);
    assert.equal(await relay.isOn(), false);
  });

  test('contacts stay as they are set right behind an impulse', async (t) => {
    const time = new TestClock();
    const { relay } = setUp(t, PORTS, time);
    assert.ok(relay);
    await relay.set(false);
    await Promise.all([relay.impulse(1_000), relay.set(true)]);
    await time.advance(1_000);
    assert.equal(await relay.isOn(), true);
  });

  test('contacts are held again when the program that held them has ended', async (t) => {
    const time = new TestClock();
    const { standIn, relay, failures } = setUp(t, PORTS, time);
    assert.ok(relay);
    await relay.set(true);
    const former = standIn.holder(4);
    process.kill(former, 'SIGKILL');
    await until(() => failures.length > 0);
    await until(async () => {
      // The pause, and not the time that a program has for its start.
      await time.advance(20);
      return standIn.holder(4) !== former;
    });
    assert.equal(await relay.isOn(), true);
    assert.deepEqual(failures, ['rl-1: gpioset ended']);
  });

  test('contacts are not set for a caller that has timed out', async (t) => {
    const { relay } = setUp(t);
    assert.ok(relay);
    await relay.set(false);
    let isWanted = true;
    const first = relay.set(true);
    const late = [relay.set(false, () => isWanted), relay.impulse(1_000, () => isWanted)];
    isWanted = false;
    await Promise.all(late.map((change) => assert.rejects(change, /waited too long/)));
    await first;
    assert.equal(await relay.isOn(), true);
  });

  test('contacts end an impulse when their module stops', async (t) => {
    const { bus, relay, standIn } = setUp(t);
    assert.ok(relay);
    await relay.set(false);
    await relay.impulse(600_000);
    const holder = standIn.holder(4);
    await bus.close();
    assert.notEqual(standIn.holder(4), holder);
    assert.equal(standIn.level(4), '1', 'off is high');
  });

  test('contacts go back from an impulse as soon as their chip is available again', async (t) => {
    const time = new TestClock();
    const { standIn, relay, failures } = setUp(t, PORTS, time);
    assert.ok(relay);
    await relay.set(false);
    await relay.impulse(1_000);
    standIn.fail('no-chip');
    await time.advance(1_000);
    await until(() => failures.length > 0);
    assert.equal(standIn.level(4), '0', 'still on');
    standIn.mend('no-chip');
    await until(async () => {
      // Less than the program that sets it may take: it works in real time.
      await time.advance(RECONNECT_MS);
      return standIn.level(4) === '1';
    });
  });
});

describe('an analogue channel', () => {
  const channel = (t: TestContext, files: Record<string, string>, name = 'in_voltage0') => {
    const folder = mkdtempSync(join(tmpdir(), 'iio-'));
    t.after(() => rmSync(folder, { recursive: true }));
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
    return setUp(t, { 'ai-1': { kind: 'analog_input', path: join(folder, name) } }).bus;
  };

  test('an analogue channel refuses another quantity, a file without a number, and an unknown channel', async (t) => {
    const bus = channel(t, { in_voltage0_raw: 'x\n' });
    await assert.rejects(
      async () => bus.io.channels.get('ai-1')?.measure('current'),
      /does not measure a current/,
    );
    await assert.rejects(async () => bus.io.channels.get('ai-1')?.measure('voltage'), /holds no number/);
    assert.deepEqual(bus.portsFailed, ['ai-1']);
    const none = channel(t, {});
    await assert.rejects(async () => none.io.channels.get('ai-1')?.measure('voltage'), /no such channel/);
  });

  test('an analogue channel has no value while some of its files are missing', async (t) => {
    const files = {
      in_voltage0_raw: '1024',
      in_voltage0_offset: '10',
      in_voltage0_scale: '3',
      in_voltage_scale: '5',
    };
    const folder = temporaryFolder(t);
    const { bus } = setUp(t, { 'ai-1': { kind: 'analog_input', path: join(folder, 'in_voltage0') } });
    const channel = bus.io.channels.get('ai-1');
    const put = (file: string, text: string): void => writeFileSync(join(folder, file), text);
    for (const [file, text] of Object.entries(files)) put(file, text);
    const whole = await channel?.measure('voltage');
    for (const [file, text] of Object.entries(files)) {
      rmSync(join(folder, file));
      // The one of its kind is not asked for.
      if (file === 'in_voltage_scale') assert.equal(await channel?.measure('voltage'), whole);
      else await assert.rejects(async () => channel?.measure('voltage'), /is gone/, file);
      for (const content of ['', ' \n', '12a', 'nan', 'Infinity']) {
        put(file, content);
        if (file === 'in_voltage_scale') continue;
        await assert.rejects(
          async () => channel?.measure('voltage'),
          /holds no number/,
          `${file} ${content}`,
        );
      }
      put(file, text);
      assert.equal(await channel?.measure('voltage'), whole);
    }
  });

  for (const [what, files, name, quantity, expected] of [
    [
      'raw value and scale of its kind',
      { in_voltage0_raw: '1024\n', in_voltage_scale: '3.0\n' },
      'in_voltage0',
      'voltage',
      3.072,
    ],
    [
      'offset and scale of its own',
      { in_current1_raw: '100', in_current1_offset: '-60', in_current1_scale: '0.5' },
      'in_current1',
      'current',
      0.02,
    ],
    ['a value that is ready', { in_temp_input: '21500' }, 'in_temp', 'temperature', 21.5],
  ] as const)
    test(`an analogue channel measures by ${what}`, async (t) => {
      const { io } = channel(t, files, name);
      assert.equal(await io.channels.get('ai-1')?.measure(quantity), expected);
    });
});
