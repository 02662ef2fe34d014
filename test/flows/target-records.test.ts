/** What targets carry besides telemetry: everything that changed, once it is wanted, through outages and restarts. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { parseCsv } from '../../src/lib/csv.ts';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { startLineEngine } from '../support/line-engines.ts';
import { BROKER_USER, startMosquitto } from '../support/mosquitto-broker.ts';
import { refusal, startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from '../support/workspace.ts';
import { startRuleGateway } from './rule-support.ts';

const ALL = ['PROPERTIES', 'ALERTS', 'CONNECTIVITY', 'DEVICE_LOGS', 'RULE_LOGS', 'EXECUTIONS', 'AUDIT'];
const LOGIN = { username: BROKER_USER.username, secret: BROKER_USER.password };

interface OnWire {
  id: string;
  status: Record<string, unknown>;
}

const statusOf = async (gateway: TestGateway): Promise<OnWire['status']> => {
  const { targets } = await gateway.ok('OWNER', 'GET', '/v3/targets');
  return (targets as OnWire[])[0]?.status ?? {};
};

interface Carried {
  content: string;
  number: number;
  record: Record<string, unknown>;
}

test('a broker gets each change of every chosen content, also those made while it was away', async (t) => {
  const broker = await startMosquitto(t);
  if (!broker) return;
  const gateway = await startTestGateway(t);
  const seen = await broker.watch('#');
  const carried = (content: string): Carried[] =>
    seen.map(({ payload }) => JSON.parse(payload) as Carried).filter((record) => record.content === content);
  const body = { name: 'broker', kind: 'MQTT', mqtt: { url: broker.url, ...LOGIN } };
  const homeAssistant = { ...body.mqtt, form: 'HOME_ASSISTANT' };
  const refused = await gateway.call('OWNER', 'POST', '/v3/targets', {
    ...body,
    mqtt: homeAssistant,
    selection: { contents: ALL },
  });
  assert.equal(refusal(refused), '400 invalid_body');
  const device = await gateway.provision('Battery');
  await gateway.ok('OWNER', 'POST', '/v3/targets', { ...body, selection: { contents: ALL } });
  await device.connect();
  await device.properties({ serial_number: 'S1' });
  await device.log('Cell 3 is warm.', { severity: 'warning' });
  await device.telemetry({ alerts: ['battery_low'] });
  for (const content of ['PROPERTIES', 'CONNECTIVITY', 'DEVICE_LOGS', 'ALERTS', 'AUDIT'])
    await until(() => carried(content).length > 0);
  assert.partialDeepStrictEqual(carried('DEVICE_LOGS').at(-1)?.record, {
    device_id: device.id,
    message: 'Cell 3 is warm.',
  });
  assert.partialDeepStrictEqual(carried('ALERTS').at(-1)?.record, { name: 'battery_low', cleared_at: null });
  await broker.kill();
  await device.telemetry({ alerts: [] });
  await until(async () => (await statusOf(gateway))['state'] === 'FAILING');
  await gateway.restart();
  await gateway.ok('OWNER', 'PATCH', `/v3/devices/${device.id}`, { name: 'Cellar' });
  await broker.start();
  await until(() => carried('ALERTS').at(-1)?.record['cleared_at'] !== null);
  await until(() => carried('AUDIT').some(({ record }) => record['operation'] === 'update_device'));
  const numbers = carried('AUDIT').map(({ number }) => number);
  assert.deepEqual(
    [...new Set(numbers)],
    [...numbers].toSorted((a, b) => a - b).filter((n, i, all) => all[i - 1] !== n),
  );
  assert.equal((await statusOf(gateway))['lost_records'], 0);
});

test('a broker gets log entries of rules and results of commands', async (t) => {
  const broker = await startMosquitto(t);
  if (!broker) return;
  const rules = await startRuleGateway(t);
  const { gateway } = rules;
  const seen = await broker.watch('#');
  const recordsOf = (content: string): Record<string, unknown>[] =>
    seen
      .map(({ payload }) => JSON.parse(payload) as Carried)
      .filter((record) => record.content === content)
      .map(({ record }) => record);
  await gateway.ok('OWNER', 'POST', '/v3/targets', {
    name: 'broker',
    kind: 'MQTT',
    mqtt: { url: broker.url, ...LOGIN },
    selection: { contents: ['RULE_LOGS', 'EXECUTIONS'] },
  });
  await rules.create('greeting', "enapter.log('The rule has begun.', 'warning')");
  await until(() => recordsOf('RULE_LOGS').some(({ message }) => message === 'The rule has begun.'));
  const told = recordsOf('RULE_LOGS').find(({ message }) => message === 'The rule has begun.');
  assert.equal(told?.['severity'], 'warning');
  const device = await gateway.provision('Battery');
  await device.connect();
  device.obey({ mode: 'backup' });
  const { execution } = await gateway.ok('OWNER', 'POST', `/v3/devices/${device.id}/commands/execute`, {
    name: 'set_mode',
    arguments: { mode: 'backup' },
  });
  const { id } = execution as { id: string };
  await until(() =>
    recordsOf('EXECUTIONS').some((record) => record['id'] === id && record['state'] === 'SUCCESS'),
  );
  const last = recordsOf('EXECUTIONS').findLast((record) => record['id'] === id);
  assert.partialDeepStrictEqual(last, {
    device_id: device.id,
    request: { name: 'set_mode', manifest_name: 'set_mode' },
    response: { state: 'SUCCEEDED' },
  });
});

test('an engine distinguishes records by their tags', async (t) => {
  const engine = await startLineEngine(t, 'InfluxDB');
  if (!engine) return;
  const gateway = await startTestGateway(t);
  const device = await gateway.provision('Battery');
  await gateway.ok('OWNER', 'POST', '/v3/targets', {
    name: 'engine',
    kind: 'INFLUXDB',
    influxdb: { url: engine.writeUrl },
    selection: { contents: ['DEVICE_LOGS'] },
  });
  await device.connect();
  for (let index = 0; index < 20; index++) await device.log(`line ${index}, "quoted"`);
  await until(async () => (await statusOf(gateway))['sent_records'] === 20);
  const answer = await fetch(
    engine.writeUrl.replace('/write?', '/query?') + '&q=SELECT%20message%20FROM%20gateway_device_logs',
  );
  const { results } = (await answer.json()) as { results: { series: { values: [string, string][] }[] }[] };
  const messages = results[0]?.series[0]?.values.map(([, message]) => message);
  assert.deepEqual(
    messages,
    Array.from({ length: 20 }, (_, index) => `line ${index}, "quoted"`),
  );
});

test('a folder has records as files by day beside the telemetry, and those removed by retention are counted', async (t) => {
  const stick = join(temporaryFolder(t), 'stick');
  mkdirSync(stick);
  const gateway = await startTestGateway(t);
  const device = await gateway.provision('Battery');
  const { target } = await gateway.ok('OWNER', 'POST', '/v3/targets', {
    name: 'stick',
    kind: 'FOLDER',
    folder: { path: stick },
    selection: { contents: ['TELEMETRY', 'AUDIT', 'ALERTS'] },
  });
  await device.connect();
  await gateway.ok('OWNER', 'PATCH', `/v3/devices/${device.id}`, { name: 'Cellar' });
  const gathered = (): string =>
    readdirSync(stick, { recursive: true, encoding: 'utf8' })
      .filter((name) => basename(name).startsWith('audit-'))
      .map((name) => readFileSync(join(stick, name), 'utf8'))
      .join('');
  await until(() => gathered().includes('update_device'));
  assert.ok(Number((await statusOf(gateway))['lag_records']) > 0, 'gathered is not acknowledged');
  const path = `/v3/targets/${(target as OnWire).id}`;
  await gateway.ok('OWNER', 'PATCH', path, { enabled: false });
  const [day] = readdirSync(stick);
  const folder = join(stick, String(day));
  const name = readdirSync(folder).find((file) => file.startsWith('audit-') && file.endsWith('.csv'));
  const [head, ...rows] = parseCsv(readFileSync(join(folder, String(name)), 'utf8'));
  assert.deepEqual(head, ['timestamp', 'device', 'number', 'record']);
  const operations = rows.map((row) => (JSON.parse(row[3] ?? '{}') as { operation: string }).operation);
  assert.ok(operations.includes('update_device'), operations.join());
  await device.telemetry({ alerts: ['battery_low'] });
  await until(async () => (await gateway.ok('OWNER', 'GET', '/v3/alerts'))['total_count'] === 1);
  await gateway.ok('OWNER', 'DELETE', `/v3/devices/${device.id}`);
  await gateway.ok('OWNER', 'PATCH', path, { enabled: true });
  await until(async () => (await statusOf(gateway))['lost_records'] === 1);
});

test('alerts that only an installer may see are not sent', async (t) => {
  const stick = join(temporaryFolder(t), 'stick');
  mkdirSync(stick);
  const gateway = await startTestGateway(t);
  const manifest =
    'blueprint_spec: device/3.0\ndisplay_name: G\nruntime: {type: embedded}\n' +
    'telemetry:\n  service: {display_name: Service, type: alerts, access_level: installer}\n';
  const zip = await zipOf({ 'manifest.yml': manifest });
  const { id } = await gateway.ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
  const device = await gateway.provision('Guarded', String(id));
  await gateway.ok('OWNER', 'POST', '/v3/targets', {
    name: 'stick',
    kind: 'FOLDER',
    folder: { path: stick },
    selection: { contents: ['ALERTS'] },
  });
  await device.connect();
  await device.telemetry({ service: ['worn'] });
  await device.telemetry({ service: ['leak'], alerts: ['low'] });
  const gathered = (): string =>
    readdirSync(stick, { recursive: true, encoding: 'utf8' })
      .filter((name) => basename(name).startsWith('alerts-'))
      .map((name) => readFileSync(join(stick, name), 'utf8'))
      .join('');
  await until(() => gathered().includes('low'));
  await device.telemetry({ service: ['leak'], alerts: ['leak'] });
  await until(() => gathered().includes('leak'));
  assert.doesNotMatch(gathered(), /worn/);
});
