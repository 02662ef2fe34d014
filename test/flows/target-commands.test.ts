/** Commands that come from a real broker: what is refused first, then what is carried out, through outages and restarts. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { MockDevice } from '../support/mock-device.ts';
import { BROKER_USER, type MosquittoBroker, startMosquitto } from '../support/mosquitto-broker.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { LIMITS } from '../../src/lib/limits.ts';

const LOGIN = { username: BROKER_USER.username, secret: BROKER_USER.password };
const REQUESTS = 'Depot/commands/requests';
const HOUR_MS = 3_600_000;

interface Answer {
  id?: string;
  execution?: { id: string; state: string };
  errors?: { code: string; message: string }[];
}

interface Site {
  gateway: TestGateway;
  broker: MosquittoBroker;
  device: MockDevice;
  /** A device that the target does not name. */
  other: MockDevice;
  answers: () => Answer[];
  /** Publishes a request for the device with a deadline in an hour, changed as given. */
  ask: (change: Record<string, unknown>) => Promise<void>;
  /** The last word about a request: a refusal, or the end of its execution. */
  endOf: (id: string) => Promise<Answer>;
}

const isEnd = ({ execution, errors }: Answer): boolean =>
  errors !== undefined || ['SUCCESS', 'ERROR', 'TIMEOUT'].includes(execution?.state ?? '');

const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();

async function statusOf(gateway: TestGateway): Promise<{ connected: boolean; executed: number } | undefined> {
  const { targets } = await gateway.ok('OWNER', 'GET', '/v3/targets');
  const [target] = targets as { status: { commands?: { connected: boolean; executed: number } } }[];
  return target?.status.commands;
}

async function site(t: TestContext, commands: Record<string, unknown> = {}): Promise<Site | undefined> {
  const broker = await startMosquitto(t);
  if (!broker) return undefined;
  const gateway = await startTestGateway(t);
  const [device, other] = [await gateway.provision('Battery'), await gateway.provision('Other')];
  for (const each of [device, other]) {
    await each.connect();
    each.obey();
  }
  const seen = await broker.watch('Depot/commands/responses');
  const answers = (): Answer[] => seen.map(({ payload }) => JSON.parse(payload) as Answer);
  await gateway.ok('OWNER', 'POST', '/v3/targets', {
    name: 'above',
    kind: 'MQTT',
    mqtt: { url: broker.url, ...LOGIN, commands: { devices: [device.id], ...commands } },
  });
  await until(async () => (await statusOf(gateway))?.connected === true);
  return {
    gateway,
    broker,
    device,
    other,
    answers,
    ask: (change) =>
      broker.publish(
        REQUESTS,
        JSON.stringify({
          id: 'r1',
          device_id: device.slug,
          name: 'set_mode',
          arguments: { mode: 'backup' },
          expires_at: inMs(HOUR_MS),
          ...change,
        }),
      ),
    endOf: async (id) => {
      const found = (): Answer | undefined => answers().find((answer) => answer.id === id && isEnd(answer));
      await until(() => found() !== undefined);
      return found() ?? {};
    },
  };
}

const codesOf = ({ errors }: Answer): string[] => (errors ?? []).map(({ code }) => code);

test('a target without permission for commands delivers none', async (t) => {
  const broker = await startMosquitto(t);
  if (!broker) return;
  const gateway = await startTestGateway(t);
  const { target } = await gateway.ok('OWNER', 'POST', '/v3/targets', {
    name: 'above',
    kind: 'MQTT',
    mqtt: { url: broker.url, ...LOGIN },
  });
  assert.equal((target as { mqtt: { commands: unknown } }).mqtt.commands, null);
  assert.equal(await statusOf(gateway), undefined);
});

