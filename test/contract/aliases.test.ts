/**
 * Every operation on every path of docs/interface/http.md#other-names, with and without `/api` and a trailing slash:
 * all of them answer what the canonical one answers.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MockDevice } from '../support/mock-device.ts';
import type { Watched } from '../support/serve.ts';
import { type Answer, type TestGateway, useTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { OPERATIONS, type OperationRow } from './operations.ts';

interface Sample {
  body?: unknown;
  query?: string;
  headers?: Record<string, string>;
  status?: number;
  /** What of the answer is the same each time; default: the whole body. */
  same?: (body: Record<string, unknown>) => unknown;
  /** Values of path parameters made for one request; others are those of the common device. */
  fresh?: (gateway: TestGateway) => Promise<Record<string, string>>;
}

const MANIFEST = 'blueprint_spec: device/3.0\ndisplay_name: Sample\nruntime:\n  type: embedded\n';
const keys = (body: object): string[] => Object.keys(body).toSorted();
const keysOf = (name: string) => (body: Record<string, unknown>) => keys(body[name] as object);

let device: MockDevice;
let parameters: Record<string, string>;
let blueprintZip: Buffer;
let profilesZip: Buffer;
let scriptBlueprintId: string;
let named = 0;

const gateway = useTestGateway({}, async (started) => {
  const { ok } = started;
  blueprintZip = await zipOf({ 'manifest.yml': MANIFEST });
  profilesZip = await zipOf({
    'sensor/quiet.yml': 'blueprint_spec: profile/1.0\ndisplay_name: Quiet\n',
  });
  const lua =
    'blueprint_spec: device/3.0\ndisplay_name: L\nruntime: {type: lua, options: {file: main.lua}}\n';
  const script = await zipOf({ 'manifest.yml': lua, 'main.lua': 'return 1' });
  scriptBlueprintId = String((await ok('OWNER', 'POST', '/v3/blueprints/upload', script))['id']);
  device = await started.provision('Battery');
  await device.connect();
  device.obey();
  await device.telemetry({ battery_soc: 50 });
  await device.log('hello');
  const { execution_id: executionId } = await ok(
    'USER',
    'POST',
    `/v3/devices/${device.id}/commands/executions`,
    { name: 'read_settings' },
  );
  const path = `/v3/devices/${device.id}/commands/executions/${String(executionId)}`;
  await until(async () => {
    const { execution } = await ok('USER', 'GET', path);
    return (execution as { state: string }).state === 'SUCCESS';
  });
  const { site } = await ok('READONLY', 'GET', '/v3/site');
  parameters = {
    site_id: (site as { id: string }).id,
    device_id: device.slug,
    execution_id: String(executionId),
    blueprint_id: await started.sampleBlueprintId(),
    namespace: 'enapter',
    blueprint_name: 'battery-inverter',
    tag: 'latest',
    group_name: 'limits',
    rule_id: 'watch',
  };
  await ok('OWNER', 'POST', '/v3/site/rule_engine/rules', { slug: 'watch', script: SCRIPT, disable: true });
});

const newDevice: Sample['fresh'] = async (started) => ({
  device_id: (await started.provision(`Extra ${++named}`, null)).slug,
});

const SCRIPT = { code: Buffer.from('return 1').toString('base64'), runtime_version: 'V3' };

const newRule: Sample['fresh'] = async ({ ok }) => {
  const body = { slug: `rule-${++named}`, script: SCRIPT, disable: true };
  const { rule } = await ok('OWNER', 'POST', '/v3/site/rule_engine/rules', body);
  return { rule_id: (rule as { slug: string }).slug };
};

