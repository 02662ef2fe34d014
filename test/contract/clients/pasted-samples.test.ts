/** Every request of the reference page, pasted into a shell beside a real gateway with what its names mean. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { WebSocket } from 'ws';
import { membersOf } from '../../../scripts/checks/requests/description.ts';
import { writeArchive } from '../../../src/capabilities/blueprints/source/archive.ts';
import { sampleBlueprint } from '../../support/samples.ts';
import { PROJECT_ROOT } from '../../support/workspace.ts';
import { referenceFolder } from '../../support/reference.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

const run = promisify(execFile);

const PROFILE = `blueprint_spec: profile/1.0
display_name: Flywheel
telemetry:
  speed:
    display_name: Speed
    type: float
`;
const PASSWORD = 'a long sentence';

/** Operations that never give what they were made for, with the status that says so. */
const REFUSING: Record<string, number> = {
  delete_site: 422,
  // What was pasted before it uploads no backup: this box shall stay.
  restore_backup: 422,
  // Nor is it a rehearsal.
  end_rehearsal: 409,
  // Nor was it installed by its package.
  upload_update: 422,
  install_update: 422,
  // No module runs here: nobody is to be asked beyond this machine.
  test_modbus_connection: 422,
  scan_modbus: 422,
  read_modbus_registers: 422,
  read_http_json: 400,
  // Nor a script of the device, whose exchanges could be traced.
  start_device_trace: 422,
  stop_device_trace: 404,
  get_device_trace_image: 404,
  // The rule of the samples is disabled.
  run_rule: 409,
  // No rule asks for an output.
  get_output: 404,
  list_output_changes: 404,
  // The network of the sample is none of this machine.
  search_devices: 400,
  // No device of another maker announced itself.
  get_announced_device: 404,
  accept_announced_device: 404,
  ignore_announced_device: 404,
  // The one of the library is no template of the owner.
  get_library_template: 404,
  delete_library_device: 404,
};

/** The sample of each operation and stream, as a person copies it from the page. */
function samplesOf(page: string): [operation: string, command: string][] {
  const sections = page.split('<section id="').slice(1);
  return sections.flatMap((section) => {
    const [, command] = /<pre class="copy request">([^]*?)<\/pre>/.exec(section) ?? [];
    return command === undefined ? [] : [[section.split('"')[0] ?? '', textOf(command)] as const];
  }) as [string, string][];
}

