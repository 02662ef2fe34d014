/** The library of devices over HTTP: the extension of the interface under `/v3/library`. Denials first. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compileTemplate, parseTemplate } from '#library';
import { LIMITS } from '../../src/lib/limits.ts';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { books, templateText } from '../library/library-files.ts';
import { TestClock } from '../support/test-clock.ts';
import { refusal, startTestGateway, useTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const DEVICES = '/v3/library/devices';
const gateway = useTestGateway();

interface Listed {
  devices: { id: string; source: string; maker: string; roles: string[]; transports: string[] }[];
  total_count: number;
}

interface Blueprinted {
  blueprint: { id: string };
  origin: { template: string; digest: string; parameters: Record<string, string> };
}

const list = async (query = ''): Promise<Listed> =>
  (await gateway().ok('READONLY', 'GET', `${DEVICES}${query}`)) as unknown as Listed;

const blueprintOf = async (id: string, parameters?: Record<string, unknown>): Promise<Blueprinted> =>
  (await gateway().ok('OWNER', 'POST', `${DEVICES}/${id}/blueprint`, {
    parameters,
  })) as unknown as Blueprinted;

const PUMP = `template: device/1
name: Well Pump
maker: Acme
products: [WP 1]
category: sensors
sources: [manual]
verified: one source
modbus: { transports: [tcp] }
values:
  flow: { input: 3, name: Flow, unit: m3/h, scale: 0.1 }
`;

describe('the library refuses', () => {
  test('the library refuses an unknown template', async () => {
    const { call } = gateway();
    for (const [method, path] of [
      ['GET', `${DEVICES}/nobody`],
      ['POST', `${DEVICES}/nobody/blueprint`],
      ['GET', `${DEVICES}/own-nobody/template`],
      ['DELETE', `${DEVICES}/own-nobody`],
      ['DELETE', `${DEVICES}/eastron-sdm630`],
    ] as const)
      assert.equal(refusal(await call('INSTALLER', method, path)), '404 template_not_found', path);
  });

  test('the library refuses unknown parameters, and values that are no choice', async () => {
    for (const [parameters, field] of [
      [{ colour: 'red' }, 'parameters.colour'],
      [{ role: 'moon' }, 'parameters.role'],
      [{ role: ['pv'] }, 'parameters.role'],
    ] as const) {
      const answer = await gateway().call('OWNER', 'POST', `${DEVICES}/eastron-sdm630/blueprint`, {
        parameters,
      });
      assert.equal(refusal(answer), '400 invalid_body');
      const [error] = (answer.body as { errors: { details: { field: string } }[] }).errors;
      assert.equal(error?.details.field, field);
    }
  });

  test('the library refuses a faulty template, naming each mistake with its line', async () => {
    const rows: [text: string, line: number, message: RegExp][] = [
      [PUMP.replace('scale: 0.1', 'scael: 0.1'), 10, /values\.flow\.scael: unknown key/],
      [PUMP.replace('maker: Acme\n', ''), 1, /maker: is missing/],
      [PUMP.replace('input: 3, ', 'input: 70000, '), 10, /values\.flow\.input/],
      [PUMP.replace('name: Flow, unit: m3/h, ', ''), 10, /not in attributes\.yml/],
      [PUMP.replace('unit: m3/h', 'unit: furlong'), 10, /furlong/],
      [PUMP.replace('device/1', 'device/9'), 1, /must be device\/1, not device\/9/],
      [PUMP.replace('[WP 1]', '[WP 1'), 5, /./],
      ['', 1, /./],
    ];
    for (const [text, line, message] of rows) {
      const answer = await gateway().call('INSTALLER', 'POST', DEVICES, text);
      assert.equal(refusal(answer), '422 invalid_template', text);
      const [error] = (answer.body as { errors: { message: string; details: { line: number } }[] }).errors;
      assert.match(error?.message ?? '', message);
      assert.equal(error?.details.line, line, text);
    }
  });

  test('the library refuses an upload that is too large or no text', async () => {
    const { call } = gateway();
    const large = Buffer.alloc(LIMITS.library.templateBytes + 1, 0x20);
    assert.equal(refusal(await call('INSTALLER', 'POST', DEVICES, large)), '413 payload_too_large');
    assert.equal(
      refusal(await call('INSTALLER', 'POST', DEVICES, Buffer.from([0xff, 0xfe]))),
      '400 invalid_body',
    );
  });

  test('the library answers 503 with Retry-After when the processor has no time for an upload', async (t) => {
    const clock = new TestClock();
    const { call } = await startTestGateway(t, { clock });
    const answer = call('INSTALLER', 'POST', DEVICES, PUMP);
    let isAnswered = false;
    void answer.finally(() => (isAnswered = true));
    // Hours pass by the clock while the thread that judges is still being started.
    await until(async () => {
      await clock.advance(LIMITS.library.taskTimeoutMs);
      return isAnswered;
    });
    const { status, headers } = await answer;
    assert.deepEqual([status, headers.get('retry-after')], [503, '60']);
  });

  test('the library refuses a template whose aliases would fill the memory', async () => {
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]'];
    for (let index = 0; index < 7; index++) {
      const name = 'bcdefgh'.charAt(index);
      const before = `*${'abcdefg'.charAt(index)}`;
      bomb.push(`${name}: &${name} [${Array.from({ length: 10 }, () => before).join(', ')}]`);
    }
    const answer = await gateway().call('INSTALLER', 'POST', DEVICES, bomb.join('\n'));
    assert.equal(refusal(answer), '422 invalid_template');
  });
});

describe('the library', () => {
  test('the library changes nothing in the blueprints of a fresh gateway', async (t) => {
    const fresh = await startTestGateway(t);
    const before = await fresh.ok('READONLY', 'GET', '/v3/blueprints');
    await fresh.ok('READONLY', 'GET', DEVICES);
    await fresh.ok('READONLY', 'GET', `${DEVICES}/eastron-sdm630`);
    assert.deepEqual(await fresh.ok('READONLY', 'GET', '/v3/blueprints'), before);
    assert.equal(before['total_count'], 4);
  });

  test('the library lists devices by maker, in pages, and finds them by words and filters', async () => {
    const all = await list();
    assert.ok(all.total_count >= 100);
    assert.equal(all.devices.length, all.total_count);
    assert.deepEqual(
      all.devices.map(({ maker }) => maker),
      all.devices.map(({ maker }) => maker).toSorted((a, b) => a.localeCompare(b, 'en')),
    );
    const page = await list('?limit=2&offset=3');
    assert.deepEqual(page.devices, all.devices.slice(3, 5));
    assert.equal(page.total_count, all.total_count);
    assert.deepEqual(
      (await list('?search=eastron%20630')).devices.map(({ id }) => id),
      ['eastron-sdm630'],
    );
    const chargers = await list('?role.in=ev_charger&transport.in=http&maker.in=GO-E,eastron');
    assert.deepEqual(
      chargers.devices.map(({ id }) => id),
      ['go-e-charger'],
    );
  });

  test('the library describes everything that a form needs', async () => {
    const { device } = (await gateway().ok('READONLY', 'GET', `${DEVICES}/eastron-sdm630`)) as {
      device: Record<string, unknown>;
    };
    const { parameters, connection, values } = device as {
      parameters: { name: string; choices: { value: string }[] }[];
      connection: Record<string, { type: string }>;
      values: { name: string; unit?: string }[];
    };
    assert.ok(parameters.some(({ name }) => name === 'role'));
    assert.equal(connection['address']?.type, 'string');
    assert.equal(connection['unit_id']?.type, 'integer');
    assert.equal(values.find(({ name }) => name === 'total_power')?.unit, 'W');
  });

  test('the library makes one blueprint of the same template and parameters, and another of others', async () => {
    const first = await blueprintOf('eastron-sdm630');
    const again = await blueprintOf('eastron-sdm630', { role: first.origin.parameters['role'] });
    const other = await blueprintOf('eastron-sdm630', { role: 'pv' });
    assert.deepEqual(again, first);
    assert.notEqual(other.blueprint.id, first.blueprint.id);
    assert.equal(other.origin.parameters['role'], 'pv');
    const { blueprint } = await gateway().ok('READONLY', 'GET', `/v3/blueprints/${first.blueprint.id}`);
    assert.deepEqual(blueprint, first.blueprint);
  });

  test('the library makes one blueprint of a template that is asked for several times at once', async () => {
    const made = await Promise.all(
      [undefined, {}, { role: 'grid' }].map((parameters) => blueprintOf('janitza-umg96', parameters)),
    );
    assert.equal(new Set(made.map(({ blueprint }) => blueprint.id)).size, 1);
  });

  test('the library keeps an uploaded template beside its own until it is deleted', async () => {
    const { call, ok } = gateway();
    const { device } = (await ok('INSTALLER', 'POST', DEVICES, PUMP)) as { device: { id: string } };
    assert.equal(device.id, 'own-well-pump');
    assert.equal((await list('?search=well')).devices[0]?.source, 'OWN');
    assert.equal((await call('READONLY', 'GET', `${DEVICES}/own-well-pump/template`)).body, PUMP);
    const { blueprint } = await blueprintOf('own-well-pump');
    await ok('INSTALLER', 'DELETE', `${DEVICES}/own-well-pump`);
    assert.equal((await list('?search=well')).total_count, 0);
    assert.equal((await call('READONLY', 'GET', `/v3/blueprints/${blueprint.id}`)).status, 200);
  });
});

test('uploaded templates whose names make the same word stand side by side, and each replaces itself', async () => {
  const { ok } = gateway();
  const upload = async (name: string, maker = 'Acme'): Promise<string> => {
    const text = PUMP.replace('Well Pump', name).replace('Acme', maker);
    return ((await ok('INSTALLER', 'POST', DEVICES, text)) as { device: { id: string } }).device.id;
  };
  const ids = [await upload('水泵'), await upload('电表'), await upload('Pump 5'), await upload('Pump-5')];
  assert.deepEqual(ids, ['own-device', 'own-device-2', 'own-pump-5', 'own-pump-5-2']);
  assert.equal(await upload('电表', 'Other'), 'own-device-2');
  const { devices } = await list('?maker.in=Other');
  assert.deepEqual(
    devices.map(({ id }) => id),
    ['own-device-2'],
  );
  for (const id of ids) await ok('INSTALLER', 'DELETE', `${DEVICES}/${id}`);
});

test('the library tells a device of an older template what a newer one changes, and the update keeps its slug, settings and history', async () => {
  const { call, ok } = gateway();
  const updates = async (): Promise<unknown[]> =>
    (await ok('OWNER', 'GET', '/v3/library/updates'))['updates'] as unknown[];
  const older = `${PUMP}  speed: { input: 5, name: Speed }\n`;
  await ok('INSTALLER', 'POST', DEVICES, older);
  const { blueprint } = await blueprintOf('own-well-pump');
  const { devices } = await ok('OWNER', 'GET', '/v3/devices?type.in=GATEWAY');
  const { device_id: id, slug } = (await ok('OWNER', 'POST', '/v3/provisioning/lua_device', {
    name: 'Well',
    blueprint_id: blueprint.id,
    runtime_id: (devices as [{ id: string }])[0].id,
  })) as { device_id: string; slug: string };
  const connection = `/v3/devices/${slug}/configuration/connection`;
  await ok('OWNER', 'PATCH', connection, { set: { address: 'tcp://127.0.0.1:9', unit_id: 7 } });
  const { configuration } = await ok('OWNER', 'GET', connection);
  const history = async (): Promise<unknown> =>
    (
      await call(
        'READONLY',
        'POST',
        '/v3/telemetry/query_timeseries',
        {
          from: '2026-01-01T00:00:00Z',
          to: '2026-01-01T00:02:00Z',
          granularity: '1m',
          aggregation: 'last',
          telemetry: [{ device: slug, attribute: 'speed' }],
        },
        { Accept: 'text/csv' },
      )
    ).body;
  const csv = `ts,telemetry=speed device=${slug}\n2026-01-01T00:00:00Z,4.5\n2026-01-01T00:01:00Z,4.75\n`;
  await ok('OWNER', 'POST', '/v3/telemetry/import', csv, { 'Content-Type': 'text/csv' });
  const past = await history();
  assert.match(String(past), /4\.75/);
  assert.deepEqual(await updates(), []);
  await ok('INSTALLER', 'POST', DEVICES, `# Another comment.\n${older}`);
  assert.deepEqual(await updates(), []);
  const newer = older
    .replace('flow: { input: 3, name: Flow', 'level: { input: 4, name: Level')
    .concat('  pressure: { input: 7, name: Pressure, unit: bar }\n');
  await ok('INSTALLER', 'POST', DEVICES, newer);
  assert.deepEqual(await updates(), [
    {
      device_id: id,
      template_id: 'own-well-pump',
      template_name: 'Well Pump',
      parameters: {},
      values_added: ['level', 'pressure'],
      values_removed: ['flow'],
      values_changed: [],
      commands_added: [],
      commands_removed: [],
    },
  ]);
  const next = await blueprintOf('own-well-pump');
  await ok('OWNER', 'POST', `/v3/devices/${id}/assign_blueprint`, { blueprint_id: next.blueprint.id });
  assert.deepEqual(await updates(), []);
  assert.equal((await call('OWNER', 'GET', `/v3/devices/${slug}`)).status, 200);
  assert.deepEqual((await ok('OWNER', 'GET', connection))['configuration'], configuration);
  assert.equal(await history(), past);
  await ok('INSTALLER', 'DELETE', `${DEVICES}/own-well-pump`);
  assert.deepEqual(await updates(), []);
});

test('a device of an older library takes a newer template with another unit, parameter, name and command, and keeps the rest', async () => {
  const { call, ok } = gateway();
  const older = parseTemplate(
    templateText('eastron/sdm630')
      .replace(
        '  ac_frequency:',
        '  mains_frequency: { name: Mains, unit: kHz, input: 71, as: f32 }\n  ac_frequency:',
      )
      .replace('total_power: {', 'total_power: { unit: kW,')
      .concat('\ncommands: { reset: { name: Reset, do: [write: { holding: 3, value: 1 }] } }\n'),
  ).template;
  assert.ok(older);
  const parameters = { role: 'load' };
  // An older library did not know the parameter that makes the other roles.
  const { files } = compileTemplate({ template: older, id: 'eastron-sdm630', parameters }, books);
  const { id: blueprintId } = await ok('OWNER', 'POST', '/v3/blueprints/upload', await zipOf({ ...files }));
  const { devices } = await ok('OWNER', 'GET', '/v3/devices?type.in=GATEWAY');
  const { device_id: id, slug } = (await ok('OWNER', 'POST', '/v3/provisioning/lua_device', {
    name: 'House',
    blueprint_id: blueprintId,
    runtime_id: (devices as [{ id: string }])[0].id,
  })) as { device_id: string; slug: string };
  const connection = `/v3/devices/${slug}/configuration/connection`;
  await ok('OWNER', 'PATCH', connection, { set: { address: 'tcp://127.0.0.1:9', unit_id: 7 } });
  const { configuration } = await ok('OWNER', 'GET', connection);
  const rules = '/v3/site/rule_engine/rules';
  const code = Buffer.from(`enapter.device('${slug}').execute_command('reset')`).toString('base64');
  const { rule } = (await ok('OWNER', 'POST', rules, {
    slug: 'resets',
    script: { code, runtime_version: 'V3' },
    disable: true,
  })) as { rule: { id: string } };
  const { updates } = await ok('OWNER', 'GET', '/v3/library/updates');
  const update = (updates as Record<string, unknown>[]).find(({ device_id: of }) => of === id);
  assert.deepEqual(update, {
    device_id: id,
    template_id: 'eastron-sdm630',
    template_name: 'Eastron SDM630',
    parameters,
    values_added: [],
    values_removed: ['mains_frequency'],
    values_changed: ['total_power'],
    commands_added: [],
    commands_removed: ['reset'],
  });
  const next = await blueprintOf('eastron-sdm630', parameters);
  await ok('OWNER', 'POST', `/v3/devices/${id}/assign_blueprint`, { blueprint_id: next.blueprint.id });
  assert.deepEqual((await ok('OWNER', 'GET', connection))['configuration'], configuration);
  assert.equal((await call('OWNER', 'GET', `/v3/devices/${slug}`)).status, 200);
  const command = { name: 'reset', arguments: {} };
  assert.equal(
    refusal(await call('OWNER', 'POST', `/v3/devices/${slug}/commands/execute`, command)),
    '422 command_not_found',
  );
  assert.equal((await call('OWNER', 'GET', `${rules}/${rule.id}`)).status, 200);
  const later = (await ok('OWNER', 'GET', '/v3/library/updates'))['updates'] as Record<string, unknown>[];
  assert.ok(later.every(({ device_id: of }) => of !== id));
});
