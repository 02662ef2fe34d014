/** Devices over MQTT with TLS and people over HTTPS, with the certificates of the gateway's own authority. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { connect, type IClientOptions, type MqttClient } from 'mqtt';
import {
  refusal,
  startTestGateway,
  type TestGateway,
  type TestGatewayOptions,
} from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const SECURE = { GATEWAY_HTTPS: 'true', GATEWAY_MQTTS: 'true' };

interface Configuration {
  mqtt_host: string;
  mqtt_port: number;
  mqtt_protocol: string;
  mqtt_credentials: { private_key: string; certificate: string; ca_chain: string };
  hardware_id: string;
}

interface Provisioned {
  device_id: string;
  config: Configuration;
}

const startSecure = (t: TestContext, options: TestGatewayOptions = {}): Promise<TestGateway> =>
  startTestGateway(t, { ...options, environment: { ...SECURE, ...options.environment } });

/** As a device does: by what stands in its configuration alone, the name of the server checked. */
function dial(t: TestContext, config: Configuration, options: IClientOptions = {}): Promise<MqttClient> {
  const { private_key: key, certificate: cert, ca_chain: ca } = config.mqtt_credentials;
  const client = connect(`mqtts://${config.mqtt_host}:${config.mqtt_port}`, {
    key,
    cert,
    ca,
    reconnectPeriod: 0,
    ...options,
  });
  t.after(() => client.end(true));
  return new Promise((resolve, reject) => {
    client.once('connect', () => resolve(client));
    client.on('error', reject);
    client.once('close', () => reject(new Error('closed before CONNACK')));
  });
}

const ended = (client: MqttClient): Promise<void> =>
  new Promise((resolve) => client.once('close', () => resolve()));

async function provision(gateway: TestGateway): Promise<Provisioned> {
  const headers = { Host: '127.0.0.1' };
  const answer = await gateway.request(
    'OWNER',
    'POST',
    '/v3/provisioning/standalone',
    { name: 'Meter' },
    headers,
  );
  assert.equal(answer.status, 200);
  return (await answer.json()) as Provisioned;
}

async function statusOf(gateway: TestGateway, id: string): Promise<string> {
  const { device } = await gateway.ok('READONLY', 'GET', `/v3/devices/${id}?expand=connectivity`);
  return (device as { connectivity: { status: string } }).connectivity.status;
}

describe('a device with a certificate', () => {
  test('a device with a certificate is refused after new credentials were generated, and its session ends; the new ones work', async (t) => {
    const gateway = await startSecure(t);
    const { device_id: id, config: old } = await provision(gateway);
    const client = await dial(t, old);
    const closed = ended(client);
    const { config } = (await (
      await gateway.request('OWNER', 'POST', `/v3/devices/${id}/generate_config`, { protocol: 'MQTTS' })
    ).json()) as Provisioned;
    await closed;
    await assert.rejects(dial(t, old), { code: 5 });
    assert.equal(config.hardware_id, old.hardware_id);
    await dial(t, config);
    await until(async () => (await statusOf(gateway, id)) === 'ONLINE');
  });

  test('a device with a certificate gets everything from provisioning, comes ONLINE, and its values arrive', async (t) => {
    const gateway = await startSecure(t);
    const { device_id: id, config } = await provision(gateway);
    assert.equal(config.mqtt_protocol, 'MQTTS');
    assert.equal(config.mqtt_port, gateway.ports.mqttsPort);
    assert.deepEqual(Object.keys(config.mqtt_credentials).sort(), ['ca_chain', 'certificate', 'private_key']);
    assert.equal(
      new X509Certificate(config.mqtt_credentials.certificate).subject,
      `CN=${config.hardware_id}`,
    );
    const { device } = await gateway.ok('READONLY', 'GET', `/v3/devices/${id}?expand=communication`);
    assert.equal((device as { communication: { type: string } }).communication.type, 'MQTT_V1_TLS');
    const client = await dial(t, config);
    await client.subscribeAsync(`v1/to/${config.hardware_id}/ucm/#`);
    await client.publishAsync(`v1/from/${config.hardware_id}/ucm/v1/register`, '{"vendor":"Works"}', {
      qos: 1,
    });
    assert.equal(await statusOf(gateway, id), 'ONLINE');
  });

  test('a device with a certificate reconnects after a restart of the gateway', async (t) => {
    const gateway = await startSecure(t);
    const { config } = await provision(gateway);
    await gateway.restart();
    assert.notEqual(gateway.ports.mqttsPort, undefined);
    const client = await dial(t, { ...config, mqtt_port: gateway.ports.mqttsPort ?? 0 });
    assert.ok(client.connected);
  });
});

