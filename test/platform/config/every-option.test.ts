/**
 * Every row of the option table with every kind of fault: the error names the option, the given value and the allowed
 * ones.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { ConfigError, loadConfig } from '../../../src/platform/config/index.ts';
import { type Option, OPTIONS, type OptionType, typeOf } from '../../../src/platform/config/options.ts';
import { temporaryFolder } from '../../support/workspace.ts';

const ALL: readonly Option[] = OPTIONS;
const variableOf = ({ name }: Option): string => `GATEWAY_${name.toUpperCase()}`;

function faultsOf(environment: Record<string, string>, file?: string): readonly string[] {
  try {
    loadConfig({ environment, file });
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

function fileOf(t: TestContext, content: string | Buffer): string {
  const path = join(temporaryFolder(t), 'gateway.yml');
  writeFileSync(path, content);
  return path;
}

/** What is allowed, as the README's table has it, or what the option says of itself. */
const ALLOWED: Record<OptionType, RegExp> = {
  integer: /is not allowed, must be .*integer \d+ to \d+$/,
  boolean: /is not allowed, must be true or false$/,
  choice: /is not allowed, must be [A-Za-z]+(, [A-Za-z]+)+$/,
  string: /is not allowed, must be text$/,
};

function wrongTexts(option: Option): string[] {
  const { min, max, unit } = option;
  switch (typeOf(option)) {
    case 'integer':
      return [
        'x',
        '1.5',
        '1e3',
        '0x10',
        ' 5',
        '5 ',
        `5${unit}`,
        `${Number(min) - 1}`,
        `${Number(max) + 1}`,
        '9'.repeat(400),
      ];
    case 'boolean':
      return ['yes', 'TRUE', 'on', '2', ' true'];
    case 'choice':
      return ['READWRITE', 'none', 'Debug', 'STRICT,LENIENT'];
    case 'string':
      return [];
  }
}

/** In YAML. */
function wrongValues(option: Option): string[] {
  const { min, max } = option;
  const structures = ['[]', '{}', '[true]', '{a: 1}', '&a [*a]', '{? [a, b] : c}'];
  switch (typeOf(option)) {
    case 'integer':
      return [
        ...structures,
        'true',
        '1.5',
        '.nan',
        '.inf',
        'ten',
        "''",
        `${Number(min) - 1}`,
        `${Number(max) + 1}`,
      ];
    case 'boolean':
      return [...structures, '1', '0', 'yes', "''"];
    case 'choice':
      return [...structures, '1', 'true', "''"];
    case 'string':
      return [...structures, '5', 'true', "''"];
  }
}

/** A value that no default is. */
function otherValue(option: Option): string {
  const { name, min, choices, default: usual } = option;
  const texts: Record<string, string> = {
    mdns_name: 'plant-7',
    site_timezone: 'Europe/Berlin',
    serial_ports: 'rs485=/dev/ttyUSB0:9600:8N1,rs232=socket://[fe80::1]:4001',
    telemetry_sample_days_of: 'noise_level=30,wind_direction=60',
    cors_origins: 'https://app.example,http://10.0.0.7:3000',
  };
  if (typeOf(option) === 'integer') return String((min ?? 0) + 1);
  if (typeOf(option) === 'boolean') return String(!usual);
  return texts[name] ?? choices?.findLast((choice) => choice !== usual) ?? 'other';
}

