/** Messages to a broker that takes the first of them, acknowledges none, and ends. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { TargetFailure, type MqttSettings } from '../../../src/capabilities/targets/model.ts';
import { MqttSink } from '../../../src/capabilities/targets/mqtt/mqtt-sink.ts';
import { createSystemClock, nextTurn } from '../../../src/platform/clock/index.ts';
import { MqttClient, MqttFailure } from '../../../src/platform/mqtt-client/index.ts';

const CONNACK = Buffer.of(0x20, 2, 0, 0);
const SETTINGS: MqttSettings = {
  kind: 'MQTT',
  url: '',
  clientId: '',
  username: null,
  caPem: null,
  certificatePem: null,
  form: 'PLAIN',
  topic: '{attribute}',
  payload: '{value}',
  isRetained: false,
  discoveryPrefix: 'homeassistant',
};

const refusesAll = (): never => {
  throw new Error('nobody asks for devices');
};

test('a broker that ends while a message waits causes a failure, and no more than that', async (t) => {
  const clock = createSystemClock();
  let connection: Socket | undefined;
  const broker = createServer((socket) => {
    connection = socket;
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(CONNACK));
  });
  await new Promise<void>((resolve) => broker.listen(0, '127.0.0.1', resolve));
  const { port } = broker.address() as { port: number };
  const client = new MqttClient({
    clock,
    url: new URL(`mqtt://127.0.0.1:${port}`),
    clientId: '',
    timeoutMs: 60_000,
  });
  const sink = new MqttSink({
    settings: SETTINGS,
    client,
    site: () => ({ name: 'Depot' }),
    devices: {
      get: refusesAll,
      all: refusesAll,
      manifest: refusesAll,
      connectivity: refusesAll,
      events: { on: refusesAll } as never,
    },
    telemetry: { latest: refusesAll },
    includes: () => true,
    currentToS: () => 60,
    inFlightMax: 10,
    retained: new Map(),
  });
  t.after(() => {
    sink.close();
    clock.close();
    broker.close();
  });
  const second = Promise.withResolvers<void>();
  const waits = Promise.withResolvers<void>();
  let asked = 0;
  const sent = sink.send(
    [
      {
        deviceId: 'id',
        attribute: 'power',
        type: 'float',
        times: Uint32Array.of(1, 2),
        numbers: Float64Array.of(1, 2),
        integers: undefined,
        texts: [],
        labels: { site: 'Depot', device: 'meter', blueprint: 'Meter', profile: undefined },
      },
    ],
    async () => {
      if (asked++ === 0) return;
      waits.resolve();
      await second.promise;
    },
  );
  // It is looked at below.
  sent.catch(() => undefined);
  await waits.promise;
  const beside = client.publish({ topic: 'beside', payload: '', isRetained: false });
  await once(connection as Socket, 'data');
  connection?.destroy();
  // It fails with the same connection as the first message of the target.
  await assert.rejects(beside, MqttFailure);
  // A rejection that nobody handles ends the process after this turn.
  await nextTurn();
  second.resolve();
  await assert.rejects(sent, TargetFailure);
});