describe('the gateway', () => {
  test('the gateway without TLS makes no keys and gives no certificates', async (t) => {
    const gateway = await startTestGateway(t);
    assert.deepEqual([gateway.ports.httpsPort, gateway.ports.mqttsPort], [undefined, undefined]);
    assert.ok(!readdirSync(gateway.dataDir).includes('tls'));
    const refused = await gateway.call('OWNER', 'POST', '/v3/provisioning/standalone', {
      name: 'a',
      protocol: 'MQTTS',
    });
    assert.equal(refused.status, 422);
    const { config } = await gateway.ok('OWNER', 'POST', '/v3/provisioning/standalone', { name: 'a' });
    assert.equal((config as Configuration).mqtt_protocol, 'MQTT');
  });

  test('the gateway with plain HTTP for the machine only serves others over TLS only', async (t) => {
    const environment = { GATEWAY_HTTP: 'false', GATEWAY_HTTP_HOST: '127.0.0.2' };
    const { ports, origin } = await startSecure(t, { environment });
    assert.equal((await fetch(`${origin}/healthz`, { headers: { Connection: 'close' } })).status, 200);
    await assert.rejects(fetch(`http://127.0.0.2:${ports.httpPort}/healthz`), TypeError);
    const options = { rejectUnauthorized: false, agent: false };
    const status = await new Promise((resolve, reject) => {
      get(`https://127.0.0.2:${ports.httpsPort}/healthz`, options, (response) =>
        resolve(response.resume().statusCode),
      ).on('error', reject);
    });
    assert.equal(status, 200);
  });

  test('the gateway answers over HTTPS clients that trust its authority, and does not give out its keys', async (t) => {
    const gateway = await startSecure(t);
    const { config } = await provision(gateway);
    const ca = config.mqtt_credentials.ca_chain;
    const url = `https://127.0.0.1:${gateway.ports.httpsPort}/v3/site`;
    const headers = { 'X-Service-Auth-Token': gateway.token('READONLY'), Connection: 'close' };
    const status = await new Promise((resolve, reject) => {
      get(url, { ca, headers }, (response) => resolve(response.resume().statusCode)).on('error', reject);
    });
    assert.equal(status, 200);
    const folder = join(gateway.dataDir, 'tls');
    assert.deepEqual(readdirSync(folder).sort(), ['authority.pem', 'devices.pem', 'web.pem']);
    for (const path of [folder, ...readdirSync(folder).map((name) => join(folder, name))])
      assert.equal(statSync(path).mode & 0o077, 0, path);
    assert.doesNotMatch(JSON.stringify(gateway.lines), /PRIVATE KEY/);
  });
});

describe('the certificate of the authority', () => {
  test('the certificate of the authority is public in both forms, and signs what the gateway serves with', async (t) => {
    const gateway = await startSecure(t);
    const [pem, crt] = await Promise.all(
      ['/ca.pem', '/ca.crt'].map((path) => gateway.request(null, 'GET', path)),
    );
    assert.ok(pem && crt);
    for (const [answer, type, name] of [
      [pem, 'application/x-pem-file', 'energy-gateway-ca.pem'],
      [crt, 'application/x-x509-ca-cert', 'energy-gateway-ca.crt'],
    ] as const) {
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('content-type'), type);
      assert.equal(answer.headers.get('content-disposition'), `attachment; filename="${name}"`);
    }
    const text = await pem.text();
    assert.doesNotMatch(text, /PRIVATE KEY/);
    assert.deepEqual(Buffer.from(await crt.arrayBuffer()), new X509Certificate(text).raw);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const url = `https://127.0.0.1:${gateway.ports.httpsPort}/healthz`;
      get(url, { ca: text }, (response) => resolve(response.resume().statusCode)).on('error', reject);
    });
    assert.equal(status, 200);
  });

  test('the certificate of the authority is absent while TLS is off, and the answer says why', async (t) => {
    const gateway = await startTestGateway(t);
    const answer = await gateway.call(null, 'GET', '/ca.pem');
    assert.equal(refusal(answer), '422 not_available_on_gateway');
  });
});
