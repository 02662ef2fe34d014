/** Serial lines behind real serial servers: ser2net and socat, on a pseudo-terminal with a Modbus unit behind it. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, realpathSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { after, describe, test, type TestContext } from 'node:test';
import type { FaultBoard } from '../../../scripts/simulate/modbus-faults.ts';
import { serveModbusSerial } from '../../../scripts/simulate/modbus-server.ts';
import { openPseudoTerminal } from '../../../scripts/simulate/pseudo-terminal.ts';
import { createSystemClock } from '../../../src/platform/clock/index.ts';
import { serialLineProblem } from '../../../src/platform/host/index.ts';
import { type Limits, LIMITS } from '../../../src/lib/limits.ts';
import { Calls } from '../../../src/field-module/calls.ts';
import { FieldBus } from '../../../src/field-module/field/index.ts';
import { crc16, decodeRtuFrame, encodeRtuFrame } from '../../../src/field-module/field/modbus-rtu-frame.ts';
import { freePort } from '../../support/line-engines.ts';
import { until } from '../../support/until.ts';
import { temporaryFolder } from '../../support/workspace.ts';
import { SETTINGS } from './serial-device.ts';
import { NO_BROKERS } from '../no-brokers.ts';

const clock = createSystemClock();
after(() => clock.close());

const UNIT = 7;

/** A unit whose registers hold their own addresses, on a pseudo-terminal. */
async function playLine(t: TestContext): Promise<{ path: string; faults: Pick<FaultBoard, 'of'> }> {
  const link = join(temporaryFolder(t), 'line');
  const line = openPseudoTerminal(link, assert.fail);
  t.after(() => line.child.kill());
  const faults: Pick<FaultBoard, 'of'> = { of: () => undefined };
  const answer = (unitId: number, request: Buffer): Buffer | undefined => {
    const [start, count] = [request.readUInt16BE(1), request.readUInt16BE(3)];
    const values = Array.from({ length: count }, (_, index) => [
      (start + index) >> 8,
      (start + index) & 0xff,
    ]);
    return unitId === UNIT ? Buffer.from([3, count * 2, ...values.flat()]) : undefined;
  };
  const { input, output } = line;
  serveModbusSerial({ units: { unitIds: [UNIT], answer }, faults, clock, input, output, crc16 });
  await until(() => existsSync(link));
  return { path: realpathSync(link), faults };
}

const PROGRAMS = {
  ser2net: (port: number, path: string) => [
    '-n',
    '-u',
    '-d',
    '-Y',
    `connection: &line#  accepter: tcp,127.0.0.1,${port}#  connector: serialdev,${path},9600n81,local#`,
  ],
  socat: (port: number, path: string) => [
    '-t',
    '0.1',
    `TCP-LISTEN:${port},bind=127.0.0.1,reuseaddr,fork,max-children=1`,
    `OPEN:${path},rawer`,
  ],
};

async function startServer(
  t: TestContext,
  program: keyof typeof PROGRAMS,
  port: number,
  path: string,
): Promise<ChildProcess> {
  const environment = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
  const child = spawn(program, PROGRAMS[program](port, path), {
    stdio: 'ignore',
    env: environment,
    detached: true,
  });
  t.after(() => stop(child));
  await until(async () => (await serialLineProblem(`socket://127.0.0.1:${port}`)) === undefined);
  return child;
}