test('a request that is not allowed is refused with a sentence, reaches no device and is recorded', async (t) => {
  const all = await site(t);
  if (!all) return;
  const { gateway, broker, device, other, answers, ask, endOf } = all;
  const rows: [id: string, change: Record<string, unknown>, code: string][] = [
    ['unknown-device', { device_id: 'nobody' }, 'device_not_found'],
    ['device-not-named', { device_id: other.slug }, 'device_not_found'],
    ['level-too-high', { name: 'reset_energy_counters', arguments: { pin: '1' } }, 'insufficient_role'],
    ['unknown-command', { name: 'explode' }, 'command_not_found'],
    ['wrong-argument', { arguments: { mode: 'party' } }, 'invalid_command_arguments'],
    ['late', { expires_at: inMs(-1) }, 'request_expired'],
    ['without-deadline', { expires_at: undefined }, 'invalid_body'],
    ['deadline-next-week', { expires_at: inMs(7 * 24 * HOUR_MS) }, 'invalid_body'],
  ];
  for (const [id, change, code] of rows) {
    await ask({ id, ...change });
    assert.deepEqual(codesOf(await endOf(id)), [code], id);
  }
  await broker.publish(REQUESTS, '{"id":');
  await until(() => answers().some(({ id }) => id === undefined));
  assert.deepEqual(codesOf(answers().at(-1) ?? {}), ['invalid_body']);
  assert.deepEqual([device.requests, other.requests], [[], []]);
  for (const { errors } of answers()) assert.match(errors?.[0]?.message ?? '', /\.$/);
  const recorded = async (): Promise<{ status: number }[]> => {
    const { entries } = await gateway.ok('OWNER', 'GET', '/v3/audit?origin=above');
    return entries as { status: number }[];
  };
  await until(async () => (await recorded()).length === rows.length + 1);
  assert.partialDeepStrictEqual(
    (await recorded()).find(({ status }) => status === 404),
    { origin: { kind: 'target', name: 'above' }, operation: 'execute_command' },
  );
});

test('a retained request is refused', async (t) => {
  const all = await site(t);
  if (!all) return;
  const { gateway, broker, device } = all;
  const kept = { id: 'kept', device_id: device.id, name: 'read_settings', expires_at: inMs(HOUR_MS) };
  await broker.publish('Other/commands/requests', JSON.stringify(kept), true);
  const answers = await broker.watch('Other/commands/responses');
  const { targets } = await gateway.ok('OWNER', 'GET', '/v3/targets');
  await gateway.ok('OWNER', 'PATCH', `/v3/targets/${(targets as { id: string }[])[0]?.id}`, {
    mqtt: { commands: { devices: [device.id], topic: 'Other/commands' } },
  });
  await until(() => answers.length > 0);
  assert.deepEqual(codesOf(JSON.parse(answers[0]?.payload ?? '{}') as Answer), ['request_retained']);
  assert.equal(device.requests.length, 0);
});

test('a request that comes twice is carried out once, and answered twice', async (t) => {
  const all = await site(t);
  if (!all) return;
  const { device, answers, ask, endOf } = all;
  await ask({ id: 'twice' });
  const { execution } = await endOf('twice');
  assert.equal(execution?.state, 'SUCCESS');
  await ask({ id: 'twice' });
  await until(() => answers().filter(isEnd).length === 2);
  assert.equal(answers().at(-1)?.execution?.id, execution.id);
  assert.equal(device.requests.length, 1);
});

test('requests beyond the agreed number are refused', async (t) => {
  const all = await site(t, { per_minute: 1 });
  if (!all) return;
  const { device, answers, ask } = all;
  const count = 14;
  for (let index = 0; index < count; index++)
    await ask({ id: `r${index}`, name: 'read_settings', arguments: {} });
  await until(
    () =>
      new Set(
        answers()
          .filter(isEnd)
          .map(({ id }) => id),
      ).size === count,
  );
  const refused = answers().filter((answer) => codesOf(answer).includes('too_many_requests'));
  assert.ok(refused.length > 0);
  assert.equal(device.requests.length, count - refused.length);
});

test('a known request is never reported as refused, however many there are', async (t) => {
  const all = await site(t, { per_minute: 1 });
  if (!all) return;
  const { device, answers, ask, endOf } = all;
  await ask({ id: 'known' });
  const { execution } = await endOf('known');
  const refused = (): Answer[] => answers().filter((answer) => codesOf(answer).includes('too_many_requests'));
  for (let index = 0; refused().length === 0; index++) {
    await ask({ id: `r${index}`, name: 'read_settings', arguments: {} });
    await endOf(`r${index}`);
  }
  await ask({ id: 'known' });
  const ends = (): Answer[] => answers().filter((answer) => answer.id === 'known' && isEnd(answer));
  await until(() => ends().length === 2);
  assert.equal(ends().at(-1)?.execution?.id, execution?.id);
  assert.equal(device.requests.filter(({ name }) => name === 'set_mode').length, 1);
});