const SAMPLES: Record<string, () => Sample> = {
  create_site: () => ({ body: { name: 'Other', timezone: 'UTC' }, status: 422 }),
  get_site: () => ({}),
  update_site: () => ({ body: { name: 'Depot', location: null } }),
  list_sites: () => ({ query: 'limit=5' }),
  delete_site: () => ({ status: 422 }),
  archive_site: () => ({}),
  unarchive_site: () => ({}),
  get_device: () => ({
    query: 'expand=site,manifest,properties,connectivity,communication,raised_alert_names',
  }),
  list_devices: () => ({ query: 'expand=connectivity&id.in=battery' }),
  get_device_manifest: () => ({}),
  update_device: () => ({ body: { name: 'Battery', slug: null } }),
  delete_device: () => ({ fresh: newDevice }),
  assign_blueprint: () => ({ body: { blueprint_id: parameters['blueprint_id'] } }),
  generate_config: () => ({ body: { protocol: 'MQTT' }, same: keysOf('config'), fresh: newDevice }),
  run_terminal: () => ({ status: 422 }),
  provision_lua_device: () => ({
    body: { runtime_id: 'gateway', blueprint_id: scriptBlueprintId, name: 'Script', slug: null },
    same: keys,
  }),
  provision_standalone_device: () => ({ body: { name: 'New', site_id: null, slug: null }, same: keys }),
  provision_virtual_ucm: () => ({
    body: { name: 'Module', hardware_id: 'V0123456789ABCDEF', site_id: null },
    same: ({ device_id: id }) => id,
  }),
  provision_hardware_ucm: () => ({
    body: { name: 'Board', hardware_id: '0123456789ABCDEF', site_id: null },
    same: ({ device_id: id }) => id,
  }),
  validate_blueprint: () => ({ body: blueprintZip }),
  upload_blueprint: () => ({ body: blueprintZip, same: keys }),
  get_blueprint: () => ({}),
  get_blueprint_by_name: () => ({}),
  get_blueprint_zip: () => ({ query: 'view=original' }),
  download_device_profiles: () => ({}),
  upload_device_profiles: () => ({ body: profilesZip }),
  get_device_configuration: () => ({}),
  update_device_configuration: () => ({ body: { set: { max_charge_power_w: 100 } } }),
  reset_device_configuration: () => ({}),
  execute_command: () => ({
    query: 'expand=',
    body: { name: 'read_settings' },
    same: ({ execution }) => {
      const { state, response, request } = execution as Record<string, Record<string, unknown>>;
      return { state, request, payload: response?.['payload'], keys: keys(execution as object) };
    },
  }),
  create_command_execution: () => ({ body: { name: 'read_settings', ephemeral: true }, same: keys }),
  get_command_execution: () => ({ query: 'expand=log' }),
  list_command_executions: () => ({ query: 'retention=PERSISTENT&limit=1' }),
  list_site_command_executions: () => ({ query: 'retention=PERSISTENT&limit=1&device_id.in=battery' }),
  get_rule_engine: () => ({}),
  create_rule_engine: () => ({ body: { suspend: false } }),
  suspend_rule_engine: () => ({}),
  resume_rule_engine: () => ({}),
  create_rule: () => ({
    body: { slug: `rule-${++named}`, script: SCRIPT, disable: true },
    same: keysOf('rule'),
  }),
  list_rules: () => ({ query: 'limit=1' }),
  get_rule: () => ({}),
  update_rule: () => ({ body: { slug: 'watch' } }),
  update_rule_script: () => ({ body: { script: SCRIPT }, same: keysOf('rule') }),
  disable_rule: () => ({}),
  enable_rule: () => ({ same: keysOf('rule') }),
  batch_disable_rules: () => ({ body: { rule_ids: ['watch'] } }),
  batch_enable_rules: () => ({ body: { rule_ids: ['watch'] }, same: keys }),
  delete_rule: () => ({ fresh: newRule }),
  batch_delete_rules: () => ({ body: { rule_ids: [] } }),
  // No rules run here: it is refused in the same way.
  dry_run_rule: () => ({ body: { from: 0, to: 60, rule_id: 'watch' }, status: 422 }),
  check_rule: () => ({ body: { script: { code: btoa('x ='), runtime_version: 'V3' } } }),
  get_rule_logs: () => ({ query: 'limit=1' }),
  get_device_logs: () => ({ query: 'limit=1&show=ALL&order=RECEIVED_AT_ASC' }),
  get_latest_telemetry: () => ({ query: 'devices[battery]=battery_soc&relevance_interval=1h' }),
  get_device_latest_telemetry: () => ({ query: 'attribute.in=battery_soc&relevance_interval=1h' }),
  query_timeseries: () => ({
    body: {
      from: '2026-01-01T00:00:00Z',
      to: '2027-06-01T00:00:00Z',
      granularity: '365d',
      telemetry: [{ device: 'battery', attribute: ['battery_soc'] }],
    },
    headers: { Accept: 'text/csv' },
  }),
};

