import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConnectionConfiguration } from '../../../scripts/support/connection-configuration.ts';
import { parseSimulateOptions } from '../../../scripts/simulate/options.ts';
import { UsageError } from '../../../scripts/support/arguments.ts';
import { createTerminal } from '../../../scripts/simulate/terminal.ts';

const GATEWAY = ['--gateway', 'http://127.0.0.1:8080', '--token', 'secret'];

describe('the command line of the simulator', () => {
  const refused: [string, string[]][] = [
    ['no source of credentials', []],
    ['a gateway without a token', ['--gateway', 'http://127.0.0.1:8080']],
    ['an address that is none', ['--gateway', 'nowhere', '--token', 'x']],
    ['both sources', [...GATEWAY, '--config', 'device.json']],
    ['several devices of one configuration', ['--config', 'device.json', '--devices', '2']],
    ['a quality of service that does not exist', [...GATEWAY, '--qos', '3']],
    ['half a device', [...GATEWAY, '--devices', '1.5']],
    ['an interval of nothing', [...GATEWAY, '--interval', '']],
    ['an unknown mishap', [...GATEWAY, '--provoke', 'meteor']],
    ['an unknown option', [...GATEWAY, '--colour']],
  ];
  for (const [title, args] of refused)
    it(`the command line of the simulator refuses ${title}`, () =>
      assert.throws(() => parseSimulateOptions(args), UsageError));

  it('the command line of the simulator requires nothing when help is wanted', () => {
    assert.equal(parseSimulateOptions(['--help']), undefined);
  });

  it('the command line of the simulator converts seconds to milliseconds and keeps defaults', () => {
    const options = parseSimulateOptions([...GATEWAY, '--interval', '0.5', '--for', '10', '--devices', '3']);
    assert.equal(options?.intervalMs, 500);
    assert.equal(options?.forMs, 10_000);
    assert.equal(options?.devices, 3);
    assert.equal(options?.qos, 1);
    assert.equal(options?.seed, undefined);
  });
});

describe('the connection configuration', () => {
  const config = {
    mqtt_host: '127.0.0.1',
    mqtt_port: 1_883,
    mqtt_protocol: 'MQTT',
    mqtt_credentials: { username: 'H', password: 'secret' },
    time_sync_protocol: 'HTTP',
    time_sync_host: '127.0.0.1',
    time_sync_port: 8_080,
    hardware_id: 'H',
    channel_id: 'ucm',
  };
  const broken: [string, string][] = [
    ['text that is neither JSON nor base64 of it', 'hello'],
    ['a list', '[]'],
    ['an unknown protocol', JSON.stringify({ ...config, mqtt_protocol: 'AMQP' })],
    ['a port as text', JSON.stringify({ ...config, mqtt_port: '1883' })],
    ['no password', JSON.stringify({ ...config, mqtt_credentials: { username: 'H' } })],
    ['no hardware id', JSON.stringify({ ...config, hardware_id: '' })],
  ];
  for (const [title, text] of broken)
    it(`the connection configuration is refused: ${title}`, () =>
      assert.throws(() => parseConnectionConfiguration(text), Error));

  it('the connection configuration is the object, a whole provisioning answer, or base64 of either', () => {
    const plain = parseConnectionConfiguration(JSON.stringify(config));
    const answer = JSON.stringify({ device_id: 'x', slug: 'y', config });
    assert.deepEqual(parseConnectionConfiguration(answer), plain);
    assert.deepEqual(parseConnectionConfiguration(`${Buffer.from(answer).toString('base64')}\n`), plain);
    assert.deepEqual(plain.credentials, { protocol: 'MQTT', username: 'H', password: 'secret' });
  });

  it('the connection configuration has certificates', () => {
    const credentials = { private_key: 'K', certificate: 'C', ca_chain: 'A' };
    const text = JSON.stringify({ ...config, mqtt_protocol: 'MQTTS', mqtt_credentials: credentials });
    assert.deepEqual(parseConnectionConfiguration(text).credentials, {
      protocol: 'MQTTS',
      privateKey: 'K',
      certificate: 'C',
      caChain: 'A',
    });
  });
});

describe('the terminal', () => {
  const recorded = (isTTY: boolean): { text: () => string; terminal: ReturnType<typeof createTerminal> } => {
    let text = '';
    const write = (part: string): void => void (text += part);
    return { text: () => text, terminal: createTerminal({ isTTY, columns: 12, write }) };
  };

  it('the output has plain lines when it is no terminal', () => {
    const { text, terminal } = recorded(false);
    terminal.status('one');
    terminal.line('two');
    terminal.close();
    assert.equal(text(), 'one\ntwo\n');
  });

  it('the terminal rewrites the status in place, cut to the width, and keeps it below other lines', () => {
    const { text, terminal } = recorded(true);
    terminal.status('a long status line');
    terminal.line('event');
    assert.ok(text().startsWith('\r\u001B[2Ka long stat\r'));
    assert.ok(text().endsWith('event\n\r\u001B[2Ka long stat'));
  });
});
