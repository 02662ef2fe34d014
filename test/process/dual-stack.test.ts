/** One listener for both families of addresses: GATEWAY_HTTP_HOST and GATEWAY_MQTT_HOST as `::`. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { describe, test } from 'node:test';
import mqtt from 'mqtt';
import { createTokens } from '../../scripts/support/gateway-process.ts';
import { connected } from '../support/mqtt.ts';
import { until } from '../support/until.ts';
import { runToEnd, startHealthy, temporaryHome, usedHome, WITH_CHILD_PROGRAMS } from './support.ts';

const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
);
const withoutIpv6 = !hasIpv6 && 'this machine has no IPv6';
const BOTH = { GATEWAY_HTTP_HOST: '::', GATEWAY_MQTT_HOST: '::' };

interface Provisioned {
  config: {
    mqtt_host: string;
    hardware_id: string;
    mqtt_credentials: { username: string; password: string };
  };
}

describe('a gateway that listens on ::', { skip: withoutIpv6 }, () => {
  test('a gateway that listens on :: serves IPv6 and IPv4, each address by its own name, and its pages by one in brackets', async (t) => {
    const home = await usedHome(t);
    // The program beside it reaches the broker, and so does the local command that makes the token.
    const { call } = await startHealthy(t, home, { ...BOTH, ...WITH_CHILD_PROGRAMS });
    const [token = ''] = await createTokens(home, 'OWNER', 1);
    const port = new URL(home.baseUrl).port;
    const ask = (
      host: string,
      method: string,
      path: string,
      headers: Record<string, string>,
      body?: string,
    ) => fetch(`http://${host}:${port}${path}`, { method, headers, ...(body !== undefined && { body }) });
    for (const host of ['[::1]', '127.0.0.1'])
      assert.equal((await ask(host, 'GET', '/healthz', {})).status, 200, host);

    const headers = { 'X-Service-Auth-Token': token, 'Content-Type': 'application/json' };
    const order = JSON.stringify({ name: 'Battery', protocol: 'MQTT' });
    const answer = await ask('[::1]', 'POST', '/v3/provisioning/standalone', headers, order);
    const { config } = (await answer.json()) as Provisioned;
    assert.equal(config.mqtt_host, '::1');
    for (const host of ['::1', '127.0.0.1']) {
      const client = mqtt.connect({
        host,
        port: home.mqttPort,
        reconnectPeriod: 0,
        ...config.mqtt_credentials,
      });
      t.after(() => client.end(true));
      await connected(client);
      await client.endAsync();
      const wrong = mqtt.connect({
        host,
        port: home.mqttPort,
        reconnectPeriod: 0,
        username: `W${host}`,
        password: 'x',
      });
      t.after(() => wrong.end(true));
      await assert.rejects(connected(wrong));
    }
    for (const host of ['[::1]', '127.0.0.1'])
      await ask(host, 'PATCH', '/v3/site', headers, JSON.stringify({ name: `Seen from ${host}` }));
    const addresses = async (): Promise<string[]> => {
      const { body } = await call('GET', '/v3/audit');
      const { entries } = body as { entries: { operation: string; remote_address?: string }[] };
      return entries
        .filter(({ operation }) => operation === 'update_site')
        .map((entry) => entry.remote_address ?? 'unknown');
    };
    await until(async () => (await addresses()).length === 2);
    assert.deepEqual(await addresses(), ['127.0.0.1', '::1']);
    const log = readFileSync(home.logFile, 'utf8');
    assert.match(log, /"remote_address":"127\.0\.0\.1"/);
    assert.match(log, /"remote_address":"::1"/);
    assert.doesNotMatch(log, /::ffff:/);

    const base = `http://[::1]:${port}`;
    const logout = async (origin: string): Promise<number> => {
      const form = {
        ...headers,
        Origin: origin,
        'Content-Type': 'application/x-www-form-urlencoded',
      };
      return (await ask('[::1]', 'POST', '/v3/auth/logout', form, 'a=b')).status;
    };
    assert.equal(await logout(base), 200);
    assert.equal(await logout(base.replace('::1', '::2')), 403);
  });

  test('a gateway that listens on :: prints addresses that can be opened', async (t) => {
    const home = await usedHome(t);
    await startHealthy(t, home, { ...BOTH, GATEWAY_LOG_FORMAT: 'text', GATEWAY_PUBLIC_HOST: 'fd00::7' });
    const printed = (): string => readFileSync(home.logFile, 'utf8');
    await until(() => printed().includes('Claim code'));
    const port = new URL(home.baseUrl).port;
    assert.ok(
      printed().includes(
        `Console  http://[fd00::7]:${port}/\n           https://[fd00::7]:${home.httpsPort}/`,
      ),
    );
    assert.ok(printed().includes(`API      http://[fd00::7]:${port}/v3\n`));
  });
});

test('a gateway names the option of an address that no network of the machine has', async (t) => {
  const home = await temporaryHome(t);
  const { code, stdout } = await runToEnd(home, { GATEWAY_MQTT_HOST: '192.0.2.7' });
  assert.equal(code, 1);
  assert.match(stdout, /GATEWAY_MQTT_HOST is 192\.0\.2\.7, which no network of this machine has now/);
});
