import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import net from 'node:net';
import type { Duplex } from 'node:stream';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { createSystemClock } from '../../../src/platform/clock/index.ts';
import { FieldBus, type ModbusAnswer, type ModbusClient } from '../../../src/field-module/field/index.ts';
import { parseConnectionUri } from '../../../src/field-module/field/connection-uri.ts';
import type { ModbusRequest } from '../../../src/field-module/field/modbus-pdu.ts';
import { encodeRtuFrame } from '../../../src/field-module/field/modbus-rtu-frame.ts';
import { unanswered } from './modbus-device.ts';
import { streamPair } from '../../support/stream-pair.ts';
import { settle, TestClock } from '../../support/test-clock.ts';
import { fakeSerialDevice, played, SETTINGS } from './serial-device.ts';

const READ: ModbusRequest = { kind: 'read_holdings', start: 0, count: 1 };

function clientOf(bus: FieldBus, uri: string): ModbusClient {
  const client = bus.modbus(uri);
  return typeof client === 'string' ? assert.fail(client) : client;
}

/** A device that answers each request with the value 7. */
function answeringStream(): Duplex {
  const { client, server } = streamPair();
  server.on('data', (frame: Buffer) =>
    server.write(Buffer.concat([frame.subarray(0, 5), Buffer.of(5, frame[6] ?? 0, 3, 2, 0, 7)])),
  );
  server.on('error', () => server.destroy());
  return client;
}

const STRICT = { isLoose: false, connections: 1 };

describe('a connection URI', () => {
  for (const [text, problem] of [
    ['', /begins with/],
    ['192.168.0.10', /begins with/],
    ['192.168.0.10:502', /begins with/],
    ['tcp://', /needs a host/],
    ['tcp://host:0', /port from 1/],
    ['tcp://host:70000', /needs a host/],
    ['tcp://ho st', /needs a host/],
    ['port://', /name of a port/],
    ['port://a/b', /name of a port/],
    ['gio://device/rs485', /gio:\/\/ are not supported/],
    ['udp://host', /not supported/],
    ['tcp://192.168.001.020', /leading zeros/],
    ['TCP://10.0.0.07:502', /leading zeros/],
    ['rtu+tcp://010.0.0.7:4001', /leading zeros/],
    ['rtu+tcp://10.0.0.7', /port from 1/],
    ['tcp://a?ids=any', /strict or loose/],
    ['tcp://a?connections=9', /from 1 to 8/],
  ] as const)
    test(`the connection URI "${text}" is refused`, () => {
      const address = parseConnectionUri(text);
      assert.match(typeof address === 'string' ? address : 'understood', problem);
    });

  for (const [text, address] of [
    ['tcp://192.168.0.10', { kind: 'tcp', host: '192.168.0.10', port: 502, ...STRICT }],
    [' TCP://Inverter.local:1502?x=1 ', { kind: 'tcp', host: 'inverter.local', port: 1_502, ...STRICT }],
    ['tcp://[fe80::1]:502', { kind: 'tcp', host: 'fe80::1', port: 502, ...STRICT }],
    ['tcp://a?ids=loose&connections=4', { kind: 'tcp', host: 'a', port: 502, isLoose: true, connections: 4 }],
    ['rtu+tcp://10.0.0.7:4001', { kind: 'socket', host: '10.0.0.7', port: 4_001 }],
    ['TCP+Serial://Server:4001', { kind: 'socket', host: 'server', port: 4_001 }],
    ['socket://[fe80::1]:4001', { kind: 'socket', host: 'fe80::1', port: 4_001 }],
    ['port://rs485', { kind: 'port', name: 'rs485' }],
  ] as const)
    test(`the connection URI "${text}" is understood`, () =>
      assert.deepEqual(parseConnectionUri(text), address));
});