function textOf(html: string): string {
  const characters: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };
  return html.replace(/&(lt|gt|quot|#39|amp);/g, (_, name: string) => characters[name] ?? '');
}

/** The beginning of a JPEG, by which it is known. */
const PHOTO = Buffer.from('ffd8ffe000104a46494600', 'hex');

const filesOf = (texts: Record<string, string>): Promise<Buffer> =>
  writeArchive(new Map(Object.entries(texts).map(([path, text]) => [path, Buffer.from(text)])));

const idOf = (record: unknown): string => String(membersOf(record)['id']);

describe('a sample of the reference page works when it is pasted', () => {
  const ends: (() => unknown)[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'pasted-'));
  let served: TestGateway;
  let samples: [string, string][];
  let refusing: Set<string>;
  let luaBlueprint: string;
  let session: string;
  /** New credentials have turned the connected device away. */
  let isTurnedAway = false;

  before(async () => {
    // The authority's certificate is there only with TLS.
    const environment = { GATEWAY_RULE_SANDBOX: 'true', GATEWAY_HTTPS: 'true' };
    const test = { after: (end: () => unknown) => void ends.push(end) };
    served = await startTestGateway(test, { environment, consoleDir: await referenceFolder(test) });
    samples = samplesOf(String((await served.call('READONLY', 'GET', '/docs')).body));
    const document = await served.ok('READONLY', 'GET', '/v3/openapi.json?aliases=true');
    refusing = new Set(
      Object.values(membersOf(document['paths'])).flatMap((item) =>
        Object.values(membersOf(item))
          .map(membersOf)
          .filter(({ responses }) => !('200' in membersOf(responses)))
          .map(({ operationId }) => String(operationId)),
      ),
    );
    // The stand-in tells what it was given; the test opens that.
    writeFileSync(join(folder, 'websocat'), '#!/bin/sh\nprintf "%s\\n" "$@"\n');
    chmodSync(join(folder, 'websocat'), 0o755);
    const zip = await filesOf(sampleBlueprint('relay'));
    luaBlueprint = String((await served.ok('INSTALLER', 'POST', '/v3/blueprints/upload', zip))['id']);
  });

  after(async () => {
    for (const end of ends.toReversed()) await end();
    rmSync(folder, { recursive: true, force: true });
  });

  /** What the names of the sample mean; one before it may have taken it away. */
  async function prepare(command: string): Promise<void> {
    const { call, ok } = served;
    if (/battery-1|\$(?:DEVICE|ALERT|EXECUTION)_ID/.test(command)) await provideDevice();
    if (command.includes('/rule')) {
      const rules = '/v3/site/rule_engine/rules';
      for (const slug of ['surplus-to-load', 'surplus-to-heat'])
        await call('OWNER', 'DELETE', `${rules}/${slug}`);
      await ok('OWNER', 'POST', rules, {
        slug: 'surplus-to-load',
        script: { code: Buffer.from('return true\n').toString('base64'), runtime_version: 'V3' },
        disable: true,
      });
    }
    if (command.includes('/update_parameters')) {
      await provideDevice();
      await call('OWNER', 'DELETE', '/v3/site/rule_engine/rules/surplus-to-load');
      await ok('OWNER', 'POST', '/v3/library/strategies/daily/rule', {
        slug: 'surplus-to-load',
        parameters: { action: { device: 'battery-1', command: 'stop' } },
        disable: true,
      });
    }
    if (command.includes('_ports')) {
      await call('INSTALLER', 'POST', '/v3/serial_ports', { name: 'rs485', path: '/dev/ttyUSB0' });
      const input = { name: 'di-1', kind: 'DIGITAL_INPUT', path: '/dev/gpiochip0', line: 17 };
      await call('INSTALLER', 'POST', '/v3/io_ports', input);
    }
    if (command.includes('device_profiles')) {
      const profiles = await filesOf({ 'acme/flywheel.yml': PROFILE });
      await call('INSTALLER', 'POST', '/v3/blueprints/device_profiles/upload', profiles);
    }
  }

  async function provideDevice(): Promise<void> {
    const { call, ok } = served;
    if (isTurnedAway) await call('OWNER', 'DELETE', '/v3/devices/battery-1');
    isTurnedAway = false;
    if ((await call('OWNER', 'GET', '/v3/devices/battery-1')).status === 200) return;
    const device = await served.provision('Battery 1');
    await ok('OWNER', 'PATCH', `/v3/devices/${device.id}`, { slug: 'battery-1' });
    await device.connect();
    device.obey();
    await device.telemetry({ alerts: ['made_up'] });
  }

  /** Ids of things that are there, made for what the sample names. */
  async function variables(operation: string, command: string): Promise<Record<string, string>> {
    const { ok } = served;
    const makers: Record<string, () => Promise<string>> = {
      BLUEPRINT_ID: async () => {
        if (operation === 'provision_lua_device') return luaBlueprint;
        if (operation !== 'remove_blueprint') return served.sampleBlueprintId();
        const unused = await filesOf(sampleBlueprint('relay'));
        return String((await ok('INSTALLER', 'POST', '/v3/blueprints/upload', unused))['id']);
      },
      DEVICE_ID: async () => idOf((await ok('OWNER', 'GET', '/v3/devices/battery-1'))['device']),
      USER_ID: async () => {
        const body = { name: `user of ${operation}`, role: 'USER', password: PASSWORD };
        return idOf((await ok('INSTALLER', 'POST', '/v3/auth/users', body))['user']);
      },
      TOKEN_ID: async () => {
        const body = { name: operation, role: 'READONLY' };
        return idOf((await ok('INSTALLER', 'POST', '/v3/auth/tokens', body))['access_token']);
      },
      ALERT_ID: async () => {
        const { alerts } = await ok('INSTALLER', 'GET', '/v3/alerts?device_id.in=battery-1&limit=1');
        return idOf((alerts as unknown[])[0]);
      },
      TARGET_ID: async () => {
        const { targets } = await ok('OWNER', 'GET', '/v3/targets');
        const [known] = targets as object[];
        if (known) return idOf(known);
        const influxdb = { url: 'http://127.0.0.1:9/write' };
        const body = { name: 'engine', kind: 'INFLUXDB', enabled: false, influxdb };
        return idOf((await ok('OWNER', 'POST', '/v3/targets', body))['target']);
      },
      NOTIFICATION_CHANNEL_ID: async () => {
        const body = { name: 'Phones', kind: 'NTFY', ntfy: { server: 'http://127.0.0.1:9', topic: 'depot' } };
        return idOf(
          (await ok('INSTALLER', 'POST', '/v3/notification_channels', body))['notification_channel'],
        );
      },
      VERSION_ID: async () => {
        const { rule_versions: versions } = await ok(
          'OWNER',
          'GET',
          '/v3/site/rule_engine/rules/surplus-to-load/versions',
        );
        return idOf((versions as unknown[])[0]);
      },
      DOCUMENT_ID: async () => {
        const path = '/v3/devices/battery-1/documents?name=photo.jpg';
        return idOf((await ok('OWNER', 'POST', path, PHOTO))['document']);
      },
      OUTPUT_ID: () => Promise.resolve('of-no-rule'),
      MQTT_GUEST_ID: async () => {
        const body = {
          name: `guest of ${operation}`,
          username: `guest-${operation}`.replaceAll('_', '-'),
          topics: [`tele/${operation}`],
        };
        return idOf((await ok('OWNER', 'POST', '/v3/mqtt_guests', body))['mqtt_guest']);
      },
      EXECUTION_ID: async () => {
        const body = { name: 'set_mode', arguments: { mode: 'backup', reserve_percent: 80 } };
        const path = '/v3/devices/battery-1/commands/executions';
        return String((await ok('OWNER', 'POST', path, body))['execution_id']);
      },
    };
    const values: Record<string, string> = {
      GATEWAY: served.origin,
      TOKEN: operation === 'change_own_password' ? session : served.token('INSTALLER'),
    };
    for (const [name, make] of Object.entries(makers))
      if (command.includes(`$${name}`)) values[name] = await make();
    return values;
  }

  async function paste(operation: string, command: string): Promise<string> {
    await prepare(command);
    isTurnedAway ||= operation === 'generate_config';
    const environment = await variables(operation, command);
    const { serial_ports: ports } = await served.ok('OWNER', 'GET', '/v3/serial_ports');
    if (operation === 'add_serial_port' && (ports as object[]).length > 0)
      await served.ok('INSTALLER', 'DELETE', '/v3/serial_ports/rs485');
    if (operation === 'add_io_port') await served.ok('INSTALLER', 'DELETE', '/v3/io_ports/di-1');
    if (['get_io_port', 'test_io_port', 'remove_io_port'].includes(operation)) {
      await served.call('INSTALLER', 'DELETE', '/v3/serial_ports/rs485');
      const port = { name: 'rs485', kind: 'CAN', path: 'can0' };
      await served.call('INSTALLER', 'POST', '/v3/io_ports', port);
    }
    if (operation === 'create_rule')
      await served.ok('OWNER', 'DELETE', '/v3/site/rule_engine/rules/surplus-to-load');
    if (operation === 'upload_library_device')
      copyFileSync(
        join(PROJECT_ROOT, 'src/library/devices/eastron/sdm630.yml'),
        join(folder, 'template.yml'),
      );
    if (operation.endsWith('_profiles'))
      writeFileSync(join(folder, 'archive.zip'), await filesOf({ 'acme/flywheel.yml': PROFILE }));
    if (operation.endsWith('_blueprint'))
      writeFileSync(join(folder, 'archive.zip'), await filesOf(sampleBlueprint('relay')));
    if (operation === 'upload_device_document') writeFileSync(join(folder, 'photo.jpg'), PHOTO);
    writeFileSync(
      join(folder, 'telemetry.csv'),
      'ts,telemetry=battery_soc device=battery-1\n1772352000,50\n',
    );
    const claimCode = readFileSync(join(served.dataDir, 'claim-code'), {
      encoding: 'utf8',
      flag: 'a+',
    }).trim();
    const text = command.replace('ABCD-EFGH-JKLM', claimCode);
    const written = text.startsWith('curl') ? `${text} -w '\\n%{http_code}'` : text;
    const { stdout } = await run('bash', ['--norc', '-c', written], {
      cwd: folder,
      encoding: 'latin1',
      maxBuffer: 64 * 1_048_576,
      env: { ...environment, PATH: `${folder}:${process.env['PATH'] ?? ''}` },
    });
    return stdout;
  }

  test('every sample of an operation is answered as the page says', async () => {
    assert.ok(samples.length > 70, String(samples.length));
    const failed: string[] = [];
    const requests = samples.filter(([, text]) => text.startsWith('curl'));
    // Nothing is open to strangers before that.
    const ordered = requests.toSorted(([a], [b]) => Number(b === 'claim') - Number(a === 'claim'));
    for (const [operation, command] of ordered) {
      const answer = await paste(operation, command);
      const status = Number(answer.slice(answer.lastIndexOf('\n') + 1));
      const isGood = refusing.has(operation)
        ? status >= 400 && status < 500
        : status === (REFUSING[operation] ?? 200);
      if (!isGood) failed.push(`${command}\n${answer.slice(-600)}`);
      if (operation === 'login' || operation === 'claim')
        session = (JSON.parse(answer.slice(0, answer.lastIndexOf('\n'))) as { token: string }).token;
    }
    assert.deepEqual(failed, []);
  });

  test('every sample of a stream opens it', async () => {
    const streams = samples.filter(([, text]) => text.startsWith('websocat'));
    assert.equal(streams.length, served.gateway.operations().streams.length);
    for (const [operation, command] of streams) {
      const [option, header = '', address = ''] = (await paste(operation, command)).split('\n');
      assert.equal(option, '-H');
      const [name = '', value = ''] = header.split(': ');
      const socket = new WebSocket(address, { headers: { [name]: value } });
      await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
      socket.terminate();
    }
  });
});
