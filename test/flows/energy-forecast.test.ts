/** What is expected of today and tomorrow (docs/interface/http.md#energy), against values that are known. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { manifestWith, zipOf } from '../capabilities/blueprints/support.ts';
import { useTestGateway } from '../support/test-gateway.ts';

const DAY_S = 86_400;
const STEP_S = 60;
const QUARTER_S = 900;
const SUN_W = 2_000;
const SCHEDULES = `telemetry:
  forecast_power:
    type: float
    display_name: Forecast Power
    unit: kW
  forecast_power_schedule:
    type: json
    json_schema: '{}'
    display_name: Forecast Power Schedule
  energy_price:
    type: float
    display_name: Energy Price
  energy_price_schedule:
    type: json
    json_schema: '{}'
    display_name: Energy Price Schedule
`;

interface Hour {
  from: string;
  pv_wh: number | null;
  load_wh: number | null;
  import_price: number | null;
  measured_pv_wh: number | null;
  measured_load_wh: number | null;
}
interface Forecast {
  timezone: string;
  currency: string | null;
  days: (Hour & { hours: Hour[] })[];
}

describe('the forecast of the energy', () => {
  const gateway = useTestGateway({}, async (started) => {
    await started.provision('Battery');
    const items = [{ role: 'load', device_id: 'battery', power: 'load_total_power' }];
    await started.ok('OWNER', 'PATCH', '/v3/site/energy/sources', { items, gap_after_s: 300 });
  });
  const midnightS = Math.floor(Date.now() / 1_000 / DAY_S) * DAY_S;

  const forecast = async (): Promise<Forecast> =>
    (await gateway().ok('READONLY', 'GET', '/v3/site/energy/forecast'))['energy_forecast'] as Forecast;

  /** As a CSV of the house, a constant power all day. */
  async function importDay(fromS: number, powerW: number): Promise<void> {
    const rows = Array.from({ length: DAY_S / STEP_S }, (_, index) => `${fromS + index * STEP_S},${powerW}`);
    const csv = `ts,telemetry=load_total_power device=battery\n${rows.join('\n')}\n`;
    await gateway().ok('OWNER', 'POST', '/v3/telemetry/import', csv, { 'Content-Type': 'text/csv' });
  }

  /** Values of the last minute of a day are connected with the first one of the next. */
  const isAbout = (shown: number | null | undefined, wantedWh: number): boolean =>
    Math.abs((shown ?? 0) - wantedWh) < 20;

  test('the forecast of the energy is empty for a site without history, forecast and tariff', async () => {
    const { timezone, currency, days } = await forecast();
    assert.deepEqual([timezone, currency, days.length], ['UTC', null, 2]);
    for (const { hours, from, pv_wh: sunWh, load_wh: loadWh, import_price: price } of days) {
      assert.equal(hours.length, 24);
      assert.equal(hours[0]?.from, from);
      assert.deepEqual([sunWh, loadWh, price], [null, null, null]);
    }
    assert.equal(days[0]?.from, new Date(midnightS * 1_000).toISOString());
  });

  test('the forecast of the energy expects the mean consumption of the same weekday of four weeks', async () => {
    // Tomorrow's weekday a week and two ago, the day after it, and one of five weeks ago.
    await importDay(midnightS - 6 * DAY_S, 400);
    await importDay(midnightS - 13 * DAY_S, 800);
    await importDay(midnightS - 5 * DAY_S, 5_000);
    await importDay(midnightS - 34 * DAY_S, 9_000);
    const [today, tomorrow] = (await forecast()).days;
    assert.ok(today && tomorrow);
    for (const { load_wh: loadWh } of tomorrow.hours) assert.ok(isAbout(loadWh, 600), String(loadWh));
    for (const { load_wh: loadWh } of today.hours) assert.equal(loadWh, null);
    assert.ok(isAbout(tomorrow.load_wh, 24 * 600), String(tomorrow.load_wh));
  });

  test('the forecast of the energy adds the sun of devices with a forecast, and takes the price of one without a tariff', async () => {
    const zip = await zipOf({ 'manifest.yml': manifestWith(SCHEDULES) });
    const { blueprint } = await gateway().ok('OWNER', 'POST', '/v3/blueprints/upload', zip, {
      'Content-Type': 'application/zip',
    });
    const values = (length: number, value: number): number[] => Array<number>(length).fill(value);
    const sky = await gateway().provision('Sky', (blueprint as { id: string }).id);
    await sky.connect();
    await sky.telemetry({
      forecast_power_schedule: {
        start: midnightS + DAY_S + 12 * 3_600,
        step_s: QUARTER_S,
        values: values(8, SUN_W / 1_000),
      },
      energy_price_schedule: {
        start: midnightS + DAY_S,
        step_s: QUARTER_S,
        values: [...values(48, 0.1), ...values(48, 0.3)],
      },
    });
    const { currency, days } = await forecast();
    const tomorrow = days[1];
    assert.ok(tomorrow);
    assert.equal(currency, null);
    assert.equal(tomorrow.pv_wh, 2 * SUN_W);
    assert.deepEqual(tomorrow.hours.map(({ pv_wh: sunWh }) => sunWh).slice(11, 15), [
      null,
      SUN_W,
      SUN_W,
      null,
    ]);
    assert.equal(tomorrow.hours[0]?.import_price, 0.1);
    assert.equal(tomorrow.import_price, 0.2);
    await sky.leave();
  });

  test('the forecast of the energy has the price of a tariff with surcharge and VAT, as the schedule of its device says', async () => {
    const { devices } = await gateway().ok('OWNER', 'GET', '/v3/devices');
    const sky = (devices as { id: string; name: string }[]).find(({ name }) => name === 'Sky');
    await gateway().ok('OWNER', 'PATCH', '/v3/site/energy/tariffs', {
      currency: 'EUR',
      items: [
        {
          valid_from: '2020-01-01',
          import_price: {
            kind: 'DEVICE',
            device_id: sky?.id,
            attribute: 'energy_price',
            surcharge_per_kwh: 0.1,
          },
          vat_percent: 20,
        },
      ],
    });
    const { currency, days } = await forecast();
    assert.equal(currency, 'EUR');
    assert.deepEqual(
      [0, 23].map((hour) => days[1]?.hours[hour]?.import_price),
      [0.24, 0.48],
    );
  });

  test('the forecast of the energy has the measured values of past hours, and of no others', async () => {
    const hour = new Date().getUTCHours();
    await importDay(midnightS - DAY_S, 300);
    const rows = Array.from(
      { length: (hour * 3_600) / STEP_S + 1 },
      (_, index) => `${midnightS + index * STEP_S},300`,
    );
    await gateway().ok(
      'OWNER',
      'POST',
      '/v3/telemetry/import',
      `ts,telemetry=load_total_power device=battery\n${rows.join('\n')}\n`,
      { 'Content-Type': 'text/csv' },
    );
    const [today, tomorrow] = (await forecast()).days;
    const measured = today?.hours.map(({ measured_load_wh: loadWh }) => loadWh) ?? [];
    for (const [index, loadWh] of measured.entries())
      if (index < hour) assert.ok(isAbout(loadWh, 300), `${index}: ${loadWh}`);
      else assert.equal(loadWh, null, `${index}`);
    assert.equal(tomorrow?.measured_load_wh, null);
  });
});
