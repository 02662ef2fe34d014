/** A target that wants the newest first after an outage, and is away again amid catching up. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, test, type TestContext } from 'node:test';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const DAY_S = 86_400;
/** Time of the test, which may run long after its file was read: values older than minutes count as history. */
let nowS = 0;
beforeEach(() => {
  nowS = Math.floor(Date.now() / 1_000);
});
/** What comes in an outage, from the oldest to the newest. */
const missed = () => [20, 10, 5].map((days) => ({ fromS: nowS - days * DAY_S, count: 24_000 }));

/** Takes line protocol, and remembers in which order. */
class Receiver {
  url = '';
  readonly values = new Map<number, number>();
  /** Seconds in the order of their arrival. */
  readonly seconds: number[] = [];
  /** So many lines are taken, then none. */
  room = Number.POSITIVE_INFINITY;

  async listen(t: TestContext): Promise<void> {
    const server = createServer((request, response) => {
      void this.#takes(request).then((isTaken) => response.writeHead(isTaken ? 204 : 503).end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.closeAllConnections());
    t.after(() => server.close());
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/write`;
  }

  async #takes(request: IncomingMessage): Promise<boolean> {
    const pieces: Buffer[] = [];
    for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
    if (this.seconds.length >= this.room) return false;
    for (const line of Buffer.concat(pieces).toString().trimEnd().split('\n')) {
      const [, value, second] = /battery_power=(\S+) (\d+)$/.exec(line) ?? [];
      this.values.set(Number(second), Number(value));
      this.seconds.push(Number(second));
    }
    return true;
  }
}

async function stateOf(gateway: TestGateway): Promise<string | undefined> {
  const { targets } = await gateway.ok('OWNER', 'GET', '/v3/targets');
  return (targets as { status: { state: string } }[])[0]?.status.state;
}

test('a target that wants the newest first misses nothing, and gets present samples before missed ones', async (t) => {
  const receiver = new Receiver();
  await receiver.listen(t);
  const gateway = await startTestGateway(t, { environment: { GATEWAY_TELEMETRY_OPEN_SAMPLES: '10000' } });
  const device = await gateway.provision('Battery');
  await device.connect();
  const expected = new Map<number, number>();
  const send = async (atS: number, value: number): Promise<void> => {
    expected.set(atS, value);
    await device.telemetry({ timestamp: atS, battery_power: value });
  };
  await gateway.ok('OWNER', 'POST', '/v3/targets', {
    name: 'engine',
    kind: 'INFLUXDB',
    influxdb: { url: receiver.url, compressed: false },
    selection: { attributes: ['battery_power'], backlog_order: 'NEWEST_FIRST' },
  });
  await send(nowS - 600, 1);
  await until(() => receiver.seconds.length === 1);

  receiver.room = 0;
  for (const { fromS, count } of missed()) {
    const seconds = Array.from({ length: count }, (_, index) => fromS + index);
    for (const second of seconds) expected.set(second, (second % 1_000) / 8);
    const rows = seconds.map((second) => `${second},${(second % 1_000) / 8}`).join('\n');
    const csv = `ts,telemetry=battery_power device=${device.id}\n${rows}\n`;
    await gateway.ok('OWNER', 'POST', '/v3/telemetry/import', csv, { 'Content-Type': 'text/csv' });
  }
  await send(nowS - 60, 2);
  await until(async () => (await stateOf(gateway)) === 'FAILING');

  // The gateway comes back, then the target, which is away again after a part of it.
  await gateway.restart();
  await until(async () => (await stateOf(gateway)) === 'FAILING');
  await device.connect();
  await send(nowS - 45, 4);
  // Room for the block of the backlog that was read while the store had not yet applied the value of now.
  receiver.room = 30_000;
  await until(() => receiver.seconds.length >= receiver.room);
  assert.ok(receiver.seconds.includes(nowS - 45), 'the value of now does not wait for the backlog');
  const ofOldest = receiver.seconds.filter((second) => second < nowS - 15 * DAY_S).length;
  assert.ok(ofOldest < 15_000, `${ofOldest} of the oldest, at most those that were read before`);
  await until(async () => (await stateOf(gateway)) === 'FAILING');
  await gateway.restart();
  await device.connect();
  await send(nowS - 30, 3);
  receiver.room = Number.POSITIVE_INFINITY;
  await until(() => receiver.values.size >= expected.size);
  await until(async () => (await stateOf(gateway)) === 'CURRENT');
  const inOrder = (values: ReadonlyMap<number, number>): [number, number][] =>
    [...values].toSorted(([a], [b]) => a - b);
  assert.deepEqual(inOrder(receiver.values), inOrder(expected));
});
