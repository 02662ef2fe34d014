/** Serial ports of the built-in module, added and removed while the gateway runs. Denials first. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import net from 'node:net';
import { describe, test } from 'node:test';
import { refusal, useTestGateway } from '../support/test-gateway.ts';

const PORTS = '/v3/serial_ports';
const RS485 = { name: 'rs485', path: '/dev/null', aliases: ['/dev/ttyS0', 'ttyS0'] };

const gateway = useTestGateway({
  environment: { GATEWAY_SERIAL_PORTS: 'fixed=/dev/ttyUSB9:19200:8E1,server=socket://server:4001' },
});

describe('a serial port is not added', () => {
  const rows: [title: string, body: object, expected: string][] = [
    ['without a path', { name: 'a' }, '400 invalid_body'],
    ['with a name that no URI has', { name: 'a/b', path: '/dev/ttyS0' }, '400 invalid_body'],
    ['outside of /dev', { name: 'a', path: '/etc/passwd' }, '400 invalid_body'],
    ['with a path that leaves /dev', { name: 'a', path: '/dev/../etc/passwd' }, '400 invalid_body'],
    ['on a serial server without a port', { name: 'a', path: 'socket://server' }, '400 invalid_body'],
    [
      'on a server whose address has leading zeros',
      { name: 'a', path: 'socket://10.0.0.07:4001' },
      '400 invalid_body',
    ],
    [
      'on the serial server of another port',
      { name: 'a', path: 'TCP+Serial://Server:4001' },
      '409 already_exists',
    ],
    ['on the device file of another port', { name: 'a', path: '/dev/ttyUSB9' }, '409 already_exists'],
    ['with half a baud', { name: 'a', path: '/dev/ttyS0', baud_rate: 9_600.5 }, '400 invalid_body'],
    ['with a name of the option', { name: 'fixed', path: '/dev/ttyS0' }, '409 already_exists'],
    [
      'with a second name that is taken',
      { name: 'a', path: '/dev/ttyS0', aliases: ['fixed'] },
      '409 already_exists',
    ],
  ];
  for (const [title, body, expected] of rows)
    test(title, async () =>
      assert.equal(refusal(await gateway().call('INSTALLER', 'POST', PORTS, body)), expected),
    );
});

test("a second name of a port's device file is refused, and the message names the port", async (t) => {
  const { ok, call } = gateway();
  const file = openSync('/dev/zero', 'r');
  t.after(() => closeSync(file));
  await ok('INSTALLER', 'POST', PORTS, { name: 'one', path: '/dev/zero' });
  const path = `/dev/fd/${file}`;
  const answer = await call('INSTALLER', 'POST', PORTS, { name: 'two', path });
  assert.equal(refusal(answer), '409 already_exists');
  const [error] = (answer.body as { errors: { message: string; details: object }[] }).errors;
  assert.match(error?.message ?? '', /^The port "one" is on this line already/);
  assert.deepEqual(error?.details, { field: 'path', value: path });
  await ok('INSTALLER', 'DELETE', `${PORTS}/one`);
});

test('a port of the option is listed and kept, and an unknown one is reported', async () => {
  const { ok, call } = gateway();
  assert.deepEqual(await ok('READONLY', 'GET', PORTS), {
    serial_ports: [
      {
        name: 'fixed',
        path: '/dev/ttyUSB9',
        baud_rate: 19_200,
        data_bits: 8,
        parity: 'E',
        stop_bits: 1,
        aliases: [],
        source: 'OPTION',
      },
      {
        name: 'server',
        path: 'socket://server:4001',
        baud_rate: 9_600,
        data_bits: 8,
        parity: 'N',
        stop_bits: 1,
        aliases: [],
        source: 'OPTION',
      },
    ],
    total_count: 2,
  });
  assert.equal(refusal(await call('INSTALLER', 'DELETE', `${PORTS}/fixed`)), '422 serial_port_of_option');
  assert.deepEqual(await ok('INSTALLER', 'POST', `${PORTS}/fixed/test`), {
    test: { usable: false, reason: 'no such device file' },
  });
  for (const [method, path] of [
    ['DELETE', `${PORTS}/none`],
    ['POST', `${PORTS}/none/test`],
  ] as const)
    assert.equal(refusal(await call('INSTALLER', method, path)), '404 serial_port_not_found');
});

test('an added port is kept over a restart, has second names, is tested, and removed', async () => {
  const { ok, restart } = gateway();
  const { serial_port: added } = await ok('INSTALLER', 'POST', PORTS, RS485);
  const expected = { ...RS485, baud_rate: 9_600, data_bits: 8, parity: 'N', stop_bits: 1, source: 'ADDED' };
  assert.deepEqual(added, expected);
  const { test: outcome } = await ok('INSTALLER', 'POST', `${PORTS}/rs485/test`);
  assert.equal((outcome as { usable: boolean }).usable, false, '/dev/null is no serial line');
  await restart();
  const { serial_ports: ports } = await gateway().ok('READONLY', 'GET', PORTS);
  assert.deepEqual((ports as object[])[1], expected);
  await gateway().ok('INSTALLER', 'DELETE', `${PORTS}/rs485`);
  assert.equal((await gateway().ok('READONLY', 'GET', PORTS))['total_count'], 2);
});

test('a port of a serial server is added in one spelling, and tested by a connection', async (t) => {
  const { ok } = gateway();
  const server = net.createServer((socket) => void socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  t.after(() => server.close());
  const { serial_port: added } = await ok('INSTALLER', 'POST', PORTS, {
    name: 'line',
    path: ` Socket://127.0.0.1:${port}/`,
  });
  assert.equal((added as { path: string }).path, `socket://127.0.0.1:${port}`);
  assert.deepEqual(await ok('INSTALLER', 'POST', `${PORTS}/line/test`), { test: { usable: true } });
  server.close();
  await once(server, 'close');
  assert.deepEqual(await ok('INSTALLER', 'POST', `${PORTS}/line/test`), {
    test: { usable: false, reason: 'connection refused' },
  });
  await ok('INSTALLER', 'DELETE', `${PORTS}/line`);
});
