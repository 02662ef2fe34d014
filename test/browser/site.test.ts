/** The overview of a site in a real browser: what flows, its energy, what needs attention, and a gateway that goes away. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { MockDevice } from '../support/mock-device.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { complaintsOf, enterBrowser, findBrowser, leaveBrowser, NO_BROWSER, WIDE_SCREEN } from './browser.ts';
import { CONSOLE_DIR } from './support.ts';

const PASSWORD = 'correct horse battery';
const HOUR_S = 3_600;
const STARTS_MAX = 3;
const executable = findBrowser();

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

describe('the site in a browser', { skip: executable === undefined && NO_BROWSER }, () => {
  const ends: (() => unknown)[] = [];
  let gateway: TestGateway;
  let browser: Browser;
  let page: Page;
  let complaints: string[];
  let device: MockDevice;

  before(async () => {
    gateway = await startTestGateway(
      { after: (end) => void ends.push(end as () => unknown) },
      // The same after a restart, as the browser expects.
      { consoleDir: CONSOLE_DIR, environment: { GATEWAY_HTTP_PORT: String(await freePort()) } },
    );
    browser = await enterBrowser();
    page = await browser.newPage(WIDE_SCREEN);
    page.setDefaultTimeout(10_000);
    complaints = complaintsOf(page);
    await page.goto(gateway.origin);
    await page.fill('[name=claim_code]', readFileSync(join(gateway.dataDir, 'claim-code'), 'utf8').trim());
    await page.fill('[name=password]', PASSWORD);
    await page.fill('[name=repeated]', PASSWORD);
    await page.click('button[type=submit]');
    await says('No devices yet');
  });

  after(async () => {
    await leaveBrowser();
    for (const end of ends.toReversed()) await end();
  });

  const says = (text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor();
  const open = async (hash: string): Promise<void> => {
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  };
  const nowS = (): number => Math.floor(Date.now() / 1_000);

  test('an owner without a usable device is told where to choose the energy sources', async () => {
    const { device_id: id } = await gateway.ok('OWNER', 'POST', '/v3/provisioning/standalone', {
      name: 'Plain',
    });
    await page.reload();
    await says('choose which values');
    await gateway.ok('OWNER', 'DELETE', `/v3/devices/${String(id)}`);
  });

  test('the overview shows each flow with size, direction and state of charge, in words too', async () => {
    device = await gateway.provision('Battery');
    await device.connect();
    await device.telemetry({
      timestamp: nowS(),
      pv_total_power: 5_200,
      battery_power: -3_000,
      battery_soc: 64,
      grid_total_power: -1_000,
      load_total_power: 1_200,
    });
    // The gateway remembers the books of past days for a while: what is imported is there before they are shown.
    const startS = nowS() - (nowS() % 86_400) - 12 * HOUR_S;
    const rows = Array.from({ length: 61 }, (_, minute) => `${startS + minute * 60},4000,-1000,-500,2500`);
    const names = ['pv_total_power', 'battery_power', 'grid_total_power', 'load_total_power'];
    const head = names.map((name) => `telemetry=${name} device=battery`).join(',');
    await gateway.ok('OWNER', 'POST', '/v3/telemetry/import', `ts,${head}\n${rows.join('\n')}\n`, {
      'Content-Type': 'text/csv',
    });
    await page.reload();
    for (const name of [
      'Solar, 5.2 kW, delivering',
      'Battery, charging, 3.0 kW, 64 % charged',
      'Grid, 1.0 kW, exporting',
      'House, 1.2 kW, consuming',
    ])
      await page.getByRole('link', { name, exact: true }).waitFor();
    assert.equal(await page.locator('.flow-line .arrow').count(), 3);
    await page.getByRole('heading', { name: 'Running on sunshine' }).waitFor();
    await says('3.0 kW go into the battery and 1.0 kW go to the grid.');
  });

  test('the power flows fit above the bar of a phone held sideways', async () => {
    await page.setViewportSize({ width: 640, height: 360 });
    const [flowPx, seenPx] = (await page.evaluate(
      `[document.querySelector('.flow svg').clientHeight, innerHeight - document.querySelector('.nav ul').offsetHeight]`,
    )) as [number, number];
    await page.setViewportSize(WIDE_SCREEN.viewport);
    assert.ok(flowPx <= seenPx, `${flowPx} of ${seenPx} pixels`);
  });

  test("the energy of yesterday equals the API's, with its assumption named", async () => {
    await page.getByRole('button', { name: 'Yesterday' }).click();
    const card = page.locator('[data-test=energy-books]');
    await card.getByText('Solar 4.0 kWh').waitFor();
    await card.getByText('Consumption 2.5 kWh').waitFor();
    await card.getByText('100 %').waitFor();
    await card.getByText('88 %').waitFor();
    // One column for the hour in which something was consumed.
    await card.locator('.energy-bars rect.pv').first().waitFor();
    await card.getByText('How is this calculated?').click();
    await card.getByText(/Decided for every minute by itself/).waitFor();
  });

  test('a year, read month by month, shows its progress', async () => {
    const asked: URLSearchParams[] = [];
    const held = Promise.withResolvers<void>();
    await page.route(/\/v3\/site\/energy\?granularity=month/, async (route) => {
      asked.push(new URL(route.request().url()).searchParams);
      if (asked.length === 3) await held.promise;
      await route.continue();
    });
    await open('#/history/energy/2025');
    await page.getByRole('status').getByText('Reading history: 2 of 12 months…').waitFor();
    assert.equal(asked.length, 3);
    held.resolve();
    await says('No energy data for this period');
    await page.unroute(/\/v3\/site\/energy\?granularity=month/);
    const whole = asked[12];
    assert.deepEqual(
      asked.slice(0, 12).map((one) => one.get('from')),
      [whole?.get('from'), ...asked.slice(0, 11).map((one) => one.get('to'))],
    );
    assert.equal(asked[11]?.get('to'), whole?.get('to'));
    await open('#/');
    await page.locator('[data-test=energy-books]').waitFor();
  });

  test('energy of any day, month and year is shown beside the period before, as bars, as a table and as a file', async () => {
    await page.getByRole('link', { name: 'Energy history' }).click();
    const card = page.locator('[data-test=energy-history]');
    const yesterday = new Date((nowS() - 86_400) * 1_000);
    await open(`#/history/energy/${yesterday.toISOString().slice(0, 10)}`);
    await card.getByText('Consumption 2.5 kWh').waitFor();
    await card.getByRole('button', { name: 'Year' }).click();
    await card.getByRole('heading', { name: String(yesterday.getUTCFullYear()) }).waitFor();
    // Hundreds of days are summed up.
    await card.getByText('Consumption 2.5 kWh').waitFor({ timeout: 60_000 });
    await card.getByText('Show table').click();
    assert.equal(await card.locator('tbody tr').count(), 12);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      card.getByRole('button', { name: 'CSV' }).click(),
    ]);
    const [head = '', ...rows] = readFileSync(await file.path(), 'utf8')
      .trimEnd()
      .split('\r\n');
    assert.match(head, /^from,to,source_pv_wh,/);
    assert.equal(rows.length, 12);
    const [sheet] = await Promise.all([
      page.waitForEvent('download'),
      card.getByRole('button', { name: 'Spreadsheet' }).click(),
    ]);
    assert.match(
      readFileSync(await sheet.path(), 'utf8'),
      /^\ufeffFrom,Solar kWh,.*,Not known h\r\n\d{4}-01-01 00:00:00,/,
    );
    // From the year into the month by the table, from there into the day by the picture.
    await card.locator('tbody tr').nth(yesterday.getUTCMonth()).getByRole('link').click();
    await page.waitForURL(/#\/history\/energy\/\d{4}-\d{2}$/);
    await card.getByText('Consumption 2.5 kWh').waitFor();
    await card
      .locator('.energy-bars g')
      .nth(yesterday.getUTCDate() - 1)
      .click();
    await page.waitForURL(`**/#/history/energy/${yesterday.toISOString().slice(0, 10)}`);
    await open('#/history/energy/2001-02-03');
    await card.getByText('No energy data for this period').waitFor({ timeout: 60_000 });
    await open('#/');
  });

  test('the overview names what needs attention, and since when', async () => {
    const attention = page.locator('[data-test=attention]');
    // While the first steps are listed they say it.
    await page.getByRole('link', { name: 'Save a backup' }).waitFor();
    await attention.waitFor();
    assert.equal(await attention.getByText('No backup has been made yet').count(), 0);
    await page.getByRole('button', { name: 'Hide' }).click();
    await page.reload();
    await attention.getByText('No backup has been made yet').waitFor();
    await device.telemetry({ timestamp: nowS(), alerts: ['over_temperature'] });
    await attention.getByText(/^Battery: /).waitFor();
    await attention.getByText(/^since /).waitFor();
    await device.telemetry({ timestamp: nowS() + 1, alerts: [] });
    await attention.getByText(/^Battery: /).waitFor({ state: 'detached' });
  });

  test('the list of devices is read once at the start', async () => {
    const lists: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/v3/devices?expand=connectivity')) lists.push(request.url());
    });
    // Where the machine is busy a stream may be opened anew, after which the list is read again, and rightly.
    let least = Number.POSITIVE_INFINITY;
    for (let start = 0; start < STARTS_MAX && least > 1; start++) {
      lists.length = 0;
      await page.reload();
      await page.getByRole('link', { name: /^House, / }).waitFor();
      await page.waitForLoadState('networkidle');
      least = Math.min(least, lists.length);
    }
    assert.equal(least, 1);
  });

  test('the owner chooses a source of energy once, and it is kept', async () => {
    await open('#/site');
    const card = page.locator('[data-test=energy-sources]');
    await card.getByText('PV Power').first().waitFor();
    assert.equal(await card.getByRole('button', { name: 'Save' }).isDisabled(), true);
    await card.getByRole('button', { name: 'Add value' }).click();
    await card.locator('[name=device]').selectOption({ label: 'Battery' });
    await card.locator('[name=power]').selectOption({ label: 'AC Power' });
    await card.locator('[name=sign]').selectOption({ label: 'exporting' });
    await card.getByRole('button', { name: 'Save' }).click();
    await until(async () => {
      const { energy_sources: sources } = await gateway.ok('READONLY', 'GET', '/v3/site/energy/sources');
      const [first] = (sources as { items: { power: string; is_inverted: boolean }[] }).items;
      return first?.power === 'ac_total_power' && first.is_inverted;
    });
    await card.getByText('Saved.').waitFor();
    await gateway.ok('OWNER', 'PATCH', '/v3/site/energy/sources', { items: [] });
  });

  test('a second grid meter is named and does not count', async () => {
    const second = await gateway.provision('Second inverter');
    await open('#/site');
    await says(
      'Grid: Second inverter measures it, too. Only Battery counts, so that nothing is counted twice.',
    );
    await gateway.ok('OWNER', 'DELETE', `/v3/devices/${second.id}`);
  });

  test('the owner sets a tariff in the form, and the energy of the day has its cost', async () => {
    await open('#/site');
    const card = page.locator('[data-test=energy-tariffs]');
    await card.getByRole('button', { name: 'Add tariff' }).click();
    await card.locator('[name=valid_from]').fill('2020-01-01');
    await card.locator('[name=import_kind]').selectOption({ label: 'two rates' });
    await card.locator('[name=import_price]').fill('0.40');
    await card.locator('[name=import_low_price]').fill('0.20');
    await card.locator('[name=import_low_times]').fill('mon-sun');
    await card.locator('[name=export_kind]').selectOption({ label: 'fixed' });
    await card.locator('[name=export_price]').fill('0.08');
    await card.locator('[name=standing_charge_per_day]').fill('1.5');
    await card.getByRole('button', { name: 'Save' }).click();
    await card.getByText('Saved.').waitFor();
    const { energy_tariffs: tariffs } = await gateway.ok('READONLY', 'GET', '/v3/site/energy/tariffs');
    const { currency, items } = tariffs as { currency: string; items: { import_price: object }[] };
    assert.equal(currency, 'EUR');
    assert.deepEqual(items[0]?.import_price, {
      kind: 'TWO_RATE',
      price: 0.4,
      low_price: 0.2,
      low_times: 'mon-sun',
      device_id: null,
      attribute: null,
      surcharge_per_kwh: 0,
    });
    const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    await open(`#/history/energy/${yesterday}`);
    const money = page.locator('[data-test=energy-money]');
    await money.getByText('Standing charge').waitFor();
    await money.getByText('1.50 €').first().waitFor();
    await open('#/');
    await money.getByText('Total cost').waitFor();
    await gateway.ok('OWNER', 'PATCH', '/v3/site/energy/tariffs', { items: [] });
  });

  test('several devices are drawn over any period; a zoom loads finer data, survives a reload and stands in the address', async () => {
    const silent = await gateway.provision('Never heard of');
    await page.reload();
    await open('#/');
    await page.getByRole('link', { name: 'Power of today' }).click();
    await page.locator('[data-test=chart] canvas').waitFor();
    // What the site gives and uses is there at first, and the charge.
    const drawn = await page.locator('.chosen').innerText();
    for (const name of ['PV Power', 'Battery Power', 'Grid Power', 'Load Power', 'State of Charge'])
      assert.ok(drawn.includes(name), drawn);
    assert.ok(!drawn.includes('Never heard of'), drawn);
    await gateway.ok('OWNER', 'DELETE', `/v3/devices/${silent.id}`);
    const other = await gateway.provision('Roof');
    await other.connect();
    await other.telemetry({ timestamp: nowS(), pv_total_power: 900 });
    await open('#/');
    await page.getByRole('link', { name: /^Roof/ }).waitFor();
    await open(`#/history/day/${device.id}.pv_total_power`);
    await page.locator('[name=device]').selectOption({ label: 'Roof' });
    await page.locator('[name=attribute]').selectOption({ label: 'PV Power' });
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.locator('.series-chip[data-name="Roof · PV Power"]').waitFor();
    const asked: { granularity: string }[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/query_timeseries'))
        asked.push(request.postDataJSON() as { granularity: string });
    });
    const plot = await page.locator('.u-over').boundingBox();
    assert.ok(plot);
    await page.mouse.move(plot.x + plot.width * 0.25, plot.y + 50);
    await page.mouse.down();
    await page.mouse.move(plot.x + plot.width * 0.5, plot.y + 60, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/#\/history\/\d+-\d+\//);
    await until(() => Promise.resolve(asked.some(({ granularity }) => granularity === '60s')));
    const zoomed = page.url();
    await page.reload();
    await page.locator('.series-chip[data-name="Roof · PV Power"]').waitFor();
    assert.equal(page.url(), zoomed);
    await page.getByRole('button', { name: 'Earlier' }).click();
    await until(() => Promise.resolve(page.url() !== zoomed));
    await page.getByRole('button', { name: 'Day', exact: true }).click();
    await page.getByRole('button', { name: 'Show table' }).click();
    await page.getByRole('columnheader', { name: 'Roof · PV Power W' }).waitFor();
    await page.getByLabel('Compare with the period before').check();
    await page.getByRole('columnheader', { name: 'Roof · PV Power, before W' }).waitFor();
    // The day in which the range before began.
    assert.match(page.url(), /#\/history\/(?:day|[\d-]+)\+before\//);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV of the period before' }).click(),
    ]);
    assert.match(readFileSync(await file.path(), 'utf8'), /^ts,telemetry=/);
    await gateway.ok('OWNER', 'DELETE', `/v3/devices/${other.id}`);
    await page.emulateMedia({ media: 'print' });
    assert.equal(
      await page.locator('main :is(button, input, select):visible').count(),
      0,
      'nothing to press on paper',
    );
    await page.emulateMedia({ media: 'screen' });
  });

  test('a rule of any name can be opened, even `new`', async () => {
    await gateway.ok('OWNER', 'POST', '/v3/site/rule_engine/rules', {
      slug: 'new',
      script: { code: Buffer.from('-- nothing').toString('base64'), runtime_version: 'V3' },
    });
    await open('#/rules');
    await page.getByRole('link', { name: 'new', exact: true }).click();
    await page.getByRole('heading', { name: 'new', exact: true }).waitFor();
    await page.locator('.cm-line', { hasText: '-- nothing' }).waitFor();
  });

  test('older log entries load on demand and are saved as a file', async () => {
    for (let entry = 1; entry <= 60; entry++)
      await device.send('v3/logs', { severity: 'info', message: `entry ${entry}`, persist: true });
    await open('#/devices/battery/logs');
    await says('entry 60');
    assert.equal(await page.getByText('entry 5', { exact: true }).count(), 0);
    await page.getByRole('button', { name: 'Older entries' }).click();
    await page.getByText('entry 5', { exact: true }).waitFor();
  });

  test('no device is called ONLINE while the gateway is away, and a page that could not be read is read when it returns', async () => {
    await open('#/');
    await page.locator('.badge.online').first().waitFor();
    await page.getByRole('link', { name: /^Solar, \d/ }).waitFor();
    await gateway.gateway.stop();
    await page.locator('.badge.unknown').first().waitFor();
    assert.equal(await page.locator('.badge.online').count(), 0);
    await page.getByRole('link', { name: 'Solar, –, no current value' }).waitFor();
    await open('#/blueprints');
    await page.getByRole('alert').waitFor();
    await gateway.restart();
    await says('Battery Inverter');
    assert.equal(await page.getByRole('alert').count(), 0);
  });

  test('the site pages log no error in the browser', () => {
    assert.deepEqual(
      complaints.filter((complaint) => !/ERR_|WebSocket|Failed to load/.test(complaint)),
      [],
    );
  });
});
