/** Targets that the telemetry is carried to. Denials first. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { SecretSealer } from '../../src/platform/files/index.ts';
import { refusal, useTestGateway } from '../support/test-gateway.ts';

const TARGETS = '/v3/targets';
/** Nobody listens there. */
const URL_OF_NOBODY = 'http://127.0.0.1:9/write?db=site';
const BODY = { name: 'engine', kind: 'INFLUXDB', influxdb: { url: URL_OF_NOBODY, secret: 'shibboleth' } };
const NOBODY = '7c1d8a3e-5f2b-4b6a-9a55-3b1f0f7a1c22';

const gateway = useTestGateway();

interface OnWire {
  id: string;
  influxdb: { has_secret: boolean };
  status: { state: string };
}

async function created(body: object): Promise<OnWire> {
  const { target } = await gateway().ok('OWNER', 'POST', TARGETS, body);
  return target as OnWire;
}

describe('a target is not made', () => {
  const withUrl = (url: unknown) => ({ ...BODY, influxdb: { url } });
  const withCommands = (commands: object) => ({
    name: 'a',
    kind: 'MQTT',
    mqtt: { url: 'mqtt://broker', commands },
  });
  const rows: [title: string, body: object][] = [
    ['without an address', { name: 'a', kind: 'INFLUXDB' }],
    ['of a kind that nobody knows', { ...BODY, kind: 'CARRIER_PIGEON' }],
    ['with an address that is none', withUrl('metrics:8428')],
    ['with an address of a file', withUrl('file:///etc/passwd')],
    ['with a login in the address, which everybody could read', withUrl('http://user:secret@host/write')],
    ['with lines that are comments', { ...BODY, influxdb: { url: URL_OF_NOBODY, measurement: '#power' } }],
    ['with an authority that is no certificate', { ...BODY, influxdb: { url: URL_OF_NOBODY, ca_pem: 'x' } }],
    ['of contents that nobody knows', { ...BODY, selection: { contents: ['WEATHER'] } }],
    ['of no content', { ...BODY, selection: { contents: [] } }],
    ['with half a second', { ...BODY, selection: { interval_s: 0.5 } }],
    ['slower than anything would arrive', { ...BODY, selection: { bytes_per_second_max: 1 } }],
    ['of a broker without its address', { name: 'a', kind: 'MQTT', influxdb: { url: URL_OF_NOBODY } }],
    ['of a broker over HTTP', { name: 'a', kind: 'MQTT', mqtt: { url: 'http://broker' } }],
    ['with a topic for everybody', { name: 'a', kind: 'MQTT', mqtt: { url: 'mqtt://broker', topic: 'a/#' } }],
    [
      'with a name that no template knows',
      { name: 'a', kind: 'MQTT', mqtt: { url: 'mqtt://b', payload: '{x}' } },
    ],
    ['with commands for no device', withCommands({ devices: [] })],
    ['with commands for every device', withCommands({ level: 'USER' })],
    ['with commands of a role above the owner', withCommands({ devices: ['a'], level: 'INSTALLER' })],
    ['with commands on a topic for everybody', withCommands({ devices: ['a'], topic: '#' })],
    ['with commands of each device on a topic', withCommands({ devices: ['a'], topic: '{device}' })],
    ['with more commands than anybody gives', withCommands({ devices: ['a'], per_minute: 601 })],
    ['in an order that nobody knows', { ...BODY, selection: { backlog_order: 'ANY' } }],
    [
      'of files with the newest first',
      {
        name: 'a',
        kind: 'FOLDER',
        folder: { path: '/tmp' },
        selection: { backlog_order: 'NEWEST_FIRST' },
      },
    ],
    [
      'of states with older ones behind newer ones',
      {
        name: 'a',
        kind: 'MQTT',
        mqtt: { url: 'mqtt://b', form: 'HOME_ASSISTANT' },
        selection: { backlog_order: 'NEWEST_FIRST' },
      },
    ],
    ['of a folder without its path', { name: 'a', kind: 'FOLDER', folder: {} }],
    ['of a folder that is not there', { name: 'a', kind: 'FOLDER', folder: { path: '/media/nobody' } }],
    ['of a folder beside another', { name: 'a', kind: 'FOLDER', folder: { path: '/tmp/../etc' } }],
    [
      'with files of more than a day',
      { name: 'a', kind: 'FOLDER', folder: { path: '/tmp', piece_minutes: 1_441 } },
    ],
    [
      'of logs for who knows states only',
      {
        name: 'a',
        kind: 'MQTT',
        mqtt: { url: 'mqtt://b', form: 'HOME_ASSISTANT' },
        selection: { contents: ['AUDIT'] },
      },
    ],
    [
      'of logs for who knows metrics only',
      {
        name: 'a',
        kind: 'MQTT',
        mqtt: { url: 'mqtt://b', form: 'SPARKPLUG_B' },
        selection: { contents: ['TELEMETRY', 'AUDIT'] },
      },
    ],
    [
      'with a host application of several levels',
      { name: 'a', kind: 'MQTT', mqtt: { url: 'mqtt://b', form: 'SPARKPLUG_B', host_id: 'a/b' } },
    ],
    [
      'with a topic of records that knows values',
      { name: 'a', kind: 'MQTT', mqtt: { url: 'mqtt://b', records_topic: '{value}' } },
    ],
    ['with history from no time', { ...BODY, history_from: 'yesterday' }],
  ];
  for (const [title, body] of rows)
    test(title, async () =>
      assert.equal(refusal(await gateway().call('OWNER', 'POST', TARGETS, body)), '400 invalid_body'),
    );

  test('a target is not made when the caller may only look', async () =>
    assert.equal(refusal(await gateway().call('USER', 'POST', TARGETS, BODY)), '403 insufficient_role'));
});

