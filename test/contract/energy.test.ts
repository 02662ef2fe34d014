/** The energy of the site over HTTP. Denials first. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../support/until.ts';
import { refusal, useTestGateway } from '../support/test-gateway.ts';

const SOURCES = '/v3/site/energy/sources';
const TARIFFS = '/v3/site/energy/tariffs';
const gateway = useTestGateway({}, async (started) => {
  await started.provision('Battery');
});

describe('is refused', () => {
  for (const path of ['/v3/site/energy', '/v3/site/energy/now', SOURCES, TARIFFS])
    test(`energy is refused without a token: GET ${path}`, async () => {
      assert.equal(refusal(await gateway().call(null, 'GET', path)), '401 invalid_header');
    });

  test('a change of energy sources by a USER is refused', async () => {
    assert.equal(
      refusal(await gateway().call('USER', 'PATCH', SOURCES, { items: [] })),
      '403 insufficient_role',
    );
  });

  const source = { role: 'grid', device_id: 'battery', power: 'grid_total_power' };
  for (const [title, body, wanted] of [
    ['an unknown role', { items: [{ ...source, role: 'sun' }] }, '400 invalid_body'],
    ['an unknown device', { items: [{ ...source, device_id: 'nobody' }] }, '404 device_not_found'],
    ['an attribute that is not declared', { items: [{ ...source, power: 'nothing' }] }, '400 invalid_body'],
    ['an attribute that is no power', { items: [{ ...source, power: 'battery_soc' }] }, '400 invalid_body'],
    ['a text', { items: [{ ...source, power: 'status' }] }, '400 invalid_body'],
    ['neither power nor counter', { items: [{ ...source, power: null }] }, '400 invalid_body'],
    ['a gap of a second', { gap_after_s: 1 }, '400 invalid_body'],
    ['a power that every house exceeds', { power_max_w: 10 }, '400 invalid_body'],
    ['a largest power of a source of zero', { items: [{ ...source, power_max_w: 0 }] }, '400 invalid_body'],
    ['a source that is a list', { items: [[]] }, '400 invalid_body'],
    ['more than anybody has', { items: Array.from({ length: 33 }, () => source) }, '400 invalid_body'],
  ] as const)
    test(`energy sources are refused: ${title}, and nothing is changed`, async () => {
      const before = await gateway().ok('OWNER', 'GET', SOURCES);
      assert.equal(refusal(await gateway().call('OWNER', 'PATCH', SOURCES, body)), wanted);
      assert.deepEqual(await gateway().ok('OWNER', 'GET', SOURCES), before);
    });

  test('a change of tariffs by a USER is refused', async () => {
    assert.equal(
      refusal(await gateway().call('USER', 'PATCH', TARIFFS, { items: [] })),
      '403 insufficient_role',
    );
  });

  const fixed = { kind: 'FIXED', price: 0.3 };
  const tariff = { valid_from: '2026-01-01', import_price: fixed };
  const withPrice = (price: object): object => ({
    currency: 'EUR',
    items: [{ ...tariff, import_price: price }],
  });
  const ofDevice = { kind: 'DEVICE', device_id: 'battery', attribute: 'battery_soc' };
  const lowAt = (times: string): object => ({
    kind: 'TWO_RATE',
    price: 0.3,
    low_price: 0.2,
    low_times: times,
  });
  for (const [title, body, wanted] of [
    ['a first tariff without a currency', { items: [tariff] }, '400 invalid_body'],
    ['a currency that is none', { currency: 'Euro', items: [tariff] }, '400 invalid_body'],
    ['an unknown kind of price', withPrice({ kind: 'FREE' }), '400 invalid_body'],
    ['a fixed price without a price', withPrice({ kind: 'FIXED' }), '400 invalid_body'],
    [
      'two rates with one price',
      withPrice({ kind: 'TWO_RATE', price: 0.3 }),
      '400 invalid_body invalid_body',
    ],
    ['two rates at no times', withPrice(lowAt('at night')), '400 invalid_body'],
    ['a price that is a text', withPrice({ kind: 'FIXED', price: '0,30' }), '400 invalid_body'],
    ['a price of an unknown device', withPrice({ ...ofDevice, device_id: 'nobody' }), '404 device_not_found'],
    ['a price that nobody declares', withPrice({ ...ofDevice, attribute: 'nothing' }), '400 invalid_body'],
    ['a price that is no number', withPrice({ ...ofDevice, attribute: 'status' }), '400 invalid_body'],
    [
      'a day that is not in the calendar',
      { currency: 'EUR', items: [{ ...tariff, valid_from: '2026-02-30' }] },
      '400 invalid_body',
    ],
    [
      'a moment in place of a day',
      { currency: 'EUR', items: [{ ...tariff, valid_from: '2026-02-03T00:00:00Z' }] },
      '400 invalid_body',
    ],
    ['two tariffs from one day on', { currency: 'EUR', items: [tariff, tariff] }, '400 invalid_body'],
    [
      'VAT of more than all',
      { currency: 'EUR', items: [{ ...tariff, vat_percent: 101 }] },
      '400 invalid_body',
    ],
    [
      'more tariffs than anybody had',
      { currency: 'EUR', items: Array.from({ length: 101 }, () => tariff) },
      '400 invalid_body',
    ],
  ] as const)
    test(`tariffs are refused: ${title}, and nothing is changed`, async () => {
      const before = await gateway().ok('OWNER', 'GET', TARIFFS);
      assert.equal(refusal(await gateway().call('OWNER', 'PATCH', TARIFFS, body)), wanted);
      assert.deepEqual(await gateway().ok('OWNER', 'GET', TARIFFS), before);
    });

  for (const [title, query, wanted] of [
    ['an end before the beginning', 'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', '400 invalid_query'],
    [
      'hours of a year',
      'from=2025-01-01T00:00:00Z&to=2026-01-01T00:00:00Z&granularity=hour',
      '422 query_too_large',
    ],
    ['weeks', 'granularity=week', '400 invalid_query'],
  ] as const)
    test(title, async () => {
      assert.equal(refusal(await gateway().call('READONLY', 'GET', `/v3/site/energy?${query}`)), wanted);
    });
});

describe('sources', () => {
  const rolesOf = async (): Promise<string[]> => {
    const { energy_sources: sources } = await gateway().ok('READONLY', 'GET', SOURCES);
    return (sources as { items: { role: string; power: string; profile: string | null }[] }).items.map(
      ({ role, power, profile }) => `${role} ${power} ${profile ?? 'owner'}`,
    );
  };

  test('sources follow the profiles of the devices until an owner chooses them, role by role', async () => {
    const profile = 'energy.hybrid_inverter.1_phase';
    assert.deepEqual(await rolesOf(), [
      `pv pv_total_power ${profile}`,
      `battery battery_power ${profile}`,
      `grid grid_total_power ${profile}`,
      `load load_total_power ${profile}`,
    ]);
    await gateway().ok('OWNER', 'PATCH', SOURCES, {
      gap_after_s: 600,
      items: [{ role: 'grid', device_id: 'battery', power: 'ac_total_power', is_inverted: true }],
    });
    await gateway().restart();
    assert.deepEqual(await rolesOf(), [
      'grid ac_total_power owner',
      `pv pv_total_power ${profile}`,
      `battery battery_power ${profile}`,
      `load load_total_power ${profile}`,
    ]);
    await gateway().ok('OWNER', 'PATCH', SOURCES, { items: [], gap_after_s: 300 });
    assert.equal((await rolesOf()).length, 4);
  });

  test('sources have one grid, whatever devices declare, and two where the owner chooses two', async () => {
    const second = await gateway().provision('Second');
    const { device } = await gateway().ok('READONLY', 'GET', '/v3/devices/battery');
    const { id: firstId } = device as { id: string };
    type Answer = { items: { role: string; device_id: string }[]; not_counted: object[] };
    const grids = (answer: Record<string, unknown>): [string[], object[]] => {
      const { items, not_counted: others } = answer['energy_sources'] as Answer;
      return [items.filter(({ role }) => role === 'grid').map(({ device_id: id }) => id), others];
    };
    assert.deepEqual(grids(await gateway().ok('READONLY', 'GET', SOURCES)), [
      [firstId],
      [{ role: 'grid', device_id: second.id, counted_device_id: firstId }],
    ]);
    const items = [firstId, second.id].map((id) => ({
      role: 'grid',
      device_id: id,
      power: 'grid_total_power',
    }));
    assert.deepEqual(grids(await gateway().ok('OWNER', 'PATCH', SOURCES, { items })), [
      [firstId, second.id],
      [],
    ]);
    await gateway().ok('OWNER', 'PATCH', SOURCES, { items: [] });
    await gateway().ok('OWNER', 'DELETE', `/v3/devices/${second.id}`);
  });
});

describe('tariffs', () => {
  test('tariffs are kept in the order of their days over a restart, and stay when their device is deleted', async () => {
    const device = await gateway().provision('Meter');
    const none = { low_price: null, low_times: null, device_id: null, attribute: null };
    const fixed = { kind: 'FIXED', price: 0.3, ...none, surcharge_per_kwh: 0 };
    const now = {
      valid_from: '2026-07-01',
      import_price: {
        ...fixed,
        kind: 'DEVICE',
        price: null,
        device_id: device.id,
        attribute: 'battery_soc',
        surcharge_per_kwh: 0.18,
      },
      export_price: fixed,
      vat_percent: 19,
      standing_charge_per_day: 0,
      standing_charge_per_month: 9.9,
    };
    const old = {
      valid_from: '2025-01-01',
      import_price: fixed,
      export_price: null,
      vat_percent: 0,
      standing_charge_per_day: 0,
      standing_charge_per_month: 0,
    };
    const items = [now, { valid_from: old.valid_from, import_price: { kind: 'FIXED', price: 0.3 } }];
    await gateway().ok('OWNER', 'PATCH', TARIFFS, { currency: 'CHF', items });
    await gateway().restart();
    const expected = { energy_tariffs: { currency: 'CHF', items: [old, now] } };
    assert.deepEqual(await gateway().ok('READONLY', 'GET', TARIFFS), expected);
    await gateway().ok('OWNER', 'DELETE', `/v3/devices/${device.id}`);
    assert.deepEqual(await gateway().ok('OWNER', 'PATCH', TARIFFS, { items: [now, old] }), expected);
    await gateway().ok('OWNER', 'PATCH', TARIFFS, { items: [] });
  });
});

describe('a value that nothing at the site can have', () => {
  test("an impossible value stays in the telemetry, is left out of flows and books, and is named in the device's log", async (t) => {
    const device = await gateway().provision('Meter');
    await device.connect();
    t.after(() => gateway().ok('OWNER', 'DELETE', `/v3/devices/${device.id}`));
    t.after(() => gateway().ok('OWNER', 'PATCH', SOURCES, { items: [], power_max_w: 10_000_000 }));
    const items = [
      {
        role: 'pv',
        device_id: device.id,
        power: 'pv_total_power',
        energy_forward: 'pv_energy_lifetime',
        state_of_charge: 'battery_soc',
      },
    ];
    const { energy_sources: sources } = await gateway().ok('OWNER', 'PATCH', SOURCES, {
      items,
      power_max_w: 20_000,
    });
    assert.equal((sources as { power_max_w: number }).power_max_w, 20_000);
    const atS = Math.floor(Date.now() / 1_000);
    await device.telemetry({ timestamp: atS - 60, pv_total_power: 1_000, pv_energy_lifetime: 9_000_000 });
    await device.telemetry({
      timestamp: atS - 30,
      pv_total_power: 2_147_483_648,
      pv_energy_lifetime: 4_294_967_295,
      battery_soc: 6_553.5,
    });
    const { power } = await gateway().ok('READONLY', 'GET', '/v3/site/energy/now');
    const { roles } = power as { roles: { role: string; power_w: number | null; reason: string | null }[] };
    assert.deepEqual(
      roles.filter(({ role }) => role === 'pv').map(({ power_w: powerW, reason }) => [powerW, reason]),
      [[null, 'implausible']],
    );
    await device.telemetry({ timestamp: atS - 1, pv_total_power: 1_000, pv_energy_lifetime: 9_000_010 });
    const from = new Date((atS - 3_600) * 1_000).toISOString();
    const { energy } = await gateway().ok('READONLY', 'GET', `/v3/site/energy?from=${from}`);
    const { total } = energy as {
      total: { sources_wh: { pv: number }; implausible: { pv: number } };
    };
    assert.ok(total.sources_wh.pv < 20, String(total.sources_wh.pv));
    assert.ok(total.implausible.pv >= 1);
    const latest = await gateway().ok(
      'OWNER',
      'GET',
      `/v3/telemetry/latest?devices[${device.id}]=battery_soc&relevance_interval=1h`,
    );
    assert.match(JSON.stringify(latest), /6553\.5/);
    const messages = async (): Promise<string[]> => {
      const { logs } = await gateway().ok('OWNER', 'GET', `/v3/devices/${device.id}/logs`);
      return (logs as { message: string }[]).map(({ message }) => message.split(':')[0] ?? '');
    };
    await until(async () => (await messages()).length === 3);
    assert.deepEqual((await messages()).toSorted(), [
      'Telemetry "battery_soc"',
      'Telemetry "pv_energy_lifetime"',
      'Telemetry "pv_total_power"',
    ]);
  });

  /** Power of each role that a device measures, as the site has it now. */
  const powersNow = async (): Promise<Record<string, number | string | null>> => {
    const { power } = await gateway().ok('READONLY', 'GET', '/v3/site/energy/now');
    const { roles } = power as { roles: { role: string; power_w: number | null; reason: string | null }[] };
    return Object.fromEntries(roles.map(({ role, power_w: powerW, reason }) => [role, powerW ?? reason]));
  };

  test('an impossible value is judged by the largest power of its own source where that is known', async (t) => {
    const device = await gateway().provision('Charger');
    await device.connect();
    t.after(() => gateway().ok('OWNER', 'DELETE', `/v3/devices/${device.id}`));
    t.after(() => gateway().ok('OWNER', 'PATCH', SOURCES, { items: [] }));
    const item = { role: 'ev_charger', device_id: device.id, power: 'load_total_power' };
    const patch = (powerMaxW: number | null) =>
      gateway().ok('OWNER', 'PATCH', SOURCES, { items: [{ ...item, power_max_w: powerMaxW }] });
    const { energy_sources: sources } = await patch(22_000);
    assert.equal((sources as { items: { power_max_w: number }[] }).items[0]?.power_max_w, 22_000);
    await device.telemetry({ load_total_power: 32_767 });
    assert.equal((await powersNow())['ev_charger'], 'implausible');
    await device.telemetry({ load_total_power: 11_000 });
    assert.equal((await powersNow())['ev_charger'], 11_000);
    await patch(null);
    await device.telemetry({ load_total_power: 32_767 });
    assert.equal((await powersNow())['ev_charger'], 32_767);
  });

  test('an impossible value through an inverter is judged by the nameplate that it reports', async (t) => {
    const device = await gateway().provision('Inverter');
    await device.connect();
    t.after(() => gateway().ok('OWNER', 'DELETE', `/v3/devices/${device.id}`));
    t.after(() => gateway().ok('OWNER', 'PATCH', SOURCES, { items: [] }));
    const grid = { role: 'grid', device_id: device.id, power: 'grid_total_power' };
    await gateway().ok('OWNER', 'PATCH', SOURCES, { items: [grid] });
    const powers = { pv_total_power: 32_767, battery_power: -32_768, grid_total_power: 32_767 };
    await device.telemetry({ ...powers, load_total_power: 32_767 });
    assert.deepEqual(await powersNow(), { pv: 32_767, battery: -32_768, grid: 32_767, load: 32_767 });
    await device.properties({ inverter_nameplate_capacity: 5_000 });
    assert.deepEqual(await powersNow(), {
      pv: 'implausible',
      battery: 'implausible',
      grid: 32_767,
      load: 32_767,
    });
  });
});

