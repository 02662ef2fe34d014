/** The story with a client of hey-api. */
import { readFileSync } from 'node:fs';
import { connectDevice, fail, GATEWAY, RULE_CODE, same, TOKEN, ZIP } from './story.ts';
import { client } from './client/client.gen.ts';
import * as gateway from './client/sdk.gen.ts';

client.setConfig({ baseUrl: GATEWAY, throwOnError: true, headers: { 'X-Service-Auth-Token': TOKEN } });

const sites = await gateway.listSites({ throwOnError: true });
const site_id = sites.data.sites[0]?.id ?? fail('no site');
const provisioned = await gateway.provisionStandaloneDevice({
  body: { name: 'Hey', protocol: 'MQTT' },
  throwOnError: true,
});
const { device_id, config } = provisioned.data;
const data = new File([readFileSync(ZIP)], 'blueprint.zip');
const uploaded = await gateway.uploadBlueprint({ body: { data }, throwOnError: true });
const blueprint_id = uploaded.data.blueprint.id;
const path = { device_id };
const assigned = await gateway.assignBlueprint({ path, body: { blueprint_id }, throwOnError: true });
same(assigned.data.device.blueprint_id, blueprint_id);
await connectDevice(config);
const executed = await gateway.executeCommand({ path, body: { name: 'read_settings' }, throwOnError: true });
same(executed.data.execution.state, 'SUCCESS');
const latest = await gateway.getDeviceLatestTelemetry({ path, throwOnError: true });
if (!('battery_soc' in latest.data.telemetry)) fail('no latest value');
const series = await gateway.queryTimeseries({
  body: {
    from: 0,
    to: Date.now() / 1_000,
    granularity: '1d',
    telemetry: [{ device: device_id, attribute: 'battery_soc' }],
  },
  headers: { Accept: 'text/csv' },
  parseAs: 'text',
  throwOnError: true,
});
if (!series.data.startsWith('ts,')) fail('no series');
const logs = await gateway.getDeviceLogs({ path, query: { limit: 5 }, throwOnError: true });
if (logs.data.total_count < logs.data.logs.length) fail('no logs');
const made = await gateway.createRule({
  path: { site_id },
  body: { slug: 'hey', script: { code: RULE_CODE, runtime_version: 'V3' }, disable: true },
  throwOnError: true,
});
same(made.data.rule.slug, 'hey');
await gateway.deleteRule({ path: { site_id, rule_id: 'hey' }, throwOnError: true });
process.exit(0);