test('the result of a request is reported although the target was changed meanwhile', async (t) => {
  const all = await site(t);
  if (!all) return;
  const { gateway, device, answers, ask, endOf } = all;
  device.onRequest = undefined;
  await ask({ id: 'long' });
  await until(() => answers().some(({ id }) => id === 'long'));
  const { targets } = await gateway.ok('OWNER', 'GET', '/v3/targets');
  const path = `/v3/targets/${(targets as { id: string }[])[0]?.id}`;
  await gateway.ok('OWNER', 'PATCH', path, { selection: { interval_s: 5 } });
  // Told once more as it is then.
  await until(() => answers().filter(({ id }) => id === 'long').length >= 2);
  const [request] = device.requests;
  assert.ok(request);
  await device.answer(request, 'completed', { result: {} });
  assert.equal((await endOf('long')).execution?.state, 'SUCCESS');
  assert.equal(answers().filter((answer) => answer.id === 'long' && isEnd(answer)).length, 1);
});

test('requests sent during an outage are carried out once afterwards, and none after its deadline', async (t) => {
  const all = await site(t);
  if (!all) return;
  const { gateway, broker, device, answers, ask, endOf } = all;
  await ask({ id: 'before' });
  assert.equal((await endOf('before')).execution?.state, 'SUCCESS');
  await gateway.stop();
  await ask({ id: 'in-time' });
  await ask({ id: 'before' });
  await ask({ id: 'late', expires_at: inMs(1) });
  broker.freeze();
  await gateway.start();
  await device.connect();
  broker.thaw();
  assert.deepEqual(codesOf(await endOf('late')), ['request_expired']);
  assert.equal((await endOf('in-time')).execution?.state, 'SUCCESS');
  await until(() => answers().filter((answer) => answer.id === 'before' && isEnd(answer)).length >= 2);
  assert.equal(device.requests.length, 2);
  await broker.kill();
  await until(async () => (await statusOf(gateway))?.connected === false);
  await broker.start();
  await until(async () => (await statusOf(gateway))?.connected === true);
  await ask({ id: 'after' });
  await until(() => device.requests.length === 3);
});

test('a request whose device was silent when the gateway ended has an end, and is not sent again', async (t) => {
  const all = await site(t);
  if (!all) return;
  const { gateway, device, answers, ask, endOf } = all;
  device.onRequest = undefined;
  await ask({ id: 'cut' });
  await until(() => device.requests.length === 1);
  await gateway.restart();
  await device.connect();
  assert.equal((await endOf('cut')).execution?.state, 'TIMEOUT');
  // An end whose delivery was in doubt may have come twice.
  const before = answers().filter(isEnd).length;
  await ask({ id: 'cut' });
  await until(() => answers().filter(isEnd).length > before);
  assert.equal(device.requests.length, 1);
});

test('a broker that can no longer deliver commands is an alert with the reason, and a metric', async (t) => {
  const all = await site(t);
  if (!all) return;
  const { gateway, broker } = all;
  const isUp = async (): Promise<string | undefined> => {
    const page = String((await gateway.call('READONLY', 'GET', '/metrics')).body);
    return /^gateway_target_commands_up\{target="above"\} (\d)$/m.exec(page)?.[1];
  };
  assert.equal(await isUp(), '1');
  await broker.kill();
  const raised = async (): Promise<string> => {
    const { alerts } = await gateway.ok('OWNER', 'GET', '/v3/alerts');
    const found = (alerts as { name: string }[]).filter(({ name }) => name === 'target_commands_failing');
    return JSON.stringify(found);
  };
  await until(async () => (await raised()).includes('above: Nothing listens at'));
  assert.equal(await isUp(), '0');
});

test('closing a target does not wait for a silent broker', async (t) => {
  const silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  t.after(() => silent.close());
  let connections = 0;
  silent.on('connection', (socket) => {
    connections++;
    t.after(() => socket.destroy());
  });
  const gateway = await startTestGateway(t);
  const device = await gateway.provision('Battery');
  await device.connect();
  const { target } = await gateway.ok('OWNER', 'POST', '/v3/targets', {
    name: 'silent',
    kind: 'MQTT',
    mqtt: {
      url: `mqtt://127.0.0.1:${(silent.address() as { port: number }).port}`,
      commands: { devices: [device.id] },
    },
  });
  await device.telemetry({ timestamp: Math.floor(Date.now() / 1_000), battery_power: 1 });
  await until(() => connections === 2);
  const startedMs = performance.now();
  await gateway.ok('OWNER', 'DELETE', `/v3/targets/${(target as { id: string }).id}`);
  // It would be the time limit of a connection otherwise.
  assert.ok(performance.now() - startedMs < LIMITS.targets.timeoutMs / 2);
});
