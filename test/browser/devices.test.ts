/** From the box to a running device, many devices, and what makes the console an application, in a real browser. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { manifestWith, zipOf } from '../capabilities/blueprints/support.ts';
import { MockDevice } from '../support/mock-device.ts';
import { startPostServer } from '../support/receivers.ts';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { picture, useConsole } from './support.ts';

const MANY = 60;

describe('devices in a browser', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();

  test('a new owner sees the first steps and which of them are done', async () => {
    const { page } = opened();
    const steps = page.locator('[data-test=first-steps]');
    await steps.getByText(/^First steps: \d of 7 done$/).waitFor();
    await steps.getByRole('link', { name: 'Add the first device' }).waitFor();
    await page.getByText('No devices yet').waitFor();
    assert.equal(await page.getByText('of 2 online').count(), 0);
    assert.equal(await page.getByRole('link', { name: /^choose which values/ }).count(), 0);
    await picture(page, 'first-steps');
  });

  test('the name of the site stands in the frame and in titles', async () => {
    const { page, open } = opened();
    await open('#/site');
    await page.fill('[name=name]', 'Hillside');
    await page.getByRole('button', { name: 'Save' }).first().click();
    await page.locator('.brand', { hasText: 'Hillside' }).waitFor();
    // The title follows what is drawn.
    await until(async () => (await page.title()) === 'Site · Hillside');
  });

  test('a blueprint is found by its name, uploaded by dropping a zip, or skipped', async () => {
    const { page, open } = opened();
    await open('#/add');
    await page.getByLabel('Find a blueprint').fill('no such thing');
    await page.getByText('No blueprint has this name').waitFor();
    await page.getByLabel('Find a blueprint').fill('inverter');
    await page.getByRole('button', { name: /^Battery Inverter/ }).waitFor();
    await picture(page, 'add-device');
    const transfer = await page.evaluateHandle(
      `(() => { const data = new DataTransfer(); data.items.add(new File(['no zip'], 'broken.zip')); return data; })()`,
    );
    await page.dispatchEvent('.drop', 'drop', { dataTransfer: transfer });
    assert.match(await page.getByRole('alert').innerText(), /zip/);
    await page.setInputFiles('.drop input', {
      name: 'repository.zip',
      mimeType: 'application/zip',
      buffer: await zipOf({
        'repository-main/relay/manifest.yml': manifestWith('commands: {}\n'),
        'repository-main/other/manifest.yml': 'no manifest',
      }),
    });
    await page.getByRole('button', { name: /^relay/ }).click();
    await page.getByRole('heading', { name: 'Sample' }).waitFor();
    await page.getByRole('button', { name: 'Another blueprint' }).click();
    await page.getByRole('button', { name: 'Continue without a blueprint' }).click();
    await page.getByRole('heading', { name: 'Device without a blueprint' }).waitFor();
    await page.getByRole('button', { name: 'Another blueprint' }).click();
  });

  test('typed text stays in the form while another page is open', async () => {
    const { page, open } = opened();
    await page.getByRole('button', { name: /^Battery Inverter/ }).click();
    await page.fill('[name=name]', 'Cellar battery');
    await open('#/blueprints');
    await page.getByRole('heading', { name: 'Blueprints' }).waitFor();
    await open('#/add');
    await until(async () => (await page.inputValue('[name=name]')) === 'Cellar battery');
  });

  test('the page waits for the first message of a device and says when it arrives', async () => {
    const { page, gateway } = opened();
    await page.getByLabel('Protocol').selectOption('MQTT');
    await page.getByRole('button', { name: 'Add device' }).click();
    const arrival = page.locator('[data-test=arrival]');
    await arrival.getByText('Waiting for the first message…').waitFor();
    await picture(page, 'waiting');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download', exact: true }).click(),
    ]);
    const config: unknown = JSON.parse(readFileSync(await download.path(), 'utf8'));
    const { device: found } = await gateway.ok('OWNER', 'GET', '/v3/devices/cellar-battery');
    const device = new MockDevice(
      { device_id: (found as { id: string }).id, slug: 'cellar-battery', config },
      { settled: gateway.settled, port: () => gateway.ports.mqttPort },
    );
    await device.connect();
    await arrival.getByText('Waiting for the first value').waitFor();
    // A fault of it is shown in words, and is no value.
    await device.telemetry({ alerts: ['battery_low'] });
    await arrival.getByText('Battery Low').waitFor();
    await arrival.getByText('Waiting for the first value').waitFor();
    await device.telemetry({ battery_soc: 50, grid_total_power: 100, alerts: [] });
    await arrival.getByText('Cellar battery is online and sends 2 values.').waitFor();
    await device.leave();
  });

  test('many devices stand in a table: troubled first, found by name and status, only those in sight drawn', async () => {
    const { page, open, gateway } = opened();
    for (let index = 1; index <= MANY; index++)
      await gateway.ok('OWNER', 'POST', '/v3/provisioning/standalone', {
        name: `Meter ${index}`,
        protocol: 'MQTT',
      });
    const live = await gateway.provision('Last one');
    await live.connect();
    await open('#/');
    await page.locator('.device-table').waitFor();
    await page.waitForLoadState('networkidle');
    const asked: string[] = [];
    page.on('request', (request) => {
      // The page before may still be asking.
      if (request.isNavigationRequest()) asked.length = 0;
      if (request.url().includes('/v3/')) asked.push(request.url());
    });
    await page.reload();
    await page.locator('.device-table').waitFor();
    await page.waitForLoadState('networkidle');
    assert.ok(asked.length < 20, asked.join('\n'));
    await picture(page, 'device-table');
    const rows = page.locator('.device-table tbody tr:not(.space)');
    assert.ok((await rows.count()) < MANY / 2, `${await rows.count()} rows`);
    assert.equal(await page.locator('[data-device=last-one]').count(), 0, 'it is online, so it comes last');
    await page.setViewportSize({ width: 390, height: 844 });
    const unusedPx = await page.evaluate(`(() => {
      const table = document.querySelector('.device-table table');
      return [...table.rows[0].cells].reduce((px, cell) => px - cell.offsetWidth, table.offsetWidth);
    })()`);
    assert.equal(unusedPx, 0, 'on a phone columns that are not shown take no room');
    await page.setViewportSize({ width: 1_280, height: 900 });
    // Out of sight its values are not sent, but that it is in trouble is.
    await live.telemetry({ battery_soc: 61, alerts: ['battery_low'] });
    const troubled = page.locator('.device-table tbody tr:not(.space)').first();
    await troubled.getByRole('link', { name: 'Last one' }).waitFor();
    await troubled.getByText('Battery Low').waitFor();
    await troubled.getByText('61').waitFor();
    await live.telemetry({ battery_soc: 62, alerts: ['battery_low'] });
    await troubled.getByText('62').waitFor();
    await live.telemetry({ battery_soc: 62, alerts: [] });
    await until(async () => (await page.locator('[data-device=last-one]').count()) === 0);
    await page.mouse.wheel(0, 100_000);
    await page.locator('[data-device=last-one]').waitFor();
    await page.getByLabel('Status').selectOption('ONLINE');
    await page.getByLabel('Find a device').fill('last');
    await until(async () => (await rows.count()) === 1);
    await page.getByRole('link', { name: 'Last one' }).click();
    await page.getByRole('heading', { name: 'Last one' }).waitFor();
    await page.goBack();
    await until(async () => (await page.getByLabel('Find a device').inputValue()) === 'last');
    await page.getByLabel('Find a device').fill('');
    await page.getByLabel('Status').selectOption('');
    await live.leave();
  });

  test('a page is scrolled as before when one comes back to it', async () => {
    const { page, open } = opened();
    await open('#/');
    await page.locator('.device-table').waitFor();
    await page.mouse.wheel(0, 1_200);
    await until(async () => Number(await page.evaluate('scrollY')) > 600);
    // The wheel may still be turning, and a click brings its link into sight first.
    await page.evaluate(
      "addEventListener('click', () => { globalThis.leftAtPx = scrollY }, { capture: true, once: true })",
    );
    await page.locator('.device-table tbody a').nth(8).click();
    await page.locator('.tabs').waitFor();
    await page.goBack();
    await until(async () => Boolean(await page.evaluate('Math.abs(scrollY - leftAtPx) < 2')));
  });

  test('the live stream carries only what the page shows: one device, none beside a chart, all elsewhere', async () => {
    const { page, open, gateway } = opened();
    const device = await gateway.provision('Looked at');
    await device.connect();
    const heard: string[] = [];
    const note = (one: { url(): string }): void => {
      if (one.url().includes('/v3/devices')) heard.push(new URL(one.url()).search);
    };
    const hears = (what: RegExp): Promise<void> => until(() => what.test(heard.at(-1) ?? 'nothing yet'));
    page.on('websocket', note);
    await open('#/devices/looked-at/values');
    await hears(new RegExp(`^\\?changes=true&telemetry\\.of=${device.id},[^,]+$`));
    await device.telemetry({ battery_soc: 37.5 });
    await page.getByText('37.5').first().waitFor();
    await open('#/history/day');
    await hears(/^\?changes=true&telemetry\.of=[^,]+$/);
    await open('#/rules');
    await hears(/^\?changes=true$/);
    page.off('websocket', note);
    await device.leave();
  });

  test('the system page shows the state of the box and its storage, and adds a serial line and a contact', async () => {
    const { page, open } = opened();
    await open('#/system');
    await page.locator('[data-test=condition]').waitFor();
    const kept = page.locator('[data-test=storage] .fact', { hasText: 'Samples kept for' });
    await kept.getByText('2 years').waitFor();
    await picture(page, 'box');
    await page.getByRole('link', { name: 'Ports', exact: true }).click();
    const lines = page.locator('[data-test=serial_ports]');
    await lines.getByRole('button', { name: 'Add port…' }).click();
    await page.fill('[name=port_name]', 'rs485');
    await page.fill('[name=port_path]', '/dev/ttyNOTHERE');
    await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
    await lines.getByText('/dev/ttyNOTHERE, 9600 baud, 8N1').waitFor();
    await lines.getByRole('button', { name: 'Test rs485' }).click();
    await lines.getByRole('status').waitFor();
    await lines.getByRole('button', { name: 'Delete rs485' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await lines.getByText('None yet. Devices with Modbus RTU').waitFor();
    const contacts = page.locator('[data-test=io_ports]');
    await contacts.getByRole('button', { name: 'Add port…' }).click();
    await picture(page, 'port-form');
    await page.selectOption('[name=port_kind]', 'DIGITAL_OUTPUT');
    assert.equal(await page.inputValue('[name=port_name]'), 'rl-1');
    await page.fill('[name=port_path]', '/dev/gpiochip99');
    await page.fill('[name=line]', '17');
    await page.getByLabel('Active low').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
    await contacts.getByText('Relay (digital output), /dev/gpiochip99 line 17, active low').waitFor();
    await contacts.getByRole('button', { name: 'Test rl-1' }).click();
    await contacts.getByRole('status').waitFor();
    await picture(page, 'ports');
  });

  test('a backup plan is made, tried at once, and shows the last good backup or the reason why there is none', async (t) => {
    const { page, open } = opened();
    const folder = mkdtempSync(join(tmpdir(), 'gateway-backups-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    await open('#/system/backup');
    const plan = page.locator('[data-test=backup-plan]');
    await plan.getByText('none yet').waitFor();
    assert.equal(await plan.getByRole('button', { name: 'Back up now' }).isDisabled(), true);
    await page.selectOption('[name=schedule]', 'DAILY');
    await page.fill('[name=target]', '/nowhere/at-all');
    await page.fill('[name=plan_password]', 'one for the backups');
    await page.fill('[name=plan_repeated]', 'one for the backups');
    await plan.getByRole('button', { name: 'Save' }).click();
    await plan.getByRole('alert').waitFor();
    await page.fill('[name=target]', folder);
    await plan.getByRole('button', { name: 'Save' }).click();
    await plan.getByText('The backups are encrypted with a stored password.').waitFor();
    await plan.getByRole('button', { name: 'Back up now' }).click();
    // Its password is made slow to guess, and slower on a busy machine.
    await plan.getByText(/\.backup, [\d.]+ kB/).waitFor({ timeout: 60_000 });
    await picture(page, 'backup');
    rmSync(folder, { recursive: true });
    await plan.getByRole('button', { name: 'Back up now' }).click();
    await plan.getByText(/^The last backup failed \(.*\): /).waitFor({ timeout: 60_000 });
    assert.equal(await page.getByText('one for the backups').count(), 0);
    await open('#/');
    await page
      .locator('[data-test=attention]')
      .getByText(/^The last backup failed: /)
      .waitFor();
    await open('#/system/backup');
    const restore = page.locator('[data-test=restore]');
    await restore.locator('input[type=file]').setInputFiles({
      name: 'site.backup',
      mimeType: 'application/octet-stream',
      buffer: Buffer.from('no backup'),
    });
    await restore.getByRole('button', { name: 'Restore…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Restore', exact: true }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
  });

  test('a target is added, tried and switched off, and shows its lag with the reason', async (t) => {
    const { page, open, gateway } = opened();
    const receiver = await startPostServer(t);
    receiver.status = 204;
    const live = await gateway.provision('Metered');
    await live.connect();
    await open('#/system/targets');
    await page.getByText('Telemetry stays on this gateway').waitFor();
    await page.getByRole('button', { name: 'Add target' }).press('Enter');
    await page.fill('[name=name]', 'Fleet');
    await page.fill('[name=url]', receiver.url);
    await page.fill('[name=secret]', 'a token of ours');
    await picture(page, 'target-form');
    await page.locator('[name=url]').press('Enter');
    const row = page.locator('[data-test=targets] > li', { hasText: 'Fleet' });
    await row.getByRole('button', { name: 'Test Fleet' }).click();
    await row.getByText('The target accepted a test value.').waitFor();
    await row.getByText('up to date').waitFor();
    receiver.status = 401;
    await live.telemetry({ battery_soc: 41 });
    await row.getByText('failing').waitFor();
    await row.getByText(/behind, waiting: \d+ values?, /).waitFor();
    await picture(page, 'targets');
    await row.getByRole('button', { name: 'Edit Fleet' }).click();
    await page.getByText('Stored. Leave empty to keep it.').first().waitFor();
    await page.fill('[name=attributes]', 'battery_*, status');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await row.getByText('battery_*, status').waitFor();
    await row.getByRole('button', { name: 'Disable Fleet' }).click();
    await row.getByText('(disabled)').waitFor();
    assert.ok(!(await page.content()).includes('a token of ours'));
    await row.getByRole('button', { name: 'Delete Fleet' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('Telemetry stays on this gateway').waitFor();
    await live.leave();
  });

  test('times are shown in the zone of the site, which is named where the browser has another one', async () => {
    const { page, open, gateway } = opened();
    await gateway.ok('OWNER', 'PATCH', '/v3/site', { timezone: 'Pacific/Kiritimati' });
    await page.reload();
    await page.locator('.who').getByText('Times in Pacific/Kiritimati').waitFor();
    await open('#/access');
    const there = new Date().toLocaleDateString('en-GB', {
      dateStyle: 'medium',
      timeZone: 'Pacific/Kiritimati',
    });
    await page
      .getByText(new RegExp(`installer.* · ${there}`))
      .first()
      .waitFor();
    await gateway.ok('OWNER', 'PATCH', '/v3/site', { timezone: 'UTC' });
    await page.reload();
  });

  test('the console can be installed as an app, opens while the gateway is away, and keeps no data', async () => {
    const { page, gateway } = opened();
    const manifest = (await (await fetch(`${gateway.origin}/manifest.json`)).json()) as {
      icons: { src: string }[];
    };
    for (const { src } of manifest.icons) {
      const icon = await fetch(`${gateway.origin}${src}`);
      assert.deepEqual([icon.status, icon.headers.get('content-type')?.split('/')[0]], [200, 'image']);
      await icon.arrayBuffer();
    }
    await page.evaluate('navigator.serviceWorker.ready.then(() => true)');
    const kept = (await page.evaluate(
      'caches.keys().then((names) => Promise.all(names.map((name) => caches.open(name).then((cache) => cache.keys()))))' +
        '.then((all) => all.flat().map(({ url }) => new URL(url).pathname))',
    )) as string[];
    assert.ok(kept.includes('/'));
    assert.deepEqual(
      kept.filter((path) => path.startsWith('/v3')),
      [],
    );
  });

  test('a user of role USER sees the site and its history, and nothing of the installer', async () => {
    const { browser, gateway } = opened();
    await gateway.ok('INSTALLER', 'POST', '/v3/auth/users', {
      name: 'tenant',
      role: 'USER',
      password: 'a password of theirs',
    });
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(gateway.origin);
    await page.fill('[name=name]', 'tenant');
    await page.fill('[name=password]', 'a password of theirs');
    await page.keyboard.press('Enter');
    await page.locator('.device-table').waitFor();
    assert.deepEqual(await page.locator('.nav li').allInnerTexts(), [
      'Overview',
      'History',
      'Alerts',
      'Access',
    ]);
    assert.equal(await page.getByText('First steps').count(), 0);
    await page.evaluate("location.hash = '#/devices/looked-at/settings'");
    await page.locator('.tabs a[aria-current]', { hasText: 'Now' }).waitFor();
    // A link of somebody who may see more.
    await page.evaluate("location.hash = '#/system/targets'");
    await page.locator('.tabs a[aria-current]', { hasText: 'Status' }).waitFor();
    assert.deepEqual(await page.locator('.tabs a').allInnerTexts(), ['Status', 'Ports']);
    await context.close();
  });

  test('the devices pages log no error in the browser', () => {
    assert.deepEqual(
      opened().complaints.filter((text) => !/status of 4\d\d/.test(text)),
      [],
    );
  });
});
