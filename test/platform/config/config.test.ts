import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { ConfigError, loadConfig, optionTable } from '../../../src/platform/config/index.ts';
import { temporaryFolder } from '../../support/workspace.ts';

function fileOf(t: TestContext, content: string): string {
  const path = join(temporaryFolder(t), 'gateway.yml');
  writeFileSync(path, content);
  return path;
}

function faultsOf(environment: Record<string, string>, file?: string): readonly string[] {
  try {
    loadConfig({ environment, file });
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

describe('a configuration is refused', () => {
  test('a configuration is refused when an address is written as in a URL', () => {
    assert.deepEqual(faultsOf({ GATEWAY_HTTP_HOST: '[::]', GATEWAY_MQTT_HOST: '::' }), [
      'GATEWAY_HTTP_HOST: "[::]" must be without brackets',
    ]);
  });

  test('a refusal of the configuration names every fault of environment and file at once', (t) => {
    const file = fileOf(t, 'mqtt_port: 70000\nhttp_port: -5\nsite_zone: UTC\nlog_level: 3\n');
    const faults = faultsOf(
      {
        GATEWAY_HTTP_PORT: '80x',
        GATEWAY_ANONYMOUS_ROLE: 'OWNER',
        GATEWAY_SITE_TIMEZONE: 'Mars/Olympus',
        GATEWAY_HTP_PORT: '1',
      },
      file,
    );
    assert.deepEqual(faults, [
      'GATEWAY_HTTP_PORT: "80x" is not allowed, must be TCP port, integer 0 to 65535',
      `${file}: mqtt_port: 70000 is not allowed, must be TCP port, integer 0 to 65535`,
      'GATEWAY_SITE_TIMEZONE: "Mars/Olympus" must be an IANA time zone such as Europe/Berlin',
      'GATEWAY_ANONYMOUS_ROLE: "OWNER" is not allowed, must be NONE, READONLY',
      `${file}: log_level: 3 is not allowed, must be debug, info, warn, error`,
      `${file}: site_zone: unknown option`,
      'GATEWAY_HTP_PORT: unknown option, did you mean "GATEWAY_HTTP_PORT"?',
    ]);
  });

  test('a configuration is refused when it has a certificate without its key, or the other way round', () => {
    for (const name of ['GATEWAY_TLS_CERTIFICATE', 'GATEWAY_TLS_PRIVATE_KEY'])
      assert.deepEqual(faultsOf({ [name]: '/etc/own.pem' }), [
        'tls_certificate and tls_private_key: one is of no use without the other',
      ]);
    const both = { GATEWAY_TLS_CERTIFICATE: '/etc/own.crt', GATEWAY_TLS_PRIVATE_KEY: '/etc/own.key' };
    assert.deepEqual(faultsOf(both), []);
  });

  test('a configuration is refused when the site cannot have the name', () => {
    for (const name of [' ', 'x'.repeat(256), 'De\u200Bpot'])
      assert.equal(faultsOf({ GATEWAY_SITE_NAME: name }).length, 1, name);
    assert.deepEqual(faultsOf({ GATEWAY_SITE_NAME: ` ${'ü'.repeat(255)} ` }), []);
  });

  test('a configuration is refused when the name on the local network has no place in one', () => {
    for (const name of ['-gateway', 'gateway.local', 'my gateway', 'x'.repeat(31)])
      assert.equal(faultsOf({ GATEWAY_MDNS_NAME: name }).length, 1, name);
    assert.deepEqual(faultsOf({ GATEWAY_MDNS_NAME: 'Plant-7' }), []);
  });

  test('a configuration is refused when it serves neither HTTP nor HTTPS', () => {
    const faults = faultsOf({ GATEWAY_HTTP: 'false', GATEWAY_HTTPS: 'false' });
    assert.deepEqual(faults, ['http and https: with both off nobody else reaches the gateway']);
  });

  test('a configuration is refused when the file cannot be read', () => {
    const [fault, ...others] = faultsOf({}, '/nonexistent/gateway.yml');
    assert.match(fault ?? '', /^\/nonexistent\/gateway\.yml: ENOENT/);
    assert.deepEqual(others, []);
  });

  test('a refusal of the configuration names the place of a mistake in YAML', (t) => {
    const file = fileOf(t, 'http_port: 1\nmqtt_port: [1\n');
    assert.match(faultsOf({}, file)[0] ?? '', new RegExp(`^${file}:\\d+:\\d+: \\S`));
  });

  for (const [content, fault] of [
    ['web_secret: "sentence of the owner', '1:35: Missing closing "quote'],
    ['a: |sentence of the owner\n  x\n', '1:5: Block scalar header includes extra characters'],
    ['a: "x \\q sentence of the owner"\n', '1:7: Invalid escape sequence'],
    ['sentence of the owner\n---\n- x\n', 'Source contains multiple documents; give one'],
    ['a: *sentence-of-the-owner\n', 'Unresolved alias (the anchor must be set before the alias)'],
  ] as const)
    test(`a configuration is refused without showing anything of the file: ${fault}`, (t) => {
      const [told = '', ...others] = faultsOf({}, fileOf(t, content));
      assert.doesNotMatch(told, /sentence|owner/);
      assert.deepEqual([told.endsWith(fault) ? fault : told, others], [fault, []]);
    });

  test('a configuration is refused when an option stands twice in the file', (t) => {
    const file = fileOf(t, 'http_port: 1\nhttp_port: 2\n');
    assert.match(faultsOf({}, file)[0] ?? '', new RegExp(`^${file}:2:1: .*unique`));
  });

  for (const content of ['- a\n', 'text\n', '7\n'])
    test(`a configuration is refused when the file is ${JSON.stringify(content)}`, (t) => {
      const file = fileOf(t, content);
      assert.deepEqual(faultsOf({}, file), [`${file}: must be a mapping of option names to values`]);
    });

  const values: [name: string, value: string][] = [
    ['HTTP_PORT', '-1'],
    ['HTTP_PORT', '65536'],
    ['HTTP_PORT', '1.5'],
    ['HTTP_PORT', '0x10'],
    ['HTTP_PORT', ' 80'],
    ['COMMAND_TIMEOUT_S', '0'],
    ['COMMAND_TIMEOUT_S', '3601'],
    ['LOG_LEVEL', 'INFO'],
  ];
  for (const [name, value] of values)
    test(`a configuration is refused for ${name}=${JSON.stringify(value)}`, () => {
      assert.match(faultsOf({ [`GATEWAY_${name}`]: value })[0] ?? '', /is not allowed, must be/);
    });

  test('a refused configuration gives one message that a person can read', () => {
    const error = new ConfigError(['a', 'b']);
    assert.equal(error.message, 'configuration is not usable:\n  - a\n  - b');
  });
});

describe('a configuration', () => {
  test('a configuration has its defaults without environment and file', () => {
    const config = loadConfig({ environment: { PATH: '/bin', HOME: '/' } });
    assert.equal(config.httpPort, 8_080);
    assert.equal(config.dataDir, 'data');
    assert.equal(config.publicHost, undefined);
    assert.equal(config.siteTimezone, 'UTC');
  });

  test('a configuration takes the environment before the file and the file before the default', (t) => {
    const file = fileOf(t, 'http_port: 1000\nmqtt_port: 2000\n');
    const config = loadConfig({ environment: { GATEWAY_HTTP_PORT: '3000' }, file });
    assert.deepEqual([config.httpPort, config.mqttPort, config.mqttsPort], [3_000, 2_000, 8_883]);
  });

  test('a configuration takes an empty variable and an empty value as absent', (t) => {
    const file = fileOf(t, 'http_port:\nmqtt_port: 2000\n');
    const config = loadConfig({ environment: { GATEWAY_MQTT_PORT: '' }, file });
    assert.deepEqual([config.httpPort, config.mqttPort], [8_080, 2_000]);
  });

  test('a configuration may be an empty file', (t) => {
    assert.equal(loadConfig({ environment: {}, file: fileOf(t, '# nothing yet\n') }).httpPort, 8_080);
  });

  test('a configuration ignores the variable that names the file', () => {
    assert.equal(loadConfig({ environment: { GATEWAY_CONFIG_FILE: 'x' } }).httpPort, 8_080);
  });

  test('a configuration cannot be changed', () => {
    assert.ok(Object.isFrozen(loadConfig({ environment: {} })));
  });
});

describe('the option table', () => {
  test('the option table has one row per option with environment, file, allowed, default and purpose', () => {
    const rows = optionTable().split('\n').slice(2);
    assert.ok(rows.length > 10);
    for (const row of rows)
      assert.match(row, /^\| `GATEWAY_[A-Z_]+` \| `[a-z_]+` \| [^|]+ \| [^|]+ \| [A-Z][^|]*\. \|$/);
  });
});