/** Findings about a value, whether the gateway starts with it or not. */
function judgementOf(environment: Record<string, string>, file?: string): readonly string[] {
  const doubts: string[] = [];
  try {
    loadConfig({ environment, file, onDoubt: (doubt) => doubts.push(doubt) });
    return doubts;
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}

describe('an option', () => {
  for (const option of ALL) {
    const variable = variableOf(option);
    const { name } = option;
    const allowed = ALLOWED[typeOf(option)];

    test(`the option ${name} is taken from environment and file`, (t) => {
      const value = otherValue(option);
      const member = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
      // What is of no use alone.
      const beside: Record<string, string> = name.startsWith('tls_')
        ? { GATEWAY_TLS_CERTIFICATE: 'other', GATEWAY_TLS_PRIVATE_KEY: 'other' }
        : {};
      const read = (environment: Record<string, string>, file?: string): unknown =>
        ({ ...loadConfig({ environment: { ...beside, ...environment }, file }) })[member as 'httpPort'];
      assert.equal(String(read({ [variable]: value })), value);
      assert.equal(String(read({}, fileOf(t, `${name}: ${value}\n`))), value);
      assert.deepEqual(read({}, fileOf(t, `${name}: null\n`)), beside[variable] ?? read({}));
    });

    test(`a wrong option ${name} is named with what is allowed`, (t) => {
      for (const text of wrongTexts(option)) {
        const [fault = '', ...others] = faultsOf({ [variable]: text });
        assert.deepEqual([fault.startsWith(`${variable}: "`), others], [true, []], fault);
        assert.match(fault, allowed);
        assert.ok(fault.length < 300, fault);
      }
      for (const value of wrongValues(option)) {
        const file = fileOf(t, `${name}: ${value}\n`);
        const faults = faultsOf({}, file);
        assert.equal(faults.length, 1, `${value}: ${faults.join('\n')}`);
        assert.ok(faults[0]?.startsWith(`${file}: ${name}: `), faults.join());
        assert.match(faults[0] ?? '', allowed, value);
      }
    });

    test(`a mistyped or repeated option ${name} is named`, (t) => {
      assert.deepEqual(faultsOf({ [`${variable}X`]: otherValue(option) }), [
        `${variable}X: unknown option, did you mean "${variable}"?`,
      ]);
      for (const key of [`${name}s`, name.replaceAll('_', '-').replace(/.$/, ''), variable]) {
        if (ALL.some((other) => other.name === key)) continue;
        const file = fileOf(t, `${key}: ${otherValue(option)}\n`);
        const [fault = '', ...others] = faultsOf({}, file);
        assert.ok(fault.startsWith(`${file}: ${key}: unknown option`), fault);
        if (key === variable) assert.ok(fault.endsWith(`, did you mean "${name}"?`), fault);
        assert.deepEqual(others, []);
      }
      const twice = fileOf(t, `${name}: ${otherValue(option)}\n`.repeat(2));
      assert.match(faultsOf({}, twice)[0] ?? '', /gateway\.yml:2:1: .*unique/);
    });
  }

  const texts: [name: string, values: string[], told: RegExp][] = [
    [
      'public_host',
      [
        'http://box.local',
        'box.local:8080',
        '10.0.0.7:1883',
        '10.0.0',
        'my box',
        'bücher.example',
        'a/b',
        '-a',
      ],
      /must be a name such as box\.local or an address such as 10\.0\.0\.7, without http:\/\/ and port$/,
    ],
    ['public_host', ['[fd00::7]'], /must be without brackets$/],
    ['http_host', ['everywhere!', '0.0.0.0:80', '300.1.1.1'], /must be a name such as/],
    ['mqtt_host', ['tcp://0.0.0.0', '10.0.0.0/24'], /must be a name such as/],
    ['mdns_name', ['box.local', '-a', 'x'.repeat(31)], /must have 1 to 30 letters/],
    ['site_name', ['x'.repeat(256)], / 255 /],
    [
      'site_timezone',
      ['CEST!', 'Europe/Nowhere', '+25'],
      /must be an IANA time zone such as Europe\/Berlin$/,
    ],
    [
      'serial_ports',
      [
        '/dev/ttyUSB0',
        'a=ttyUSB0',
        'a=/dev/a:fast',
        'a=/dev/a:9600:9X1',
        'a=/dev/a,',
        'a=socket://host',
        'a=socket://host:0',
        'a=socket://10.0.0.07:4001',
        'a=udp://host:4001',
      ],
      /must be a list such as rs485=/,
    ],
    ['serial_ports', ['a=/dev/a,b=/dev/b,a=/dev/c'], /has a more than once$/],
    [
      'serial_ports',
      ['a=/dev/a:9600:8N1,b=/dev/b,c=/dev/a:19200:8E1', 'a=/dev/a,b=/dev/./a'],
      /has \/dev\/a more than once, but a device has one name and one line setting: leave it in one port$/,
    ],
    [
      'telemetry_sample_days_of',
      ['30', 'a=', 'a=0', 'a=36501', 'a=30d', '=30', 'a=30,'],
      /must be a list such as noise_level=30,wind_direction=60, of 1 to 36500 days each$/,
    ],
    ['telemetry_sample_days_of', ['a=30, a=60'], /has a more than once$/],
    [
      'cors_origins',
      ['app.example', 'https://app.example/', 'https://App.example', 'https://a.example, ', 'https://a b'],
      /must be \* or a list such as https:\/\/app\.example/,
    ],
  ];
  for (const [name, values, told] of texts)
    test(`the option ${name} is judged: ${told.source}`, () => {
      for (const value of values) {
        const variable = `GATEWAY_${name.toUpperCase()}`;
        const [fault = '', ...others] = judgementOf({ [variable]: value });
        assert.ok(fault.startsWith(`${variable}: "`), `${value}: ${fault}`);
        assert.match(fault, told, value);
        assert.deepEqual(others, []);
      }
    });

  test('the value of an option is not shown, as it may be a pasted secret', () => {
    const key = '-----BEGIN PRIVATE KEY-----\nMC4CAQAw\n-----END PRIVATE KEY-----\n';
    const environment = {
      GATEWAY_TLS_CERTIFICATE: key,
      GATEWAY_TLS_PRIVATE_KEY: key,
      GATEWAY_PROVISION_FILE: key,
    };
    assert.deepEqual(
      judgementOf(environment),
      ['TLS_CERTIFICATE', 'TLS_PRIVATE_KEY', 'PROVISION_FILE'].map(
        (name) => `GATEWAY_${name}: (secret) must be the path of a file, not what the file holds`,
      ),
    );
  });

  test('an option without effect that was accepted so far does not prevent a start', (t) => {
    const environment = {
      GATEWAY_CORS_ORIGINS: 'https://app.example/',
      GATEWAY_PUBLIC_HOST: 'http://box.local',
      GATEWAY_TELEMETRY_SAMPLE_DAYS_OF: 'noise_level=30,noise_level=0',
      GATEWAY_PROVISION_FILE: 'a\nb',
    };
    const file = fileOf(t, Buffer.from('site_timezone: UTC # für später\n', 'latin1'));
    assert.deepEqual(faultsOf(environment, file), []);
    assert.equal(judgementOf(environment, file).length, 5);
  });

  test('an option is refused for a listener at a port that another one has', () => {
    const both = 'both are 9000, each needs a port of its own';
    const ports = { GATEWAY_HTTP_PORT: '9000', GATEWAY_MQTT_PORT: '9000' };
    assert.deepEqual(faultsOf(ports), [`http_port and mqtt_port: ${both}`]);
    assert.deepEqual(faultsOf({ ...ports, GATEWAY_HTTP_HOST: '10.0.0.1' }), [
      `http_port and mqtt_port: ${both}`,
    ]);
    const apart = { GATEWAY_HTTP_HOST: '10.0.0.1', GATEWAY_MQTT_HOST: '10.0.0.2' };
    assert.deepEqual(faultsOf({ ...ports, ...apart }), []);
    assert.deepEqual(faultsOf({ GATEWAY_HTTP_PORT: '0', GATEWAY_MQTT_PORT: '0' }), []);
    assert.deepEqual(faultsOf({ GATEWAY_HTTP_PORT: '8443' }), [
      'http_port and https_port: both are 8443, each needs a port of its own',
    ]);
    assert.deepEqual(faultsOf({ GATEWAY_HTTP_PORT: '8443', GATEWAY_HTTPS: 'false' }), []);
    const own = { GATEWAY_HTTP: 'false', GATEWAY_HTTP_HOST: '10.0.0.1', GATEWAY_HTTP_PORT: '8443' };
    assert.deepEqual(faultsOf(own), [], 'plain HTTP is on the loopback address then');
  });
});

describe('the configuration file', () => {
  const obstacles: [what: string, put: (path: string) => void][] = [
    ['folder', (path) => mkdirSync(path)],
    ['named pipe', (path) => execFileSync('mkfifo', [path])],
    ['device', (path) => symlinkSync('/dev/zero', path)],
  ];
  for (const [what, put] of obstacles)
    test(`the configuration file is named at once when it is a ${what}`, (t) => {
      const path = join(temporaryFolder(t), 'gateway.yml');
      put(path);
      assert.deepEqual(faultsOf({}, path), [`${path}: ${path} is a ${what} where a file is expected`]);
    });

  test('the configuration file is UTF-8, with or without a mark of its own and with the line ends of any editor', (t) => {
    const text = 'site_name: Müller\r\nhttp_port: 81\r\n';
    for (const content of [text, `\uFEFF${text}`]) {
      const config = loadConfig({ environment: {}, file: fileOf(t, content) });
      assert.deepEqual([config.siteName, config.httpPort], ['Müller', 81]);
    }
    for (const encoding of ['latin1', 'utf16le'] as const) {
      const [told = ''] = judgementOf({}, fileOf(t, Buffer.from(text, encoding)));
      assert.match(told, /gateway\.yml: is no UTF-8/);
    }
  });

  test('the configuration file is ignored when its variable is empty', () => {
    assert.equal(loadConfig({ environment: {}, file: '' }).httpPort, 8_080);
  });
});