/** With the processes that socat has for its connections. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  process.kill(-child.pid, 'SIGKILL');
  await once(child, 'exit');
}

const isThere = (program: string): boolean =>
  spawnSync('sh', ['-c', `PATH=$PATH:/usr/sbin command -v ${program} && command -v socat`]).status === 0;

for (const program of ['ser2net', 'socat'] as const)
  describe(
    `A serial line behind ${program}`,
    { skip: !isThere(program) && `${program} is not installed` },
    () => {
      const setUp = async (t: TestContext) => {
        const line = await playLine(t);
        const port = await freePort();
        const server = await startServer(t, program, port, line.path);
        const bus = new FieldBus({
          clock,
          ports: { rs485: { path: `socket://127.0.0.1:${port}`, ...SETTINGS } },
        });
        t.after(() => bus.close());
        const client = bus.modbus(`rtu+tcp://127.0.0.1:${port}`);
        if (typeof client === 'string') assert.fail(client);
        const read = (start: number, timeoutMs = 5_000) =>
          client.request(UNIT, { kind: 'read_holdings', start, count: 2 }, timeoutMs);
        return { ...line, port, server, bus, read };
      };

      test('a line behind a serial server carries Modbus RTU, raw bytes of a script and a scan, one after the other', async (t) => {
        const { bus, port, read } = await setUp(t);
        const channel = { request: () => Promise.resolve({ type: 'answer' as const, id: 'q' }) };
        const calls = new Calls({ bus, channel, clock, limits: LIMITS.field, mqtt: NO_BROKERS });
        const raw = async (name: string): Promise<unknown> => {
          const call = { kind: 'serial', port: name } as const;
          const question = encodeRtuFrame(UNIT, Buffer.from('0300090001', 'hex'));
          await calls.carryOut(1, { ...call, operation: { do: 'write', bytes: question } });
          const result = await calls.carryOut(1, {
            ...call,
            operation: { do: 'read', countMax: 7, timeoutMs: 5_000 },
          });
          return result.kind === 'bytes'
            ? decodeRtuFrame(Buffer.from(result.bytes))?.pdu.toString('hex')
            : result;
        };
        const visit = bus.visit('port://rs485', { baudRate: 19_200 }, new AbortController().signal);
        if (typeof visit === 'string') assert.fail(visit);
        const [first, byPort, byServer, scanned] = await Promise.all([
          read(0x1234),
          raw('rs485'),
          raw(`socket://127.0.0.1:${port}`),
          visit.ask(UNIT, { kind: 'read_holdings', start: 3, count: 1 }, 5_000),
        ]);
        assert.deepEqual(first, { ok: true, values: [0x1234, 0x1235] });
        assert.deepEqual([byPort, byServer], ['03020009', '03020009']);
        assert.deepEqual(scanned, { ok: true, values: [3] });
      });

      test(`a serial line behind ${program} never takes a late answer for the next question`, async (t) => {
        const { read, faults } = await setUp(t);
        assert.equal((await read(1)).ok, true);
        faults.of = () => ({ kind: 'slow', delayMs: 400 });
        const [first, second, third] = await Promise.all([read(100, 150), read(200, 5_000), read(300, 150)]);
        assert.deepEqual(first, { ok: false, fault: { kind: 'timeout' } });
        for (const [start, answer] of [
          [200, second],
          [300, third],
        ] as const)
          if (answer.ok) assert.deepEqual(answer.values, [start, start + 1]);
        faults.of = () => undefined;
        await until(async () => (await read(400)).ok);
        assert.deepEqual(await read(500), { ok: true, values: [500, 501] });
      });

      test(`a serial line behind ${program} is dialled again after the server went away, and reports meanwhile why it cannot be reached`, async (t) => {
        const { path, port, server, read } = await setUp(t);
        assert.equal((await read(1)).ok, true);
        await stop(server);
        let reason = '';
        await until(async () => {
          const answer = await read(2);
          if (!answer.ok && 'reason' in answer.fault) ({ reason } = answer.fault);
          return reason === 'connection refused';
        });
        await startServer(t, program, port, path);
        await until(async () => (await read(600)).ok);
        assert.deepEqual(await read(700), { ok: true, values: [700, 701] });
      });
    },
  );

/** A bus, and a client of a server that does with each connection, counted from 1, what a test says. */
async function playServer(
  t: TestContext,
  onConnection: (socket: net.Socket, number: number) => void,
  limits: Partial<Limits['field']> = {},
) {
  const connections: net.Socket[] = [];
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined);
    onConnection(socket, connections.push(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bus = new FieldBus({ clock, ports: {}, limits: { ...LIMITS.field, ...limits } });
  t.after(async () => {
    await bus.close();
    for (const socket of connections) socket.destroy();
    server.close();
  });
  const client = bus.modbus(`tcp+serial://127.0.0.1:${(server.address() as net.AddressInfo).port}`);
  if (typeof client === 'string') assert.fail(client);
  return (start: number) => client.request(UNIT, { kind: 'read_holdings', start, count: 1 });
}

const answerOf = (start: number): Buffer =>
  encodeRtuFrame(UNIT, Buffer.from([3, 2, start >> 8, start & 0xff]));

test('an answer that a serial server delivers over the next connection is not taken for that of the next question', async (t) => {
  const read = await playServer(t, (socket, number) => {
    // The server restarts while the unit answers the second question, and hands over that answer afterwards.
    if (number === 2) clock.setTimer(60, () => socket.write(answerOf(2)));
    socket.on('data', (bytes: Buffer) => {
      const start = bytes.readUInt16BE(2);
      if (number === 1 && start === 2) socket.destroy();
      else clock.setTimer(120, () => socket.write(answerOf(start)));
    });
  });
  assert.deepEqual(await read(1), { ok: true, values: [1] });
  assert.deepEqual(await read(2), {
    ok: false,
    fault: { kind: 'connection_failed', reason: 'closed by the serial server' },
  });
  let answer = await read(3);
  await until(async () => answer.ok || (answer = await read(3)).ok);
  assert.deepEqual(answer, { ok: true, values: [3] });
});

test('a serial server that lost its power without closing the connection is dialled again', async (t) => {
  const read = await playServer(
    t,
    (socket, number) =>
      socket.on('data', (bytes: Buffer) => {
        const start = bytes.readUInt16BE(2);
        if (number > 1 || start === 1) socket.write(answerOf(start));
      }),
    { serverSilenceMs: 100 },
  );
  assert.deepEqual(await read(1), { ok: true, values: [1] });
  assert.deepEqual(await read(2), { ok: false, fault: { kind: 'timeout' } });
  let answer = await read(3);
  await until(async () => answer.ok || (answer = await read(3)).ok);
  assert.deepEqual(answer, { ok: true, values: [3] });
});

test('A serial server that closes the connection behind each answer loses no read', async (t) => {
  const read = await playServer(t, (socket) =>
    socket.on('data', (bytes: Buffer) => socket.end(answerOf(bytes.readUInt16BE(2)))),
  );
  const starts = Array.from({ length: 20 }, (_, index) => index);
  assert.deepEqual(
    await Promise.all(starts.map(read)),
    starts.map((start) => ({ ok: true, values: [start] })),
  );
});