describe('the wires of a module', () => {
  test('a module has only the ports that the operator named', () => {
    const bus = new FieldBus({ clock: new TestClock(), ports: {} });
    assert.equal(bus.modbus('port://rs485'), 'hardware port "rs485" is not available on this module');
    assert.equal(bus.serialPort('rs485'), undefined);
  });

  test('a module has connections to a bounded number of addresses; an unused one makes room', async () => {
    const clock = new TestClock();
    const bus = new FieldBus({
      clock,
      ports: {},
      limits: { ...LIMITS.field, addresses: 2 },
      dial: () => Promise.resolve(answeringStream()),
    });
    const ask = async (host: string): Promise<string> => {
      const answer = await clientOf(bus, `tcp://${host}`).request(1, READ);
      return answer.ok ? 'ok' : answer.fault.kind;
    };
    assert.deepEqual([await ask('a'), await ask('b'), await ask('c')], ['ok', 'ok', 'overloaded']);
    await clock.advance(LIMITS.field.idleMs);
    assert.equal(await ask('c'), 'ok');
    await bus.close();
  });

  test('one connection is shared by all scripts that name the same address, however it is spelled', async () => {
    let dials = 0;
    const bus = new FieldBus({
      clock: new TestClock(),
      ports: {},
      dial: () => {
        dials += 1;
        return Promise.resolve(answeringStream());
      },
    });
    for (const uri of ['tcp://device', 'tcp://DEVICE:502', 'tcp://device:502?unit=1'])
      assert.deepEqual(await clientOf(bus, uri).request(1, READ), { ok: true, values: [7] });
    assert.equal(dials, 1);
    await bus.close();
  });

  test('Modbus and raw bytes take turns on one serial port', async () => {
    const clock = new TestClock();
    const device = fakeSerialDevice();
    const bus = new FieldBus({
      clock,
      ports: { rs485: { path: '/dev/ttyUSB0', ...SETTINGS } },
      openSerialLine: () => device.open,
    });
    device.onWrite = (bytes) =>
      device.say(bytes[0] === 1 ? encodeRtuFrame(1, Buffer.of(3, 2, 0, 9)) : Buffer.from('pong'));
    const port = bus.serialPort('rs485') ?? assert.fail();
    const raw = port.inTurn(1, async (turn) => {
      await turn.write(Buffer.from('ping'));
      return String(await turn.read(4, 100));
    });
    const modbus = clientOf(bus, 'port://rs485').request(1, READ);
    assert.equal(await played(clock, raw), 'pong');
    assert.deepEqual(await played(clock, modbus), { ok: true, values: [9] });
    assert.equal(device.openings.length, 1);
    await bus.close();
  });

  test('polls keep their times with half of 50 devices black-holed, and all are back within 30 s', async () => {
    const clock = new TestClock();
    let isDark = true;
    const bus = new FieldBus({
      clock,
      ports: {},
      limits: { ...LIMITS.field, connectMs: 1_000 },
      dial: ({ host }, signal) =>
        isDark && Number(host.replace('d', '')) % 2 === 1
          ? unanswered(signal)
          : Promise.resolve(answeringStream()),
    });
    const polls = Array.from({ length: 50 }, () => ({ ok: 0, failed: 0, slowestMs: 0 }));
    const poll = async (index: number): Promise<void> => {
      const entry = polls[index] ?? assert.fail();
      const before = clock.monotonicMs();
      const answer = await clientOf(bus, `tcp://d${index}`).request(1, READ);
      entry.slowestMs = Math.max(entry.slowestMs, clock.monotonicMs() - before);
      if (answer.ok) entry.ok += 1;
      else entry.failed += 1;
    };
    const second = async (): Promise<void> => {
      const round = polls.map((_, index) => poll(index));
      // The way there and back takes a few turns of the event loop.
      for (let turn = 0; turn < 12; turn += 1) await settle();
      await clock.advance(1_000);
      await Promise.all(round);
    };
    for (let count = 0; count < 60; count += 1) await second();
    for (const [index, { ok, failed, slowestMs }] of polls.entries())
      if (index % 2 === 1) assert.deepEqual([ok, failed], [0, 60]);
      else assert.deepEqual([ok, failed, slowestMs], [60, 0, 0]);
    isDark = false;
    let seconds = 0;
    while (polls.some(({ ok }) => ok === 0)) {
      assert.ok((seconds += 1) <= 30, 'not all are back');
      await second();
    }
    await bus.close();
    await settle();
    assert.equal(clock.waiting, 0);
  });
});

