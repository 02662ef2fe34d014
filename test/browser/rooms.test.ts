/** Rooms and order of devices on a phone: from the overview to both, and back to what all users see. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { visit } from './pages.ts';
import { PASSWORD, useConsole } from './support.ts';

describe('rooms and order of devices', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();

  before(async () => {
    for (const name of ['Boiler', 'Car', 'Roof'])
      await opened().gateway.ok('OWNER', 'POST', '/v3/provisioning/standalone', { name });
  });

  const namesOn = async (selector: string): Promise<string[]> =>
    (await opened().page.locator(selector).allTextContents()).map((text) => text.trim());

  test('rooms and order are set by touch, and the overview shows them after a reload', async (t) => {
    const { browser, gateway } = opened();
    const context = await browser.newContext({
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      serviceWorkers: 'block',
    });
    t.after(() => context.close());
    const page = await context.newPage();
    await page.goto(gateway.origin);
    await page.fill('[name=name]', 'installer');
    await page.fill('[name=password]', PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Order and rooms' }).tap();
    await page.getByRole('button', { name: 'Move Roof up' }).tap();
    await page.getByText('Roof: place 2 of 3.').waitFor();
    await page.getByRole('button', { name: 'Move Roof up' }).tap();
    await page.getByText('Roof: place 1 of 3.').waitFor();
    for (const [name, room] of [
      ['Boiler', 'Cellar'],
      ['Car', 'Garage'],
      ['Roof', 'Cellar'],
    ] as const) {
      await page.getByLabel(`Room of ${name}`).fill(room);
      await page.getByLabel(`Room of ${name}`).blur();
    }
    await until(async () => {
      const { devices } = await gateway.ok('READONLY', 'GET', '/v3/devices?expand=room&type.in=STANDALONE');
      return (devices as { room: string }[]).every(({ room }) => room !== '');
    });
    const offered = page.locator('datalist').first().locator('option');
    await until(async () => (await offered.count()) === 2);
    await page.evaluate(`location.hash = '#/'`);
    await page.getByLabel('By room').tap();
    await page.getByRole('heading', { name: 'Garage' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Garage' }).waitFor();
    await until(async () => (await page.locator('.device-group h4').count()) >= 3);
    assert.deepEqual((await page.locator('.device-group > h3').allTextContents()).slice(0, 2), [
      'Cellar',
      'Garage',
    ]);
    assert.deepEqual((await page.locator('.device-group h4').allTextContents()).slice(0, 3), [
      'Roof',
      'Boiler',
      'Car',
    ]);
  });

  test('rooms and order are the same for another user, whose open page follows', async () => {
    const { page, gateway } = opened();
    await visit(page, '#/');
    const names = (): Promise<string[]> => namesOn('.device-group h4');
    await until(async () => (await names())[0] === 'Roof');
    await gateway.ok('OWNER', 'PATCH', '/v3/devices/car', { position: 0 });
    await until(async () => (await names())[0] === 'Car');
  });

  test('rooms and order are set by keyboard: the focus stays with the device that moves', async () => {
    const { page } = opened();
    await visit(page, '#/devices');
    await page.getByRole('button', { name: 'Move Car down' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Car: place 2 of 3.').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('Car: place 3 of 3.').waitFor();
    // It cannot go further down.
    await page.keyboard.press('Enter');
    await page.getByText('Car: place 2 of 3.').waitFor();
    assert.deepEqual(await namesOn('.arranged .name'), ['Roof', 'Car', 'Boiler']);
  });

  test("a device's page has a field for its room, which can be emptied", async () => {
    const { page, gateway } = opened();
    await visit(page, '#/devices/car/settings');
    await page.getByLabel('Room', { exact: true }).fill('');
    await page.getByRole('button', { name: 'Save' }).first().click();
    await page.getByText('Saved.').waitFor();
    const { device } = await gateway.ok('READONLY', 'GET', '/v3/devices/car?expand=room');
    assert.equal((device as { room: string }).room, '');
  });
});