describe('now', () => {
  interface Role {
    role: string;
    power_w: number | null;
    reason: string | null;
    state_of_charge_percent: number | null;
  }
  const now = async () => {
    const { power } = await gateway().ok('READONLY', 'GET', '/v3/site/energy/now');
    return power as { is_complete: boolean; roles: Role[]; flows_w: Record<string, Record<string, number>> };
  };

  test('the flows of now are shown, with the reason for each that is unknown', async (t) => {
    assert.deepEqual(
      (await now()).roles.map(({ role, power_w: powerW, reason }) => [role, powerW, reason]),
      ['pv', 'battery', 'grid', 'load'].map((role) => [role, null, 'no_value']),
    );
    const device = await gateway().provision('Roof');
    await device.connect();
    t.after(() => gateway().ok('OWNER', 'DELETE', `/v3/devices/${device.id}`));
    await gateway().ok('OWNER', 'PATCH', SOURCES, {
      items: [
        { role: 'pv', device_id: device.id, power: 'pv_total_power' },
        { role: 'battery', device_id: device.id, power: 'battery_power', state_of_charge: 'battery_soc' },
        { role: 'grid', device_id: device.id, power: 'grid_total_power' },
        { role: 'load', device_id: device.id, power: 'load_total_power' },
      ],
    });
    const atS = Math.floor(Date.now() / 1_000);
    const values = {
      pv_total_power: 3_000,
      battery_power: -1_000,
      battery_soc: 64.5,
      grid_total_power: -500,
    };
    await device.telemetry({ timestamp: atS, ...values });
    await device.telemetry({ timestamp: atS - 3_600, load_total_power: 1_500 });
    const { is_complete: isComplete, roles, flows_w: flows } = await now();
    assert.equal(isComplete, false);
    assert.deepEqual(
      roles.map(({ role, power_w: powerW, reason }) => [role, powerW, reason]),
      [
        ['pv', 3_000, null],
        ['battery', -1_000, null],
        ['grid', -500, null],
        ['load', null, 'stale'],
      ],
    );
    assert.equal(roles[1]?.state_of_charge_percent, 64.5);
    assert.deepEqual(
      [flows['pv']?.['load'], flows['pv']?.['battery'], flows['pv']?.['grid']],
      [1_500, 1_000, 500],
    );
  });

  test('the flows of now have none of a device known to be OFFLINE, however new its values are', async (t) => {
    const device = await gateway().provision('Shed');
    t.after(() => gateway().ok('OWNER', 'DELETE', `/v3/devices/${device.id}`));
    await device.connect();
    await gateway().ok('OWNER', 'PATCH', SOURCES, {
      items: [{ role: 'pv', device_id: device.id, power: 'pv_total_power' }],
    });
    await device.telemetry({ pv_total_power: 2_000 });
    const pv = async () => (await now()).roles.find(({ role }) => role === 'pv');
    assert.equal((await pv())?.power_w, 2_000);
    await device.leave();
    await until(async () => (await pv())?.reason === 'stale');
    assert.equal((await pv())?.power_w, null);
  });
});
