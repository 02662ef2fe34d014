/**
 * The console in a real browser against the whole gateway: what an installer does in the first hour, in one
 * story. Each test goes on where the one before it ended.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { stop as stopBundler } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { type BuiltFile, bundleConsole } from '../../scripts/support/console-bundle.ts';
import { MockDevice } from '../support/mock-device.ts';
import { restoreBackup } from '../support/restore-backup.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import {
  complaintsOf,
  enterBrowser,
  findBrowser,
  keyboardOf,
  leaveBrowser,
  NO_BROWSER,
  WIDE_SCREEN,
} from './browser.ts';

const FIRST_VIEW_BYTES_MAX = 62_000;
const PASSWORD = 'correct horse battery';
const executable = findBrowser();

describe('the console in a browser', { skip: executable === undefined && NO_BROWSER }, () => {
  const ends: (() => unknown)[] = [];
  let files: BuiltFile[];
  let gateway: TestGateway;
  let browser: Browser;
  let page: Page;
  let complaints: string[];
  let device: MockDevice;

  before(async () => {
    const consoleDir = mkdtempSync(join(tmpdir(), 'gateway-console-'));
    ends.push(() => rmSync(consoleDir, { recursive: true, force: true }));
    files = await bundleConsole(consoleDir);
    await stopBundler();
    gateway = await startTestGateway(
      { after: (end) => void ends.push(end as () => unknown) },
      { consoleDir, environment: { GATEWAY_RULE_SANDBOX: 'true' } },
    );
    browser = await enterBrowser();
    page = await browser.newPage(WIDE_SCREEN);
    page.setDefaultTimeout(10_000);
    complaints = complaintsOf(page);
  });

  after(async () => {
    await device?.leave();
    await leaveBrowser();
    for (const end of ends.toReversed()) await end();
  });

  const says = (text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor();
  const open = async (hash: string): Promise<void> => {
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  };

  test('the first load is small; charts, the editor and German load on demand', () => {
    const first = files.filter(({ isFirst }) => isFirst);
    const sizeBytes = first.reduce((sum, { gzipBytes }) => sum + gzipBytes, 0);
    assert.ok(sizeBytes < FIRST_VIEW_BYTES_MAX, `${sizeBytes} bytes compressed`);
    for (const part of ['chart-canvas-', 'code-editor-', 'de-'])
      assert.ok(
        files.some(({ name, isFirst }) => name.startsWith(part) && !isFirst),
        part,
      );
  });

  test('a wrong claim code shows the sentence of the gateway', async () => {
    await page.goto(gateway.origin);
    await says('Claim this gateway');
    await page.fill('[name=claim_code]', 'AAAA-BBBB-CCCC');
    await page.fill('[name=password]', PASSWORD);
    await page.fill('[name=repeated]', PASSWORD);
    await page.click('button[type=submit]');
    await page.getByRole('alert').waitFor();
    assert.match(await page.getByRole('alert').innerText(), /claim code/i);
  });

  test('the gateway is claimed by keyboard alone, and the page says what to do next', async () => {
    const keyboard = keyboardOf(page);
    const code = readFileSync(join(gateway.dataDir, 'claim-code'), 'utf8').trim();
    await keyboard.write('[name=claim_code]', code);
    await keyboard.choose('button[type=submit]');
    await says('No devices yet');
  });

  test('the login is hidden from scripts; logging out and in again works', async () => {
    assert.equal(await page.evaluate('document.cookie'), '');
    await page.getByRole('button', { name: 'Log out' }).click();
    await says('Forgot your password?');
    await page.fill('[name=password]', 'not the password');
    await page.click('button[type=submit]');
    await page.getByRole('alert').waitFor();
    await page.fill('[name=password]', PASSWORD);
    await page.keyboard.press('Enter');
    await says('No devices yet');
  });

  test('a token is made and shown once, and ended; both stand in the activity', async () => {
    await open('#/access');
    await page.getByRole('button', { name: 'New token…' }).click();
    await page.fill('[name=name]', 'dashboard');
    await page.locator('form button[type=submit]').last().click();
    await says('It cannot be shown again');
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Revoke dashboard' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
    await says('Revoke token');
    await says('Create token');
    await open('#/');
    await says('No devices yet');
  });

  test('a device is provisioned by keyboard alone, and its credentials are shown once', async () => {
    const keyboard = keyboardOf(page);
    await keyboard.choose('a', 'Add device');
    await page.getByRole('button', { name: /^Battery Inverter/ }).waitFor();
    await keyboard.choose('button', 'Battery Inverter');
    await page.locator('[name=name]').waitFor();
    await keyboard.write('[name=name]', 'Battery 1');
    await keyboard.to('select');
    await keyboard.press('ArrowDown');
    await keyboard.choose('button', 'Add device');
    await says('Battery 1 was added');
    await says('mosquitto_pub');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download', exact: true }).click(),
    ]);
    assert.equal(download.suggestedFilename(), 'battery-1.json');
    const config: unknown = JSON.parse(readFileSync(await download.path(), 'utf8'));
    const { device: found } = await gateway.ok('OWNER', 'GET', '/v3/devices/battery-1');
    device = new MockDevice(
      { device_id: (found as { id: string }).id, slug: 'battery-1', config },
      { settled: gateway.settled, port: () => gateway.ports.mqttPort },
    );
    await page.getByRole('link', { name: 'Open device' }).click();
    await says('No data yet');
  });

  test('a new device comes ONLINE on its page, with values and alerts', async () => {
    await open('#/');
    const card = page.locator('[data-device=battery-1]');
    await card.getByText('OFFLINE').waitFor();
    await device.connect();
    await card.getByText('ONLINE').waitFor();
    await device.telemetry({ battery_soc: 62.5, status: 'charging', alerts: ['battery_low'] });
    await card.getByText('62.5').waitFor();
    await card.getByText('Charging').waitFor();
    await card.getByText('Battery Low').waitFor();
    await device.telemetry({ battery_soc: 63.5, status: 'charging', alerts: [] });
    await card.getByText('63.5').waitFor();
    await until(async () => (await card.getByText('Battery Low').count()) === 0);
  });

  test('an old value is never shown as a fresh one', async () => {
    const soc = page.locator('[data-device=battery-1] dd .value').first();
    assert.equal(await soc.locator('em').count(), 0);
    // Late data of a device that was cut off: measured before what is known.
    const timestamp = Math.floor(performance.timeOrigin / 1_000) - 600;
    await device.telemetry({ timestamp, battery_soc: 11, grid_total_power: 700 });
    await page
      .locator('[data-device=battery-1]')
      .getByText(/1\d min ago/)
      .waitFor();
    assert.match(await soc.innerText(), /63\.5/);
    const old = page.locator('[data-device=battery-1] .value', { hasText: 'min ago' });
    assert.match((await old.getAttribute('class')) ?? '', /stale/);
  });

  test('a command that asks for confirmation runs by keyboard alone, and its log is shown', async () => {
    const keyboard = keyboardOf(page);
    device.onRequest = (request) =>
      void (async () => {
        await device.answer(request, 'log', { message: 'opening the relay' });
        await device.answer(request, 'completed', { result: 'stopped by hand' });
      })();
    await open('#/devices/battery-1/commands');
    await page.locator('[data-command=stop]').waitFor();
    await keyboard.choose('[data-command=stop]');
    await says('Stop the inverter?');
    assert.equal(device.requests.length, 0);
    await keyboard.choose('dialog button', 'Stop');
    const progress = page.locator('[data-test=progress]');
    await progress.getByText('Done').waitFor();
    await progress.getByText('opening the relay').waitFor();
    await progress.getByText('stopped by hand').waitFor();
    assert.deepEqual(
      device.requests.map(({ name }) => name),
      ['stop'],
    );
  });

  test('the form of a command comes from the manifest and refuses invalid values', async () => {
    await page.getByRole('button', { name: 'Close' }).click();
    await page.locator('[data-command=set_mode]').click();
    const dialog = page.getByRole('dialog');
    assert.equal(await dialog.locator('[name=reserve_percent]').inputValue(), '20');
    await dialog.getByRole('button', { name: 'Run', exact: true }).click();
    assert.equal(device.requests.length, 1, 'the mode is required');
    await dialog.locator('[name=mode]').selectOption('backup');
    await dialog.getByRole('button', { name: 'Run', exact: true }).click();
    await dialog.getByText('Done').waitFor();
    assert.deepEqual(device.requests.at(-1)?.arguments, { mode: 'backup', reserve_percent: 20 });
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.locator('[data-test=executions]').getByText('Set Operating Mode').waitFor();
  });

  test('logs appear as they arrive, filtered by severity', async () => {
    await device.log('before the page', { severity: 'warning', persist: true });
    await open('#/devices/battery-1/logs');
    await says('before the page');
    await device.log('as it happens', { severity: 'info', persist: true });
    await says('as it happens');
    await page.getByLabel('Severity').selectOption('warning');
    await until(async () => (await page.getByText('as it happens').count()) === 0);
    await says('before the page');
  });

  test('the history page draws a chart', async () => {
    await open('#/devices/battery-1/chart');
    await page.locator('[data-test=chart] canvas').waitFor();
    await page.getByRole('button', { name: 'Day' }).click();
    await page.locator('[data-test=chart] canvas').waitFor();
    // Without a pointer the newest value is shown.
    await page.mouse.move(0, 0);
    await page.locator('.series-chip .now', { hasText: /^\d.* %$/ }).waitFor();
  });

  test('a configuration group is saved, and the reason of a refusal is shown', async () => {
    await open('#/devices/battery-1/configuration');
    const address = page.locator('[name=address]');
    await address.fill('not a connection');
    const save = page.locator('form', { has: address }).getByRole('button', { name: 'Save' });
    await save.click();
    await page.getByRole('alert').waitFor();
    await address.fill('modbus+tcp://10.0.0.5:502');
    await save.click();
    await says('Saved.');
    const path = '/v3/devices/battery-1/configuration/connection';
    const { configuration } = await gateway.ok('INSTALLER', 'GET', path);
    assert.deepEqual(configuration, { address: 'modbus+tcp://10.0.0.5:502' });
  });

  test('the upload of a blueprint lists all of its problems', async () => {
    await open('#/blueprints');
    await page.setInputFiles('input[type=file]', {
      name: 'broken.zip',
      mimeType: 'application/zip',
      buffer: Buffer.from('no zip'),
    });
    await page.getByRole('button', { name: 'Upload', exact: true }).click();
    assert.match(await page.getByRole('alert').innerText(), /zip/);
  });

  test('a rule is made, and its log entries are shown', async () => {
    await open('#/rules');
    await says('No rules yet');
    await page.getByRole('link', { name: 'New rule' }).click();
    await page.getByRole('link', { name: /^Empty/ }).click();
    await page.fill('[name=slug]', 'greeting');
    await page.locator('.cm-content').fill("enapter.log('grüß dich from a rule')");
    await page.getByRole('button', { name: 'Test on' }).click();
    const tried = page.locator('[data-test=dry-run]');
    await tried.getByText('The script finished: it had nothing left to do.').waitFor();
    await tried.locator('.log').getByText('grüß dich from a rule').waitFor();
    await page.getByRole('button', { name: 'Create rule' }).click();
    await page.locator('[data-test=logs]').getByText('grüß dich from a rule').waitFor();
    await page.locator('.cm-content').fill('this is no Lua');
    await page.getByRole('button', { name: 'Save and run' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save all the same' }).click();
    await page
      .locator('[data-test=logs]')
      .getByText(/syntax error/)
      .first()
      .waitFor();
    await open('#/rules');
    await page.getByRole('button', { name: 'Disable' }).click();
    await says('Disabled');
  });

  test('a backup is saved, and its password opens it', async () => {
    await open('#/system/backup');
    await page.fill('[name=backup_password]', 'one for the backup');
    await page.fill('[name=backup_repeated]', 'another one');
    await says('The passwords do not match.');
    await page.fill('[name=backup_repeated]', 'one for the backup');
    const [saved] = await Promise.all([
      // Its password is made slow to guess, and slower on a busy machine.
      page.waitForEvent('download', { timeout: 60_000 }),
      page.getByRole('button', { name: 'Download backup' }).click(),
    ]);
    assert.match(saved.suggestedFilename(), /^depot-.*\.backup$/);
    await says('was downloaded');
    const folder = mkdtempSync(join(tmpdir(), 'gateway-test-'));
    await restoreBackup(await saved.path(), 'one for the backup', folder);
    rmSync(folder, { recursive: true, force: true });
  });

  test('the console fits a phone: nothing sticks out at the side', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    for (const hash of [
      '#/',
      '#/add',
      '#/devices/battery-1',
      '#/devices/battery-1/settings',
      '#/access',
      '#/rules/greeting',
      '#/system',
      '#/system/backup',
      '#/system/targets',
      '#/system/ports',
      '#/history/week',
      '#/history/energy',
      '#/alerts',
    ]) {
      await open(hash);
      await page.locator('h1').first().waitFor();
      const [inner, outer] = (await page.evaluate(
        '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
      )) as [number, number];
      assert.ok(inner <= outer, `${hash}: ${inner} > ${outer}`);
      const outOfReach = await page.evaluate(`[...document.querySelectorAll('.tabs a, .segments button')]
        .filter((one) => one.getBoundingClientRect().right > innerWidth || one.getBoundingClientRect().left < 0)
        .map((one) => one.textContent)`);
      assert.deepEqual(outOfReach, [], `${hash}: each part of a page is in sight`);
    }
  });

  test('a device is deleted, and the page says when the gateway is gone', async () => {
    await page.setViewportSize({ width: 1_280, height: 800 });
    await open('#/devices/battery-1/settings');
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await says('No devices yet');
    await gateway.stop();
    await says('No live connection to the gateway.');
    await gateway.restart();
  });

  test('the login is asked for again when it was ended from elsewhere', async () => {
    // The gateway has another port after its restart.
    await page.goto(gateway.origin);
    await says('No devices yet');
    await until(async () => (await page.getByText('No live connection').count()) === 0);
    const { access_tokens: sessions } = await gateway.ok('INSTALLER', 'GET', '/v3/auth/tokens?kind=SESSION');
    for (const { id } of sessions as { id: string }[])
      await gateway.ok('INSTALLER', 'DELETE', `/v3/auth/tokens/${id}`);
    await says('Forgot your password?');
  });

  test('a connection without any message counts as lost and is opened again', async () => {
    const other = await browser.newPage();
    other.setDefaultTimeout(10_000);
    await other.clock.install();
    let connections = 0;
    // Opens and then says nothing, as a line that was cut.
    await other.routeWebSocket(/\/v3\/devices\?/, () => void connections++);
    await other.goto(gateway.origin);
    await other.fill('[name=password]', PASSWORD);
    await other.keyboard.press('Enter');
    await other.getByText('No devices yet').waitFor();
    await until(() => connections === 1);
    await other.clock.runFor(34_000);
    assert.equal(connections, 1);
    await other.clock.runFor(2_000);
    await until(() => connections === 2);
    await other.close();
  });

  test('breaks no rule of its content security policy and has no error of its own', () => {
    const ownFaults = complaints.filter(
      (text) => !/status of 4\d\d|ERR_CONNECTION_(REFUSED|RESET)|WebSocket connection/.test(text),
    );
    assert.deepEqual(ownFaults, []);
  });
});