test('an unknown target is answered with 404 and its name', async () => {
  const { call } = gateway();
  for (const [method, path] of [
    ['GET', `${TARGETS}/${NOBODY}`],
    ['PATCH', `${TARGETS}/${NOBODY}`],
    ['DELETE', `${TARGETS}/${NOBODY}`],
    ['POST', `${TARGETS}/${NOBODY}/test`],
  ] as const)
    assert.equal(
      refusal(await call('OWNER', method, path, method === 'PATCH' ? {} : undefined)),
      '404 target_not_found',
    );
});

test('a target is made, changed, tested and deleted, and its secret is never seen again', async () => {
  const { ok, call } = gateway();
  const { id, influxdb } = await created(BODY);
  const path = `${TARGETS}/${id}`;
  assert.deepEqual(influxdb, {
    url: URL_OF_NOBODY,
    measurement: 'telemetry',
    username: null,
    has_secret: true,
    token_scheme: 'Token',
    ca_pem: null,
    compressed: true,
  });
  assert.equal(refusal(await call('OWNER', 'POST', TARGETS, BODY)), '409 already_exists');
  assert.deepEqual(await ok('OWNER', 'POST', `${path}/test`), {
    test: { accepted: false, reason: 'Nothing listens at 127.0.0.1:9.' },
  });
  const change = { enabled: false, influxdb: { username: 'box' }, selection: { interval_s: 60 } };
  const { target } = (await ok('OWNER', 'PATCH', path, change)) as { target: OnWire };
  assert.partialDeepStrictEqual(target, {
    enabled: false,
    influxdb: { url: URL_OF_NOBODY, username: 'box', has_secret: true },
    selection: { interval_s: 60, on_change: false },
    status: { state: 'DISABLED' },
  });
  assert.equal(refusal(await call('OWNER', 'PATCH', path, { mqtt: { topic: 'a' } })), '400 invalid_body');
  const cleared = (await ok('OWNER', 'PATCH', path, { influxdb: { secret: null } })) as { target: OnWire };
  assert.equal(cleared.target.influxdb.has_secret, false);
  const { body: audit } = await call('OWNER', 'GET', '/v3/audit');
  const everything = JSON.stringify([await ok('OWNER', 'GET', TARGETS), target, audit, gateway().lines]);
  assert.ok(!everything.includes('shibboleth'));
  assert.ok(everything.includes('create_target'));
  await ok('OWNER', 'DELETE', path);
  assert.deepEqual(await ok('OWNER', 'GET', TARGETS), { targets: [], total_count: 0 });
});

