/** The story with types of openapi-typescript, through its own small client openapi-fetch. */
import { readFileSync } from 'node:fs';
import createClient from 'openapi-fetch';
import type { paths } from './schema.ts';
import { connectDevice, fail, GATEWAY, RULE_CODE, same, TOKEN, ZIP } from './story.ts';

const client = createClient<paths>({ baseUrl: GATEWAY, headers: { 'X-Service-Auth-Token': TOKEN } });

const { data: sites } = await client.GET('/v3/sites');
const site = sites?.sites[0] ?? fail('no site');
const { data: provisioned } = await client.POST('/v3/provisioning/standalone', {
  body: { name: 'Types', protocol: 'MQTT' },
});
const { device_id, config } = provisioned ?? fail('not provisioned');
const { data: uploaded, error } = await client.POST('/v3/blueprints/upload', {
  body: { data: 'file' },
  bodySerializer: () => {
    const form = new FormData();
    form.append('data', new Blob([readFileSync(ZIP)]), 'blueprint.zip');
    return form;
  },
});
const blueprint_id = uploaded?.blueprint.id ?? fail(JSON.stringify(error));
const inDevice = { params: { path: { device_id } } };
const { data: assigned } = await client.POST('/v3/devices/{device_id}/assign_blueprint', {
  ...inDevice,
  body: { blueprint_id },
});
same(assigned?.device.blueprint_id, blueprint_id);
await connectDevice(config);
const { data: executed } = await client.POST('/v3/devices/{device_id}/commands/execute', {
  ...inDevice,
  body: { name: 'read_settings' },
});
same(executed?.execution.state, 'SUCCESS');
const { data: latest } = await client.GET('/v3/devices/{device_id}/telemetry', inDevice);
if (!('battery_soc' in (latest?.telemetry ?? {}))) fail('no latest value');
const { data: csv } = await client.POST('/v3/telemetry/query_timeseries', {
  body: {
    from: 0,
    to: Date.now() / 1_000,
    granularity: '1d',
    telemetry: [{ device: device_id, attribute: 'battery_soc' }],
  },
  headers: { Accept: 'text/csv' },
  parseAs: 'text',
});
if (!csv?.startsWith('ts,')) fail('no series');
const { data: logs } = await client.GET('/v3/devices/{device_id}/logs', {
  params: { path: { device_id }, query: { limit: 5 } },
});
if (logs === undefined || logs.total_count < logs.logs.length) fail('no logs');
const inSite = { params: { path: { site_id: site.id } } };
const { data: made } = await client.POST('/v3/sites/{site_id}/rule_engine/rules', {
  ...inSite,
  body: { slug: 'types', script: { code: RULE_CODE, runtime_version: 'V3' }, disable: true },
});
same(made?.rule.slug, 'types');
const { response } = await client.DELETE('/v3/sites/{site_id}/rule_engine/rules/{rule_id}', {
  params: { path: { site_id: site.id, rule_id: 'types' } },
});
same(response.status, 200);
process.exit(0);
