/** CAN, contacts and channels of the built-in module, added and removed while the gateway runs. Denials first. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { refusal, useTestGateway } from '../support/test-gateway.ts';

const PORTS = '/v3/io_ports';
const CHIP = '/dev/gpiochip99';
const CHANNEL = '/sys/bus/iio/devices/iio:device99/in_voltage0';
const input = (name: string, more: object = {}) => ({
  name,
  kind: 'DIGITAL_INPUT',
  path: CHIP,
  line: 1,
  ...more,
});

const gateway = useTestGateway({ environment: { GATEWAY_SERIAL_PORTS: 'fixed=/dev/ttyUSB9' } });

describe('a port is not added', () => {
  const rows: [title: string, body: object, expected: string][] = [
    ['without a kind', { name: 'a', path: 'can0' }, '400 invalid_body'],
    ['of an unknown kind', { name: 'a', kind: 'SPI', path: 'spi0' }, '400 invalid_body'],
    ['with a name that no URI has', { ...input('a/b') }, '400 invalid_body'],
    ['of CAN with a device file', { name: 'a', kind: 'CAN', path: '/dev/can0' }, '400 invalid_body'],
    ['of a device file that is no chip', input('a', { path: '/dev/sda' }), '400 invalid_body'],
    ['of a chip that is an interface', input('a', { path: 'can0' }), '400 invalid_body'],
    [
      'of a file below /sys that is no channel',
      { name: 'a', kind: 'ANALOG_INPUT', path: '/sys/power/state' },
      '400 invalid_body',
    ],
    [
      'with a path that leaves its folder',
      { name: 'a', kind: 'ANALOG_INPUT', path: `${CHANNEL}/../../x` },
      '400 invalid_body',
    ],
    ['without a line', { name: 'a', kind: 'DIGITAL_OUTPUT', path: CHIP }, '400 invalid_body'],
    ['with half a line', input('a', { line: 0.5 }), '400 invalid_body'],
    ['with a resistor that is none', input('a', { bias: 'BOTH' }), '400 invalid_body'],
    ['with the name of a serial port', input('fixed'), '409 already_exists'],
  ];
  for (const [title, body, expected] of rows)
    test(title, async () =>
      assert.equal(refusal(await gateway().call('INSTALLER', 'POST', PORTS, body)), expected),
    );

  test('a port is refused beyond the limit and with a name that is taken; a serial port cannot take its name', async () => {
    const { ok, call } = gateway();
    for (let line = 0; line < 64; line += 1)
      await ok('INSTALLER', 'POST', PORTS, input(`x-${line}`, { line }));
    assert.equal(refusal(await call('INSTALLER', 'POST', PORTS, input('more'))), '422 io_port_limit_reached');
    for (let line = 1; line < 64; line += 1) await ok('INSTALLER', 'DELETE', `${PORTS}/x-${line}`);
    assert.equal(refusal(await call('INSTALLER', 'POST', PORTS, input('x-0'))), '409 already_exists');
    const serial = { name: 'x-0', path: '/dev/ttyS0' };
    assert.equal(refusal(await call('INSTALLER', 'POST', '/v3/serial_ports', serial)), '409 already_exists');
    await ok('INSTALLER', 'DELETE', `${PORTS}/x-0`);
  });
});

test('an unknown port is neither tested nor removed', async () => {
  for (const [method, path] of [
    ['DELETE', `${PORTS}/none`],
    ['POST', `${PORTS}/none/test`],
    ['DELETE', `${PORTS}/fixed`],
  ] as const)
    assert.equal(refusal(await gateway().call('INSTALLER', method, path)), '404 io_port_not_found');
});

test('added ports are kept over a restart, tested, and removed', async () => {
  const { ok, restart } = gateway();
  const added = [
    { name: 'ai-1', kind: 'ANALOG_INPUT', path: CHANNEL },
    { name: 'can', kind: 'CAN', path: 'lo' },
    { ...input('di-1'), active_low: false, bias: 'AS_IS', debounce_ms: 5 },
    { name: 'rl-1', kind: 'DIGITAL_OUTPUT', path: CHIP, line: 2, active_low: true },
  ];
  for (const port of [...added].reverse()) {
    const answer = await ok('INSTALLER', 'POST', PORTS, port.kind === 'DIGITAL_INPUT' ? input('di-1') : port);
    assert.deepEqual(answer['io_port'], port);
  }
  await restart();
  const listed = await gateway().ok('READONLY', 'GET', PORTS);
  assert.deepEqual(listed, { io_ports: added, total_count: 4 });
  for (const [name, reason] of [
    ['ai-1', 'no such channel'],
    ['can', 'is no CAN interface'],
    ['di-1', 'no such device file'],
    ['rl-1', 'no such device file'],
  ] as const)
    assert.deepEqual(await gateway().ok('INSTALLER', 'POST', `${PORTS}/${name}/test`), {
      test: { usable: false, reason },
    });
  for (const { name } of added) await gateway().ok('INSTALLER', 'DELETE', `${PORTS}/${name}`);
  assert.equal((await gateway().ok('READONLY', 'GET', PORTS))['total_count'], 0);
});