describe('the wires of a module over real sockets', () => {
  test('a refused connection is reported, and the device is found when it listens again', async () => {
    const clock = createSystemClock();
    const server = net.createServer((socket) => {
      socket.on('data', (frame: Buffer) =>
        socket.write(Buffer.concat([frame.subarray(0, 5), Buffer.of(5, frame[6] ?? 0, 3, 2, 0, 7)])),
      );
      socket.on('error', () => socket.destroy());
    });
    const listen = (port: number): Promise<number> =>
      new Promise((resolve) =>
        server.listen(port, '127.0.0.1', () => resolve((server.address() as net.AddressInfo).port)),
      );
    const port = await listen(0);
    await new Promise((resolve) => server.close(resolve));
    const bus = new FieldBus({ clock, ports: {} });
    const client = clientOf(bus, `tcp://127.0.0.1:${port}`);
    assert.deepEqual(await client.request(1, READ), {
      ok: false,
      fault: { kind: 'connection_failed', reason: 'connection refused' },
    });
    await listen(port);
    let answer = await client.request(1, READ);
    while (!answer.ok) {
      await clock.sleep(20);
      answer = await client.request(1, READ);
    }
    assert.deepEqual(answer, { ok: true, values: [7] });
    await bus.close();
    await new Promise((resolve) => server.close(resolve));
    clock.close();
  });

  test('a connection carries two thousand reads, a hundred at a time', async () => {
    const clock = createSystemClock();
    const server = net.createServer({ noDelay: true }, (socket) => {
      let rest = Buffer.alloc(0);
      socket.on('data', (chunk: Buffer) => {
        rest = Buffer.concat([rest, chunk]);
        for (; rest.length >= 12; rest = rest.subarray(12))
          socket.write(Buffer.concat([rest.subarray(0, 5), Buffer.of(5, rest[6] ?? 0, 3, 2, 0, 7)]));
      });
      socket.on('error', () => socket.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
    const bus = new FieldBus({ clock, ports: {} });
    const client = clientOf(bus, `tcp://127.0.0.1:${(server.address() as net.AddressInfo).port}`);
    for (let batch = 0; batch < 20; batch += 1) {
      const answers: ModbusAnswer[] = await Promise.all(
        Array.from({ length: 100 }, () => client.request(1, READ)),
      );
      assert.ok(answers.every((answer) => answer.ok));
    }
    await bus.close();
    await new Promise((resolve) => server.close(resolve));
    clock.close();
  });
});

test('a port that cannot be opened is reported with its file and the reason, and its names are one port', async (t) => {
  const clock = new TestClock();
  const device = fakeSerialDevice();
  const failures: object[] = [];
  const line = { path: '/dev/ttyUSB0', ...SETTINGS };
  const bus = new FieldBus({
    clock,
    ports: { rs485: line, '/dev/ttyS0': line, ttyS0: line },
    openSerialLine: () => device.open,
    onPortFailed: (failure) => void failures.push(failure),
  });
  t.after(() => bus.close());
  device.refusal = Object.assign(new Error('no'), { code: 'EACCES' });
  await played(clock, clientOf(bus, 'port://rs485').request(1, READ, 100));
  assert.deepEqual(failures, [{ port: 'rs485', path: '/dev/ttyUSB0', reason: 'permission denied' }]);
  assert.equal(bus.serialPort('/dev/ttyS0'), bus.serialPort('rs485'));
  assert.equal(bus.serialPort('ttyS0'), bus.serialPort('rs485'));
  // Its own device file is a name, too.
  for (const name of ['/dev/ttyUSB0', 'ttyUSB0'])
    assert.equal(bus.serialPort(name), bus.serialPort('rs485'), name);
  for (const uri of ['port:///dev/ttyUSB0', 'port://ttyUSB0', 'port:///dev/ttyS0?baud=9600'])
    assert.equal(typeof bus.modbus(uri), 'object', uri);
  assert.equal(
    bus.modbus('port:///dev/ttyUSB1'),
    'hardware port "/dev/ttyUSB1" is not available on this module',
  );
  assert.deepEqual(bus.portsFailed, ['rs485']);
  device.refusal = undefined;
  await played(clock, clock.sleep(1_000));
  await played(clock, clientOf(bus, 'port://rs485').request(1, READ, 100));
  assert.deepEqual(bus.portsFailed, []);
});
