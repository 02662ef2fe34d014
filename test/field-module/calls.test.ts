/** What scripts ask of the wires, on a serial line in memory. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import { Calls } from '../../src/field-module/calls.ts';
import { FieldBus } from '../../src/field-module/field/index.ts';
import type { CallResult, SerialOperation } from '../../src/field-module/thread-messages.ts';
import { TestClock } from '../support/test-clock.ts';
import { fakeSerialDevice, type FakeSerialDevice, played, SETTINGS } from './field/serial-device.ts';
import { NO_BROKERS } from './no-brokers.ts';

function setUp(): {
  clock: TestClock;
  device: FakeSerialDevice;
  calls: Calls;
  serial: (run: number, operation: SerialOperation, port?: string) => Promise<CallResult>;
} {
  const clock = new TestClock();
  const device = fakeSerialDevice();
  const bus = new FieldBus({
    clock,
    ports: { rs485: { path: '/dev/ttyUSB0', ...SETTINGS } },
    openSerialLine: () => device.open,
  });
  const calls = new Calls({
    bus,
    channel: { request: () => Promise.resolve({ type: 'answer', id: 'q' }) },
    clock,
    limits: LIMITS.field,
    mqtt: NO_BROKERS,
  });
  const serial = (run: number, operation: SerialOperation, port = 'rs485'): Promise<CallResult> =>
    played(clock, calls.carryOut(run, { kind: 'serial', port, operation }));
  return { clock, device, calls, serial };
}

const textOf = (result: CallResult): string =>
  result.kind === 'fault'
    ? `${result.fault.number} ${result.fault.text}`
    : result.kind === 'bytes'
      ? Buffer.from(result.bytes).toString()
      : result.kind;

const write = (text: string): SerialOperation => ({ do: 'write', bytes: Buffer.from(text) });

describe('a call of a script fails with text and number', () => {
  test('a call of a script fails for a missing port, missing bytes, too many bytes, and a held port', async () => {
    const { serial } = setUp();
    const said = [
      await serial(1, { do: 'flush' }, 'rs232'),
      await serial(1, { do: 'read', countMax: 4, timeoutMs: 50 }),
      await serial(1, { do: 'receive', timeoutMs: 50 }),
      await serial(1, write('x'.repeat(LIMITS.field.serialWriteBytes + 1))),
      await serial(1, { do: 'acquire' }),
      await serial(1, { do: 'acquire' }),
    ];
    assert.deepEqual(said.map(textOf), [
      '5 hardware port "rs232" is not available on this module',
      '1 timeout',
      '1 timeout',
      '3 at most 4096 bytes are written at once',
      'done',
      '3 the port is held already',
    ]);
  });

  test('a call of a script fails for an invalid address, a missing device, and a broken line', async () => {
    const { calls, device, serial, clock } = setUp();
    const modbus = (uri: string): Promise<CallResult> =>
      played(
        clock,
        calls.carryOut(1, {
          kind: 'modbus',
          uri,
          unitId: 1,
          request: { kind: 'read_holdings', start: 0, count: 1 },
          timeoutMs: 50,
        }),
      );
    assert.equal(textOf(await modbus('nonsense')), '3 a connection URI begins with tcp:// or port://');
    assert.equal(textOf(await modbus('port://rs485')), '1 timeout');
    device.onWrite = () => device.vanish();
    assert.equal(textOf(await serial(1, { do: 'read', countMax: 1, timeoutMs: 20 })), '1 timeout');
    await serial(1, write('x'));
    assert.match(
      textOf(await serial(1, { do: 'read', countMax: 1, timeoutMs: 500 })),
      /^2 connection failed/,
    );
  });
});

describe('a call of a script', () => {
  test('a call of a script receives what comes up to a silence', async () => {
    const { serial, device, clock } = setUp();
    device.onWrite = () => {
      clock.setTimer(10, () => device.say(Buffer.from('ab')));
      clock.setTimer(25, () => device.say(Buffer.from('cd')));
      clock.setTimer(200, () => device.say(Buffer.from('late')));
    };
    await serial(1, write('?'));
    assert.equal(textOf(await serial(1, { do: 'receive', timeoutMs: 1_000 })), 'abcd');
  });

  test('a call of a script receives an answer whole that comes in pieces, as slowly as its line', async () => {
    for (const [baudRate, pauseMs] of [
      [9_600, 60],
      [1_200, 150],
    ] as const) {
      const { serial, device, clock } = setUp();
      await serial(1, { do: 'configure', settings: { ...SETTINGS, baudRate } });
      device.onWrite = () => {
        for (const [index, piece] of ['ab', 'cd', 'ef'].entries())
          clock.setTimer(10 + index * pauseMs, () => device.say(Buffer.from(piece)));
      };
      await serial(1, write('?'));
      assert.equal(textOf(await serial(1, { do: 'receive', timeoutMs: 1_000 })), 'abcdef', `${baudRate}`);
    }
  });

  test('a call of a script finds the line as before when the script that set it up has ended', async () => {
    const { serial, device, calls } = setUp();
    const speeds = (): number[] => device.openings.map(({ baudRate }) => baudRate);
    await serial(1, { do: 'configure', settings: { ...SETTINGS, baudRate: 1_200 } });
    await serial(1, { do: 'configure', settings: { ...SETTINGS, baudRate: 2_400 } });
    await serial(1, write('?'));
    calls.release(2);
    await serial(3, write('?'));
    calls.release(1);
    await serial(3, write('?'));
    assert.deepEqual(speeds(), [2_400, SETTINGS.baudRate]);
  });

  test('a call of a script finds its settings again when another script that changed them has ended', async () => {
    const { serial, device, calls } = setUp();
    for (const [run, baudRate] of [
      [1, 1_200],
      [2, 2_400],
    ] as const)
      await serial(run, { do: 'configure', settings: { ...SETTINGS, baudRate } });
    calls.release(2);
    await serial(1, write('?'));
    calls.release(1);
    await serial(3, write('?'));
    assert.deepEqual(
      device.openings.map(({ baudRate }) => baudRate),
      [1_200, SETTINGS.baudRate],
    );
  });

  test('a call of a script has a port to itself until it lets go of it', async () => {
    const { serial, device, calls, clock } = setUp();
    assert.equal(textOf(await serial(1, { do: 'acquire' })), 'done');
    let isDone = false;
    const other = calls
      .carryOut(2, { kind: 'serial', port: 'rs485', operation: write('other') })
      .then((result) => {
        isDone = true;
        return result;
      });
    assert.equal(textOf(await serial(1, write('own'))), 'done');
    assert.equal(isDone, false);
    await serial(1, { do: 'release' });
    assert.equal(textOf(await played(clock, other)), 'done');
    assert.deepEqual(device.written.map(String), ['own', 'other']);
  });

  test('a call of a script has a port to itself from its question to its answer, and so has another script', async () => {
    const { device, calls, clock } = setUp();
    device.onWrite = (bytes) => clock.setTimer(20, () => device.say(Buffer.from(`${String(bytes)}!`)));
    const asked = async (run: number, question: string): Promise<string> => {
      const serial = (operation: SerialOperation): Promise<CallResult> =>
        calls.carryOut(run, { kind: 'serial', port: 'rs485', operation });
      await serial(write(question));
      return textOf(await serial({ do: 'receive', timeoutMs: 1_000 }));
    };
    const answers = Promise.all([asked(1, 'one'), asked(2, 'two'), asked(3, 'three')]);
    assert.deepEqual(await played(clock, answers), ['one!', 'two!', 'three!']);
  });

  test('a call of a script waits while another call of the same script has a transaction', async () => {
    const { device, calls, clock } = setUp();
    const serial = (task: number, operation: SerialOperation): Promise<CallResult> =>
      calls.carryOut(1, { kind: 'serial', port: 'rs485', operation, task });
    assert.equal(textOf(await played(clock, serial(1, { do: 'acquire' }))), 'done');
    const others = [serial(2, write('other')), serial(3, { do: 'acquire' })];
    assert.equal(textOf(await played(clock, serial(1, write('own')))), 'done');
    assert.equal(textOf(await played(clock, serial(2, { do: 'release' }))), 'done');
    assert.deepEqual(device.written.map(String), ['own']);
    await played(clock, serial(1, { do: 'release' }));
    assert.deepEqual((await played(clock, Promise.all(others))).map(textOf), ['done', 'done']);
    assert.deepEqual(device.written.map(String), ['own', 'other']);
  });

  test('a call of a script releases the line when its script ends while it reads', async () => {
    const { serial, calls, clock } = setUp();
    const beganMs = clock.monotonicMs();
    const operation = { do: 'read', countMax: 1, timeoutMs: 60_000 } as const;
    const reading = calls.carryOut(1, { kind: 'serial', port: 'rs485', operation });
    await clock.advance(10);
    calls.release(1);
    assert.equal(textOf(await played(clock, reading)), '1 timeout');
    assert.equal(textOf(await serial(2, write('other'))), 'done');
    assert.ok(clock.monotonicMs() - beganMs < 1_000);
  });

  test('a call of a script writes its message to the end before another writes, also when its script ends meanwhile', async () => {
    const clock = new TestClock();
    const written: string[] = [];
    const bus = new FieldBus({
      clock,
      ports: { rs485: { path: '/dev/ttyUSB0', ...SETTINGS } },
      openSerialLine: () => () =>
        Promise.resolve({
          write: async (bytes) => {
            for (const byte of String(bytes)) {
              written.push(byte);
              await clock.sleep(10);
            }
          },
          close: () => undefined,
        }),
    });
    const calls = new Calls({
      bus,
      channel: { request: () => Promise.resolve({ type: 'answer', id: 'q' }) },
      clock,
      limits: LIMITS.field,
      mqtt: NO_BROKERS,
    });
    const serial = (run: number, operation: SerialOperation): Promise<CallResult> =>
      calls.carryOut(run, { kind: 'serial', port: 'rs485', operation });
    await played(clock, serial(1, { do: 'acquire' }));
    const first = serial(1, write('abcdef'));
    await clock.advance(20);
    const second = serial(2, write('XY'));
    calls.release(1);
    await played(clock, Promise.all([first, second]));
    assert.equal(written.join(''), 'abcdefXY');
  });

  test('a port is given back when its script ends, held or still waited for', async () => {
    const { serial, calls, clock } = setUp();
    await serial(1, { do: 'acquire' });
    const waiting = calls.carryOut(2, { kind: 'serial', port: 'rs485', operation: { do: 'acquire' } });
    calls.release(2);
    calls.release(1);
    assert.equal(textOf(await played(clock, waiting)), '1 timeout');
    assert.equal(textOf(await serial(3, { do: 'acquire' })), 'done');
  });

  test('a port is given back when the call that took it times out', async () => {
    const { serial, calls, clock } = setUp();
    const untilMs = clock.monotonicMs() + 5_000;
    const acquire = {
      kind: 'serial',
      port: 'rs485',
      operation: { do: 'acquire' },
      remainingMs: 5_000,
    } as const;
    assert.equal(textOf(await played(clock, calls.carryOut(1, acquire))), 'done');
    assert.equal(textOf(await serial(2, write('other'))), 'done');
    assert.ok(clock.monotonicMs() >= untilMs);
    assert.equal(textOf(await serial(1, { do: 'acquire' })), 'done');
  });

  test('a call of a script stops receiving at its time limit from a device that never falls silent', async () => {
    const { device, calls, clock } = setUp();
    const untilMs = clock.monotonicMs() + 5_000;
    const operation = { do: 'receive', timeoutMs: 1_000 } as const;
    const reading = calls.carryOut(1, { kind: 'serial', port: 'rs485', operation, remainingMs: 5_000 });
    clock.setRepeating(90, () => device.say(Buffer.from('x')));
    assert.match(textOf(await played(clock, reading)), /^x+$/);
    assert.ok(clock.monotonicMs() < untilMs + 100);
  });

  test('a call of a script stops reading at its time limit: later bytes are for others', async () => {
    for (const operation of [
      { do: 'read', countMax: 1, timeoutMs: 60_000 },
      { do: 'receive', timeoutMs: 60_000 },
    ] as const) {
      const { serial, device, calls, clock } = setUp();
      const untilMs = clock.monotonicMs() + 5_000;
      const call = { kind: 'serial', port: 'rs485', operation, remainingMs: 5_000 } as const;
      assert.equal(textOf(await played(clock, calls.carryOut(1, call))), '1 timeout');
      assert.ok(clock.monotonicMs() < untilMs + 1_000, operation.do);
      device.say(Buffer.from('x'));
      assert.equal(textOf(await serial(2, { do: 'read', countMax: 1, timeoutMs: 100 })), 'x');
    }
  });

  test('a call of a script does not wait for a time that is no number', async () => {
    const { serial } = setUp();
    const said = await serial(1, { do: 'read', countMax: 1, timeoutMs: Number.NaN });
    assert.equal(textOf(said), '1 timeout');
  });

  test('a call of a script waits for a unit until its time limit only', async () => {
    const { calls, clock } = setUp();
    const beginMs = clock.monotonicMs();
    const silent = {
      kind: 'modbus',
      uri: 'port://rs485',
      unitId: 1,
      request: { kind: 'read_holdings', start: 0, count: 1 },
      timeoutMs: 60_000,
      remainingMs: 5_000,
    } as const;
    assert.equal(textOf(await played(clock, calls.carryOut(1, silent))), '1 timeout');
    assert.ok(clock.monotonicMs() - beginMs < 6_000);
  });

  test('a call of a script sends nothing when its turn comes after its timeout, or after its script has ended', async () => {
    const { serial, device, calls, clock } = setUp();
    await serial(1, { do: 'acquire' });
    const request = { kind: 'write_holding', start: 0, values: [1] } as const;
    const late = [
      calls.carryOut(2, { kind: 'serial', port: 'rs485', operation: write('late'), remainingMs: 100 }),
      calls.carryOut(2, {
        kind: 'modbus',
        uri: 'port://rs485',
        unitId: 1,
        request,
        timeoutMs: 50,
        remainingMs: 100,
      }),
      calls.carryOut(3, { kind: 'serial', port: 'rs485', operation: write('over') }),
    ];
    await clock.advance(100);
    calls.release(3);
    await serial(1, { do: 'release' });
    const said = await played(clock, Promise.all(late));
    assert.deepEqual(said.map(textOf), ['1 timeout', '1 timeout', '1 timeout']);
    assert.deepEqual(device.written, []);
  });
});
