/** Ending the real program in order. What a kill leaves is a matter of the fault check. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import mqtt from 'mqtt';
import { WebSocket } from 'ws';
import { connected } from '../support/mqtt.ts';
import { until } from '../support/until.ts';
import { startHealthy, usedHome, WITH_CHILD_PROGRAMS } from './support.ts';

describe('SIGTERM ends the gateway within 10 s and with 0', () => {
  test('SIGTERM ends the gateway within 10 s and with 0 while clients are connected, wait or do not read', async (t) => {
    const home = await usedHome(t);
    const { gateway, call, tokens } = await startHealthy(t, home);
    const { body } = await call('POST', '/v3/provisioning/standalone', { name: 'Deaf', protocol: 'MQTT' });
    const { device_id: id, config } = body as {
      device_id: string;
      config: { hardware_id: string; mqtt_credentials: { username: string; password: string } };
    };
    const { blueprint } = (await call('GET', '/v3/blueprints/enapter/battery-inverter/latest')).body as {
      blueprint: { id: string };
    };
    await call('POST', `/v3/devices/${id}/assign_blueprint`, { blueprint_id: blueprint.id });
    const client = mqtt.connect({
      port: home.mqttPort,
      host: '127.0.0.1',
      reconnectPeriod: 0,
      ...config.mqtt_credentials,
    });
    t.after(() => client.end(true));
    await connected(client);
    await client.subscribeAsync(`v1/to/${config.hardware_id}/ucm/v1/command/requests`, { qos: 1 });
    // A command that nobody answers, a stream, a request that never ends, a connection that says nothing.
    const waiting = call('POST', `/v3/devices/${id}/execute_command`, { name: 'start' });
    const url = `${home.baseUrl.replace('http', 'ws')}/v3/devices`;
    const socket = new WebSocket(url, { headers: { 'X-Service-Auth-Token': tokens.OWNER } });
    const closed = new Promise<number>((resolve) => void socket.on('close', (code) => resolve(code)));
    await new Promise((resolve) => void socket.on('open', resolve));
    const { port } = new URL(home.baseUrl);
    const halves = ['', 'POST /v3/site HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{'].map((text) => {
      const half = connect(Number(port), '127.0.0.1');
      half.on('error', (error) => t.diagnostic(error.message));
      half.write(text);
      return half;
    });
    t.after(() => halves.forEach((half) => half.destroy()));
    await client.publishAsync(`v1/from/${config.hardware_id}/ucm/v1/telemetry`, '{"battery_soc":1}', {
      qos: 1,
    });

    const { code, tookMs } = await gateway.end('SIGTERM');
    assert.equal(code, 0);
    assert.ok(tookMs < 10_000, `${tookMs} ms`);
    assert.equal(await closed, 1001);
    const { status, body: answer } = await waiting;
    assert.equal(status, 200);
    const { execution } = answer as { execution: { id: string; state: string; response: { state: string } } };
    assert.equal(execution.state, 'TIMEOUT');
    assert.equal(execution.response.state, 'ERROR');
    const again = await startHealthy(t, home, WITH_CHILD_PROGRAMS);
    const stored = await again.call('GET', `/v3/devices/${id}/commands/executions/${execution.id}`);
    assert.deepEqual(stored.body, answer);
    // Now nothing is going on.
    const idle = await again.gateway.end('SIGTERM');
    assert.equal(idle.code, 0);
    assert.ok(idle.tookMs < 10_000, `${idle.tookMs} ms`);
  });

  test('SIGTERM ends the gateway within 10 s and with 0 while its child programs are stopped, and leaves none of them', async (t) => {
    const home = await usedHome(t);
    const { gateway, call } = await startHealthy(t, home, WITH_CHILD_PROGRAMS);
    const code = Buffer.from('scheduler.add(1000, print)').toString('base64');
    const rule = { slug: 'busy', script: { runtime_version: 'V3', code } };
    assert.equal((await call('POST', '/v3/site/rule_engine/rules', rule)).status, 200);
    await until(() => childrenOf(gateway.pid).length > 0);
    const children = childrenOf(gateway.pid);
    for (const child of children) process.kill(child, 'SIGSTOP');
    const ended = await gateway.end('SIGTERM');
    assert.equal(ended.code, 0);
    assert.ok(ended.tookMs < 10_000, `${ended.tookMs} ms`);
    assert.deepEqual(
      children.filter((child) => existsSync(`/proc/${child}`)),
      [],
    );
  });
});

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim().split(' '))
    .filter((child) => child !== '')
    .map(Number);
}
