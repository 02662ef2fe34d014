/** Pages of a new box in a real browser: what will stand there, in a sentence, and the first step towards it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { visit } from './pages.ts';
import { openAnother, PASSWORD, useConsole } from './support.ts';

/** Address → how its sentence begins, and the control of the first step. */
const EMPTY: Readonly<Record<string, readonly [sentence: string, step: string]>> = {
  '#/': ['Add the first one', 'Add device'],
  '#/alerts': ['What devices report as wrong', 'Choose who is notified'],
  '#/alerts/notifications': ['Alerts can be sent by email', 'Add channel'],
  '#/rules': ['A rule watches devices', 'See the templates'],
  '#/blueprints': ['The blueprint of a device from the library', 'Add device'],
  '#/system/backup': ['One file from which a new box can take over', 'Download backup'],
  '#/system/targets': ['It can also be sent to databases', 'Add target'],
  '#/system/ports': ['None yet. Devices with Modbus RTU', 'Add port…'],
};

describe('pages without content', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();

  test('empty pages say what will stand there and offer the first step', async () => {
    const { page } = opened();
    for (const [hash, [sentence, step]] of Object.entries(EMPTY)) {
      await visit(page, hash);
      await page.locator('main').getByText(sentence).first().waitFor();
      const controls = page.locator('main').locator('a, button').filter({ hasText: step });
      assert.ok((await controls.count()) > 0, `${hash} offers ${step}`);
    }
  });

  test('empty pages link the first step to its page', async () => {
    const { page } = opened();
    await visit(page, '#/alerts');
    await page.getByRole('link', { name: 'Choose who is notified' }).click();
    await page.getByRole('button', { name: 'Add channel' }).waitFor();
    await visit(page, '#/rules');
    await page.getByRole('link', { name: 'See the templates' }).click();
    await page.getByRole('link', { name: /^Empty/ }).waitFor();
  });

  test('empty pages say that the line of a device without a past day will follow', async (t) => {
    const { gateway, page } = opened();
    const device = await gateway.provision('Cellar');
    t.after(() => device.leave());
    await device.connect();
    await device.telemetry({ battery_soc: 50 });
    await visit(page, '#/devices/cellar');
    await page.locator('.hero').getByText('The line of the last 24 hours').waitFor();
  });

  test('empty pages offer no step that the role may not take', async (t) => {
    const { gateway } = opened();
    await gateway.ok('INSTALLER', 'POST', '/v3/auth/users', {
      name: 'rita',
      role: 'READONLY',
      password: PASSWORD,
    });
    const page = await openAnother(t, opened(), { name: 'rita' });
    await visit(page, '#/alerts');
    await page.getByText('What devices report as wrong').waitFor();
    assert.equal(await page.getByRole('link', { name: 'Choose who is notified' }).count(), 0);
  });
});
