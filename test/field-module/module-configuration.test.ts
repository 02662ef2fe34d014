import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseModuleConfiguration } from '../../src/field-module/module-configuration.ts';

const CONFIG = {
  mqtt_host: 'gateway.local',
  mqtt_port: 1_883,
  mqtt_protocol: 'MQTT',
  mqtt_credentials: { username: 'V1', password: 'secret' },
  hardware_id: 'V1',
  channel_id: 'ucm',
};
const textOf = (content: unknown): string => JSON.stringify(content);
const PORT = { path: '/dev/ttyUSB0' };

describe('the configuration of a module', () => {
  for (const [what, text, problem] of [
    ['text that is neither JSON nor base64', 'nonsense', /neither JSON nor base64/],
    ['a list', textOf([CONFIG]), /neither JSON nor base64/],
    ['no host', textOf({ ...CONFIG, mqtt_host: '' }), /mqtt_host/],
    ['another protocol', textOf({ ...CONFIG, mqtt_protocol: 'HTTP' }), /mqtt_protocol/],
    ['no certificate', textOf({ ...CONFIG, mqtt_protocol: 'MQTTS' }), /private_key/],
    ['ports that are no object', textOf({ config: CONFIG, ports: 5 }), /ports must be an object/],
    ['a port without a path', textOf({ config: CONFIG, ports: { rs485: {} } }), /ports.rs485.path/],
    ['a relative path', textOf({ config: CONFIG, ports: { rs485: { path: 'tty' } } }), /ports.rs485.path/],
    [
      'a serial server without a port',
      textOf({ config: CONFIG, ports: { rs485: { path: 'socket://host' } } }),
      /ports.rs485.path: socket:\/\/ needs a host, and a port/,
    ],
    ['a name with a slash', textOf({ config: CONFIG, ports: { 'a/b': PORT } }), /no name for a port/],
    ['half a baud', textOf({ config: CONFIG, ports: { p: { ...PORT, baud_rate: 0.5 } } }), /baud_rate/],
    ['nine data bits', textOf({ config: CONFIG, ports: { p: { ...PORT, data_bits: 9 } } }), /data_bits/],
    ['another parity', textOf({ config: CONFIG, ports: { p: { ...PORT, parity: 'M' } } }), /parity/],
    ['three stop bits', textOf({ config: CONFIG, ports: { p: { ...PORT, stop_bits: 3 } } }), /stop_bits/],
    [
      'an unknown kind',
      textOf({ config: CONFIG, ports: { p: { ...PORT, kind: 'spi' } } }),
      /p.kind must be one of/,
    ],
    [
      'a CAN port with a device file',
      textOf({ config: CONFIG, ports: { can: { kind: 'can', path: '/dev/can0' } } }),
      /can.path must be an interface/,
    ],
    [
      'an input of something that is no chip',
      textOf({ config: CONFIG, ports: { d: { kind: 'digital_input', path: '/dev/../etc', line: 1 } } }),
      /d.path must be a chip/,
    ],
    [
      'an output without a line',
      textOf({ config: CONFIG, ports: { d: { kind: 'digital_output', path: '/dev/gpiochip0' } } }),
      /d.line must be a whole number/,
    ],
    [
      'a channel outside of its folder',
      textOf({ config: CONFIG, ports: { a: { kind: 'analog_input', path: '/etc/in_voltage0' } } }),
      /a.path must be a channel/,
    ],
  ] as const)
    test(`the configuration of a module is refused: ${what}`, () =>
      assert.throws(() => parseModuleConfiguration(text), problem));

  test('the configuration of a module is what provisioning returned, whole or its part, as JSON or base64', () => {
    const expected = {
      mqttHost: 'gateway.local',
      mqttPort: 1_883,
      hardwareId: 'V1',
      channelId: 'ucm',
      credentials: { protocol: 'MQTT', username: 'V1', password: 'secret' },
    };
    for (const text of [
      textOf(CONFIG),
      textOf({ config: CONFIG }),
      Buffer.from(textOf(CONFIG)).toString('base64'),
      `\n${textOf({ config: CONFIG })}\n`,
    ])
      assert.deepEqual(parseModuleConfiguration(text), { connection: expected, ports: {}, ioPorts: {} });
  });

  test('the configuration of a module names CAN, contacts and channels beside serial ports', () => {
    const chip = '/dev/gpiochip0';
    const channel = '/sys/bus/iio/devices/iio:device0/in_voltage0';
    const ports = {
      rs485: PORT,
      can: { kind: 'can', path: 'can0' },
      'di-1': { kind: 'digital_input', path: chip, line: 17, active_low: true, bias: 'pull_up' },
      'rl-1': { kind: 'digital_output', path: chip, line: 4 },
      'ai-1': { kind: 'analog_input', path: channel },
    };
    const { ports: serial, ioPorts } = parseModuleConfiguration(textOf({ config: CONFIG, ports }));
    assert.deepEqual(Object.keys(serial), ['rs485']);
    assert.deepEqual(ioPorts, {
      can: { kind: 'can', path: 'can0' },
      'di-1': {
        kind: 'digital_input',
        path: chip,
        line: 17,
        isActiveLow: true,
        bias: 'pull-up',
        debounceMs: 5,
      },
      'rl-1': { kind: 'digital_output', path: chip, line: 4, isActiveLow: false },
      'ai-1': { kind: 'analog_input', path: channel },
    });
  });

  test('the configuration of a module names serial ports, with 9600 8N1 by default', () => {
    const ports = {
      rs485: PORT,
      rs232: { path: '/dev/ttyS1', baud_rate: 19_200, parity: 'E', stop_bits: 2 },
      line2: { path: 'RTU+TCP://Server.local:4001/' },
    };
    assert.deepEqual(parseModuleConfiguration(textOf({ config: CONFIG, ports })).ports, {
      rs485: { path: '/dev/ttyUSB0', baudRate: 9_600, dataBits: 8, parity: 'N', stopBits: 1 },
      rs232: { path: '/dev/ttyS1', baudRate: 19_200, dataBits: 8, parity: 'E', stopBits: 2 },
      line2: { path: 'socket://server.local:4001', baudRate: 9_600, dataBits: 8, parity: 'N', stopBits: 1 },
    });
  });
});