function filled(template: string, values: Record<string, string>): string {
  return template.replaceAll(/\{(\w+)\}/g, (_text, name: string) => values[name] ?? `{${name}}`);
}

/** The path as it is, below `/api`, and with a trailing slash. */
const formsOf = (path: string): string[] => [path, `/api${path}`, `${path}/`];

async function ask(row: OperationRow, template: string): Promise<{ answer: Answer; sample: Sample }> {
  // Made for each request: what a request makes may have a name of its own.
  const sample = SAMPLES[row.operation]?.();
  assert.ok(sample, 'there is no sample of a request');
  const values = { ...parameters, ...(await sample.fresh?.(gateway())) };
  const path = filled(template, values) + (sample.query === undefined ? '' : `?${sample.query}`);
  return {
    sample,
    answer: await gateway().call('INSTALLER', row.method, path, sample.body, sample.headers),
  };
}

function comparable({ status, body, headers }: Answer, { same }: Sample): unknown {
  const isObject = typeof body === 'object' && body !== null;
  return {
    status,
    type: headers.get('content-type'),
    body: same && status === 200 && isObject ? same(body as Record<string, unknown>) : body,
  };
}

describe('an operation answers the same on every path', () => {
  for (const row of OPERATIONS.filter(({ method }) => method !== 'WS'))
    test(`${row.chapter} ${row.operation} answers the same on every path`, async () => {
      const [canonical = ''] = row.paths;
      const { answer: expected, sample } = await ask(row, canonical);
      assert.equal(expected.status, sample.status ?? 200, JSON.stringify(expected.body));
      for (const path of row.paths)
        for (const form of formsOf(path))
          assert.deepEqual(
            comparable((await ask(row, form)).answer, sample),
            comparable(expected, sample),
            `${row.method} ${form}`,
          );
    });
});

describe('a stream sends the same on every path', () => {
  const sent: Record<string, { send: () => Promise<void>; member: string }> = {
    stream_device_logs: { send: () => device.log('streamed'), member: 'log' },
    stream_device_telemetry: { send: () => device.telemetry({ battery_soc: 60 }), member: 'telemetry' },
    monitor_devices: { send: () => device.telemetry({ battery_soc: 61 }), member: 'telemetry' },
    stream_rule_logs: {
      // A script that cannot be read says so in the log of its rule.
      send: async () => {
        const script = { ...SCRIPT, code: Buffer.from('return (').toString('base64') };
        const path = '/v3/site/rule_engine/rules/watch/update_script';
        await gateway().ok('OWNER', 'POST', path, { script });
        await gateway().ok('OWNER', 'POST', '/v3/site/rule_engine/rules/watch/enable');
      },
      member: 'rule_id',
    },
  };
  for (const row of OPERATIONS.filter(({ method }) => method === 'WS'))
    test(`${row.chapter} ${row.operation} sends the same on every path`, async () => {
      const { send, member } = sent[row.operation] ?? {};
      assert.ok(send && member);
      const sockets: Watched[] = [];
      for (const path of row.paths)
        for (const form of formsOf(path))
          sockets.push(await gateway().watch('INSTALLER', filled(form, parameters)));
      await send();
      const messages = (): Record<string, unknown>[][] =>
        sockets.map((socket) =>
          (socket.messages as Record<string, unknown>[]).filter(
            (message) => member in message && (message['device_id'] ?? device.id) === device.id,
          ),
        );
      await until(() => messages().every(({ length }) => length > 0));
      for (const [message] of messages()) assert.deepEqual(message, messages()[0]?.[0]);
      for (const socket of sockets) socket.close();
    });
});
