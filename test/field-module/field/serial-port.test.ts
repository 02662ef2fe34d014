import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { PortFault } from '../../../src/field-module/field/modbus-fault.ts';
import { SerialPort } from '../../../src/field-module/field/serial-port.ts';
import { TestClock } from '../../support/test-clock.ts';
import { fakeSerialDevice, type FakeSerialDevice, played, SETTINGS } from './serial-device.ts';

const USER = 1;
const VISITOR = 2;

function opened(): { clock: TestClock; device: FakeSerialDevice; port: SerialPort } {
  const clock = new TestClock();
  const device = fakeSerialDevice();
  const port = new SerialPort({ open: device.open, settings: SETTINGS, clock, limits: LIMITS.field });
  return { clock, device, port };
}

const isFault =
  (kind: PortFault['kind'], text = '') =>
  (error: unknown): boolean =>
    error instanceof PortFault && error.kind === kind && error.message.includes(text);

describe('a serial port', () => {
  test('a serial port fails a read when nothing comes in time', async () => {
    const { clock, port } = opened();
    const reading = port.inTurn(USER, (turn) => turn.read(4, 100));
    await assert.rejects(played(clock, reading), isFault('timeout'));
  });

  test('a serial port takes a scan with other settings for one turn, in its turn', async () => {
    const { clock, device, port } = opened();
    const fast = { ...SETTINGS, baudRate: 19_200 };
    const speeds: number[] = [];
    const note = (turn: { settings: typeof SETTINGS }): Promise<void> => {
      speeds.push(turn.settings.baudRate);
      return Promise.resolve();
    };
    await played(clock, port.visit(VISITOR, fast, note));
    assert.equal(port.isUsed, false);
    await played(
      clock,
      Promise.all([port.inTurn(USER, note), port.visit(VISITOR, fast, note), port.inTurn(USER, note)]),
    );
    assert.deepEqual(speeds, [19_200, 9_600, 19_200, 9_600]);
    assert.deepEqual(
      device.openings.map(({ baudRate }) => baudRate),
      speeds,
    );
    assert.equal(port.isUsed, true);
    await clock.advance(LIMITS.field.idleMs);
    assert.equal(port.isUsed, false);
  });

  test('a serial port is tried at once for a scan, also in the pause after a failure', async () => {
    const { clock, device, port } = opened();
    device.refusal = new Error('no');
    await assert.rejects(
      played(
        clock,
        port.inTurn(USER, () => Promise.resolve()),
      ),
      isFault('connection_failed', 'no'),
    );
    device.refusal = undefined;
    await played(
      clock,
      port.visit(VISITOR, SETTINGS, () => Promise.resolve()),
    );
    assert.equal(device.openings.length, 1);
  });

  test('a serial port fails a read when the adapter is pulled', async () => {
    const { clock, device, port } = opened();
    const reading = port.inTurn(USER, (turn) => turn.read(4, 10_000));
    clock.setTimer(50, () => device.vanish());
    await assert.rejects(played(clock, reading, 1_000), isFault('connection_failed', 'gone'));
  });

  test('a serial port fails the read in turn when it is closed, and opens again for the next one', async () => {
    const { clock, device, port } = opened();
    const reading = port.inTurn(USER, (turn) => turn.read(4, 10_000));
    clock.setTimer(50, () => port.close());
    await assert.rejects(played(clock, reading, 1_000), isFault('connection_failed', 'closed'));
    await played(
      clock,
      port.inTurn(USER, (turn) => turn.write(Buffer.of(1))),
    );
    assert.equal(device.openings.length, 2);
  });

  test('a serial port gives a read as many bytes as it asks for, and the rest to the next', async () => {
    const { clock, device, port } = opened();
    const words = port.inTurn(USER, async (turn) => {
      await turn.write(Buffer.from('?'));
      const first = await turn.read(3, 1_000);
      return [String(first), String(await turn.read(100, 50))];
    });
    device.onWrite = () => {
      device.say(Buffer.from('ab'));
      clock.setTimer(20, () => device.say(Buffer.from('cde')));
    };
    assert.deepEqual(await played(clock, words), ['abc', 'de']);
  });

  test('a serial port keeps a bounded number of unread bytes: the newest', async () => {
    const { clock, device, port } = opened();
    await played(
      clock,
      port.inTurn(USER, (turn) => turn.write(Buffer.of(0))),
    );
    for (let count = 0; count < 5; count += 1)
      device.say(Buffer.alloc(LIMITS.field.serialBufferBytes / 4, count));
    // Somebody else's turn in which everything arrives.
    await played(
      clock,
      port.inTurn(USER, () => clock.sleep(10)),
    );
    const held = await played(
      clock,
      port.inTurn(USER, (turn) => turn.read(LIMITS.field.serialBufferBytes, 50)),
    );
    assert.deepEqual([held.length, held[0], held.at(-1)], [LIMITS.field.serialBufferBytes, 1, 4]);
  });

  test('a serial port serves one caller after the other, whatever happens to the first', async () => {
    const { clock, port } = opened();
    const order: string[] = [];
    const first = port.inTurn(USER, async () => {
      order.push('first begins');
      await clock.sleep(50);
      order.push('first fails');
      throw new Error('of the user');
    });
    const second = port.inTurn(USER, () => {
      order.push('second');
      return Promise.resolve('done');
    });
    await assert.rejects(played(clock, first), /of the user/);
    assert.equal(await played(clock, second), 'done');
    assert.deepEqual(order, ['first begins', 'first fails', 'second']);
  });

  test('a serial port is opened again with other settings from the next turn on', async () => {
    const { clock, device, port } = opened();
    const use = (): Promise<number> =>
      played(
        clock,
        port.inTurn(USER, (turn) => Promise.resolve(turn.settings.baudRate)),
      );
    assert.equal(await use(), 9_600);
    port.configure({ ...SETTINGS });
    assert.equal(await use(), 9_600);
    port.configure({ ...SETTINGS, baudRate: 19_200 });
    assert.equal(await use(), 19_200);
    assert.deepEqual(
      device.openings.map(({ baudRate }) => baudRate),
      [9_600, 19_200],
    );
  });
});
