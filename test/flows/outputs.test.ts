/** Strategies that share a battery and a charger, in a whole gateway with the real sandbox: kills, restarts, a lost device. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { MockDevice } from '../support/mock-device.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { RULES, WITH_SANDBOX, withRules } from './rule-support.ts';

type Json = Record<string, unknown>;

interface Shown {
  id: string;
  is_held: boolean;
  holder?: string;
  limited_by: string[];
  command?: object;
  other_command?: { arguments: Json; by?: string };
}

const value = (device: string, attribute: string): Json => ({ device, attribute });
const mode = (device: string, name: string): Json => ({
  device,
  command: 'set_mode',
  arguments: { mode: name, reserve_percent: 20 },
});
const limit = (device: string): Json => ({ device, command: 'set_charge_limit', argument: 'limit_w' });

/** The last command that a device got, as its values. */
const last = ({ requests }: MockDevice): unknown[] => Object.values(requests.at(-1)?.arguments ?? {});

async function becomes(device: MockDevice, ...values: unknown[]): Promise<void> {
  await until(() => isDeepStrictEqual(last(device), values));
}

async function shown({ ok }: TestGateway, device: string): Promise<Shown> {
  const { outputs, total_count: count } = await ok('USER', 'GET', `/v3/site/outputs?device_id.in=${device}`);
  assert.equal(count, 1, 'all commands of a device are one output here');
  return (outputs as [Shown])[0];
}

const SITE: [strategy: string, slug: string, parameters: Json][] = [
  [
    'battery-reserve',
    'reserve',
    {
      battery_soc: value('battery', 'battery_soc'),
      hold: mode('battery', 'backup'),
      release: mode('battery', 'self_consumption'),
    },
  ],
  [
    'peak-limit',
    'peak',
    {
      meter: value('battery', 'grid_total_power'),
      limit_w: 10_000,
      // Without a margin the allowed power does not depend on how much of the quarter of an hour is left.
      margin: 0,
      battery: limit('battery'),
      release: mode('battery', 'self_consumption'),
    },
  ],
  [
    'surplus-charging',
    'car',
    {
      meter: value('charger', 'grid_total_power'),
      charger_power: value('charger', 'load_total_power'),
      current: limit('charger'),
      stop: mode('charger', 'backup'),
      start_hold_s: 0,
      interval_s: 1,
      max_a: 16,
    },
  ],
  [
    'grid-signal',
    'grid',
    {
      signal: value('charger', 'battery_soc'),
      loads: [{ power: limit('charger'), limit_w: 10, free_w: 100 }],
    },
  ],
];

test('strategies on one battery and one charger agree through kills, restarts, a lost device and their own end', async (t) => {
  const gateway = await startTestGateway(t, WITH_SANDBOX);
  const { call, ok } = gateway;
  const rules = withRules(gateway);
  const battery = await gateway.provision('Battery');
  const charger = await gateway.provision('Charger');
  const connect = async (device: MockDevice): Promise<void> => {
    await device.connect();
    device.obey();
  };
  const measure = async (gridW = 0, signal = 0): Promise<void> => {
    await battery.telemetry({ battery_soc: 10, grid_total_power: gridW });
    await charger.telemetry({ battery_soc: signal, grid_total_power: -9_000, load_total_power: 0 });
  };
  await connect(battery);
  await connect(charger);
  await measure();
  for (const [strategy, slug, parameters] of SITE)
    await ok('OWNER', 'POST', `/v3/library/strategies/${strategy}/rule`, { slug, parameters });

  await becomes(battery, 'backup', 20);
  await becomes(charger, 13);
  assert.equal((await shown(gateway, 'battery')).holder, 'reserve');
  await measure(14_000, 1);
  await until(() => Number(last(battery)[0]) >= 4_000);
  assert.equal((await shown(gateway, 'battery')).holder, 'peak');
  await becomes(charger, 10);
  const { holder, limited_by: limitedBy } = await shown(gateway, 'charger');
  assert.deepEqual([holder, limitedBy], ['car', ['grid']]);

  const counts = (): number[] => [battery, charger].map(({ requests }) => requests.length);
  await measure(0, 1);
  await becomes(battery, 'backup', 20);
  const before = counts();
  const pid = rules.sandboxPid();
  process.kill(pid, 'SIGKILL');
  await until(() => rules.sandboxPid() !== pid);
  for (const [, slug] of SITE) await rules.becomes(slug, 'STARTED');
  await measure(0, 1);
  assert.deepEqual(counts(), before, 'a restart of the sandbox sends nothing');

  await gateway.restart();
  await connect(battery);
  await connect(charger);
  for (const [, slug] of SITE) await rules.becomes(slug, 'STARTED');
  await measure(0, 1);
  for (const [device, slug] of [
    ['charger', 'car'],
    ['battery', 'reserve'],
  ] as const)
    await until(async () => {
      const { holder: holding, command } = await shown(gateway, device);
      return holding === slug && command !== undefined;
    });
  assert.deepEqual(
    [battery, charger].flatMap((device, index) =>
      device.requests.slice(before[index]).map((request) => Object.values(request.arguments)),
    ),
    [battery, charger].flatMap((device, index) =>
      device.requests.slice(before[index]).map(() => last(device)),
    ),
    'a restart of the gateway sends only what held before',
  );
  assert.deepEqual([last(battery), last(charger)], [['backup', 20], [10]]);

  await call('OWNER', 'POST', '/v3/devices/charger/execute_command', {
    name: 'set_charge_limit',
    arguments: { limit_w: 99 },
  });
  await becomes(charger, 99);
  await until(async () => (await shown(gateway, 'charger')).other_command !== undefined);

  await charger.leave();
  await ok('OWNER', 'POST', `${RULES}/grid/disable`);
  const sent = charger.requests.length;
  await connect(charger);
  await measure();
  await until(() => charger.requests.length > sent);
  await becomes(charger, 13);
  await ok('OWNER', 'DELETE', `${RULES}/car`);
  await becomes(charger, 'backup', 20);
  await until(async () => !(await shown(gateway, 'charger')).is_held);
  const { changes } = await ok(
    'READONLY',
    'GET',
    `/v3/site/outputs/${(await shown(gateway, 'charger')).id}/changes`,
  );
  assert.deepEqual(
    (changes as { source: string; by?: string }[]).slice(0, 3).map(({ source, by }) => [source, by]),
    [
      ['SAFE', 'car'],
      ['REQUEST', 'car'],
      ['OTHER', undefined],
    ],
  );
});