test('a secret goes to no other server than the one that it was entered for', async () => {
  const { ok, call } = gateway();
  const rows = [
    [
      { ...BODY, enabled: false },
      'influxdb',
      ['http://127.0.0.1:10/write', 'https://127.0.0.1:9/write?db=site'],
    ],
    [
      { name: 'broker', kind: 'MQTT', enabled: false, mqtt: { url: 'mqtt://a:1', secret: 'shibboleth' } },
      'mqtt',
      ['mqtt://b:1', 'mqtts://a:1'],
    ],
  ] as const;
  for (const [body, kind, others] of rows) {
    const path = `${TARGETS}/${(await created(body)).id}`;
    for (const url of others) {
      const refused = await call('OWNER', 'PATCH', path, { [kind]: { url } });
      assert.equal(refusal(refused), '400 invalid_body');
      await ok('OWNER', 'PATCH', path, { [kind]: { url, secret: 'another one' } });
    }
    await ok('OWNER', 'DELETE', path);
  }
  const { id } = await created({ ...BODY, enabled: false });
  await ok('OWNER', 'PATCH', `${TARGETS}/${id}`, { influxdb: { url: 'http://127.0.0.1:9/write?db=other' } });
  await ok('OWNER', 'DELETE', `${TARGETS}/${id}`);
});

test('a key that cannot be read is refused in a sentence', async () => {
  const { ok } = gateway();
  const certificate_pem = '-----BEGIN CERTIFICATE-----\nbm90aGluZw==\n-----END CERTIFICATE-----\n';
  const mqtt = { url: 'mqtts://127.0.0.1:9', certificate_pem, private_key_pem: 'a key' };
  const path = `${TARGETS}/${(await created({ name: 'unreadable', kind: 'MQTT', enabled: false, mqtt })).id}`;
  const { test: tested } = await ok('OWNER', 'POST', `${path}/test`);
  const { accepted, reason } = tested as { accepted: boolean; reason: string };
  assert.equal(accepted, false);
  assert.match(reason, /^The certificate or the private key given for 127\.0\.0\.1:9 cannot be used/);
  await ok('OWNER', 'DELETE', path);
});

test('a change that cannot be stored leaves the target running', async () => {
  const { ok, call, dataDir } = gateway();
  const { id } = await created({ ...BODY, name: 'at work' });
  const path = `${TARGETS}/${id}`;
  const handle = new BetterSqlite3(join(dataDir, 'state.db'));
  for (const change of ['UPDATE', 'DELETE'])
    handle.exec(
      `CREATE TRIGGER no_${change} BEFORE ${change} ON target BEGIN SELECT RAISE(ABORT, 'no'); END`,
    );
  assert.equal((await call('OWNER', 'PATCH', path, { name: 'other' })).status, 500);
  assert.equal((await call('OWNER', 'DELETE', path)).status, 500);
  handle.exec('DROP TRIGGER no_UPDATE; DROP TRIGGER no_DELETE');
  handle.close();
  const { target } = (await ok('OWNER', 'GET', path)) as { target: OnWire & { name: string } };
  assert.equal(target.name, 'at work');
  assert.notEqual(target.status.state, 'DISABLED');
  await ok('OWNER', 'DELETE', path);
});

test('targets are bounded in number', async () => {
  const { ok, call } = gateway();
  const made: OnWire[] = [];
  for (let index = 0; index < 16; index++)
    made.push(await created({ ...BODY, name: `engine ${index}`, enabled: false }));
  assert.equal(refusal(await call('OWNER', 'POST', TARGETS, BODY)), '422 target_limit_reached');
  for (const { id } of made) await ok('OWNER', 'DELETE', `${TARGETS}/${id}`);
});

test('a broker with another message form has the topic of that form', async () => {
  const { ok } = gateway();
  const { id } = await created({ name: 'forms', kind: 'MQTT', enabled: false, mqtt: { url: 'mqtt://b:1' } });
  const topicOf = async (mqtt: object): Promise<string> => {
    const { target } = await ok('OWNER', 'PATCH', `${TARGETS}/${id}`, { mqtt });
    return (target as { mqtt: { topic: string } }).mqtt.topic;
  };
  assert.equal(await topicOf({ payload: '{value}' }), '{site}/{device}/telemetry');
  assert.equal(await topicOf({ form: 'SPARKPLUG_B' }), 'energy-gateway');
  assert.equal(await topicOf({ form: 'SPARKPLUG_B', topic: 'plants' }), 'plants');
  assert.equal(await topicOf({ form: 'PLAIN', topic: 'a/{device}' }), 'a/{device}');
});

test('a target keeps a device named by its slug when the device gets another slug', async () => {
  const { ok, provision } = gateway();
  const { id: deviceId } = await provision('Battery');
  const { id: otherId } = await provision('Other battery');
  const slugIs = (slug: string, id = deviceId) => ok('OWNER', 'PATCH', `/v3/devices/${id}`, { slug });
  await slugIs('other', otherId);
  await slugIs('before');
  const { id } = await created({
    name: 'renamed',
    kind: 'MQTT',
    enabled: false,
    mqtt: { url: 'mqtt://b:1', commands: { devices: ['other', 'before'] } },
    selection: { devices: ['before', 'other'] },
  });
  await slugIs('after');
  const { target } = await ok('OWNER', 'GET', `${TARGETS}/${id}`);
  assert.partialDeepStrictEqual(target, {
    mqtt: { commands: { devices: ['other', 'after'] } },
    selection: { devices: ['after', 'other'] },
  });
  await gateway().restart();
  assert.deepEqual((await ok('OWNER', 'GET', `${TARGETS}/${id}`))['target'], target);
});

test('a target of a device that does not exist is refused when it is made and when it is changed', async () => {
  const { call } = gateway();
  const commanding = { url: 'mqtt://b:1', commands: { devices: ['nobody'] } };
  const made = [
    { ...BODY, name: 'lonely', selection: { devices: ['nobody'] } },
    { name: 'lonely', kind: 'MQTT', mqtt: commanding },
  ];
  for (const body of made)
    assert.equal(refusal(await call('OWNER', 'POST', TARGETS, body)), '404 device_not_found');
  const { id } = await created({ ...BODY, name: 'lonely', enabled: false });
  const change = { selection: { devices: ['nobody'] } };
  const changed = await call('OWNER', 'PATCH', `${TARGETS}/${id}`, change);
  assert.equal(refusal(changed), '404 device_not_found');
});

test('a token in the address of a target is not shown, and stays when it is given back hidden', async () => {
  const { call, ok } = gateway();
  const url = 'http://127.0.0.1:9/write?db=site&token=open-sesame-4711';
  const { id } = await created({ ...BODY, name: 'tokens', enabled: false, influxdb: { url } });
  const shown = 'http://127.0.0.1:9/write?db=site&token=***';
  for (const path of [TARGETS, `${TARGETS}/${id}`])
    assert.doesNotMatch(JSON.stringify(await ok('OWNER', 'GET', path)), /open-sesame/);
  const { target } = await ok('OWNER', 'PATCH', `${TARGETS}/${id}`, { influxdb: { url: shown } });
  assert.partialDeepStrictEqual(target, { influxdb: { url: shown } });
  const state = new BetterSqlite3(join(gateway().dataDir, 'state.db'), { readonly: true });
  const stored = state.prepare<[string], { secrets: string }>('SELECT * FROM target WHERE id = ?').get(id);
  state.close();
  assert.doesNotMatch(JSON.stringify(stored), /open-sesame-4711/);
  const sealer = new SecretSealer({
    path: `${gateway().dataDir}.key`,
    dataDir: gateway().dataDir,
    log: { warnLimited: () => assert.fail('cannot be opened') },
  });
  assert.deepEqual(sealer.open(JSON.parse(stored?.secrets ?? '')), { url });
  const elsewhere = { influxdb: { url: 'http://evil.example/write?db=site&token=***' } };
  assert.equal(refusal(await call('OWNER', 'PATCH', `${TARGETS}/${id}`, elsewhere)), '400 invalid_body');
  await ok('OWNER', 'DELETE', `${TARGETS}/${id}`);
});
