/** What hands do: two clicks for one, keys alone, programs that type, files that are chosen twice, names without end. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { MockDevice } from '../support/mock-device.ts';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { until } from '../support/until.ts';
import { findBrowser, keyboardOf, NO_BROWSER } from './browser.ts';
import { visit } from './pages.ts';
import { openAnother, picture, useConsole } from './support.ts';

const NAME_LETTERS = 255;
/** Steps of the Tab key through a page. */
const STEPS = 30;

/** Where the keyboard is: name of the element and what it says. */
const focused = async (page: Page): Promise<string> =>
  String(await page.evaluate('`${document.activeElement?.tagName} ${document.activeElement?.textContent}`'));

/** What is drawn of what was done. */
const drawn = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');

describe('hands', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();
  let device: MockDevice;

  test('a second click does not confirm what the first one opened', async () => {
    const { gateway, page, open } = opened();
    device = await gateway.provision('Battery');
    await device.connect();
    device.obey();
    await open('#/devices/battery/commands');
    await page.locator('[data-command=stop]').click();
    const dialog = page.getByRole('dialog');
    const confirm = dialog.getByRole('button', { name: 'Stop', exact: true });
    await confirm.hover();
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal(device.requests.length, 0);
  });

  test('the focus stays in a dialog whose content changes, and returns to where it came from', async () => {
    const { page } = opened();
    const keyboard = keyboardOf(page);
    await keyboard.choose('[data-command=stop]');
    await page.getByRole('dialog').getByText('Stop the inverter?').waitFor();
    await keyboard.choose('dialog button', 'Stop');
    await page.locator('[data-test=progress]').getByText('Done').waitFor();
    await until(async () => (await focused(page)) === 'H2 Stop');
    await keyboard.choose('dialog button', 'Close');
    await until(async () => (await focused(page)).startsWith('BUTTON Stop'));
    assert.equal(await page.evaluate('document.activeElement.dataset.command'), 'stop');
  });

  test('the focus stays where it was after a button has worked', async () => {
    const { page, open } = opened();
    await open('#/devices/battery/configuration');
    await page.fill('[name=address]', 'not a connection');
    const form = page.locator('form', { has: page.locator('[name=address]') });
    await form.getByRole('button', { name: 'Save' }).press('Enter');
    await form.getByRole('alert').waitFor();
    await until(async () => (await focused(page)) === 'BUTTON Save');
    await page.reload();
  });

  test('the result of a command is followed after its dialog was closed', async () => {
    const { page, open } = opened();
    device.onRequest = undefined;
    await open('#/devices/battery/commands');
    await page.locator('[data-command=start]').click();
    await until(() => device.requests.some(({ name }) => name === 'start'));
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    const execution = page.locator('[data-test=executions] details', { hasText: 'Start' }).first();
    await execution
      .getByText(/^(Waiting|Running…)$/)
      .first()
      .waitFor();
    const request = device.requests.find(({ name }) => name === 'start');
    assert.ok(request);
    await device.answer(request, 'completed', {});
    await execution.getByText('Done').first().waitFor();
  });

  test('the browser does not fill its password into secrets of devices or files', async () => {
    const { page, open } = opened();
    await open('#/devices/battery/configuration');
    await page.locator('[name=password][autocomplete=new-password]').waitFor();
    await open('#/system/backup');
    await page.locator('[name=restore_password][autocomplete=new-password]').waitFor();
  });

  test('a password manager fills both fields at once', async () => {
    const { page } = opened();
    await page.evaluate(`for (const name of ['backup_password', 'backup_repeated']) {
      const input = document.querySelector('[name=' + name + ']');
      input.value = 'one that nobody remembers';
      input.dispatchEvent(new InputEvent('input', { bubbles: true }));
    }`);
    await drawn(page);
    for (const name of ['backup_password', 'backup_repeated'])
      assert.equal(await page.inputValue(`[name=${name}]`), 'one that nobody remembers');
    await page.reload();
  });

  test('a corrected file can be chosen again', async () => {
    const { page, open } = opened();
    await open('#/blueprints');
    await page.setInputFiles('input[type=file]', {
      name: 'broken.zip',
      mimeType: 'application/zip',
      buffer: Buffer.from('no zip'),
    });
    await page.getByText('broken.zip, 1 KiB').waitFor();
    assert.equal(await page.inputValue('input[type=file]'), '');
    await page.getByRole('button', { name: 'Upload', exact: true }).click();
    await page.getByRole('alert').waitFor();
  });

  test('a page that is not encrypted can copy, and the focus stays there', async (t) => {
    const page = await openAnother(t, opened(), {
      prepare: (one) =>
        one.addInitScript(`Object.defineProperty(window, 'isSecureContext', { value: false })`),
    });
    await page.evaluate(`location.hash = '#/access'`);
    await page.getByRole('button', { name: 'New token…' }).click();
    await page.fill('[name=name]', 'copied');
    await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Copy' }).first().press('Enter');
    await dialog.getByRole('button', { name: 'Copied' }).waitFor();
    assert.match(await focused(page), /^BUTTON Cop/);
    const token = await dialog.locator('pre').first().innerText();
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), token);
  });

  test('a failed logout is shown', async (t) => {
    const page = await openAnother(t, opened());
    await page.route('**/v3/auth/logout', (route) => route.abort());
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('alert').getByText('The gateway did not answer.').waitFor();
  });

  test('a value removed from a chart can be drawn again, and no two rows of its table have the same name', async () => {
    const { page, open } = opened();
    const nowS = Math.floor(Date.now() / 1_000);
    for (const agoS of [60, 40, 20]) await device.telemetry({ timestamp: nowS - agoS, pv_total_power: agoS });
    await open('#/history/hour');
    await page.locator('[name=device]').selectOption({ label: 'Battery' });
    for (let time = 0; time < 2; time++) {
      await page.locator('[name=attribute]').selectOption({ label: 'PV Power' });
      await page.getByRole('button', { name: 'Add', exact: true }).click();
      await page.getByRole('button', { name: 'Remove Battery · PV Power' }).waitFor();
      if (time === 0) await page.getByRole('button', { name: 'Remove Battery · PV Power' }).click();
      await until(async () => (await page.locator('[name=attribute]').inputValue()) === '');
    }
    await page.getByRole('button', { name: 'Show table' }).click();
    await page.getByRole('columnheader', { name: /PV Power/ }).waitFor();
    const rows = await page.locator('.picture-table tbody th').allInnerTexts();
    assert.ok(rows.length >= 3, rows.join());
    assert.equal(new Set(rows).size, rows.length, rows.join());
  });

  test('no two lines of a chart look the same, however many there are', async () => {
    const { page } = opened();
    const names = ['pv_total_power', 'battery_soc', 'grid_total_power', 'load_total_power', 'battery_power'];
    const more = ['battery_voltage', 'battery_current', 'battery_temperature'];
    await visit(
      page,
      `#/history/hour/${[...names, ...more].map((name) => `${device.id}.${name}`).join('~')}`,
    );
    const signs = (await page.evaluate(
      `[...document.querySelectorAll('.series-chip i')].map((one) => getComputedStyle(one).borderTop)`,
    )) as string[];
    const drawn = signs.filter((sign) => sign !== '');
    assert.ok(drawn.length > 6, drawn.join());
    assert.equal(new Set(drawn).size, drawn.length, drawn.join());
  });

  test('a single value between gaps is visible in a chart', async () => {
    const { gateway, page } = opened();
    const lonely = await gateway.provision('Lonely');
    await lonely.connect();
    await lonely.telemetry({ timestamp: Math.floor(Date.now() / 1_000) - 1_800, pv_total_power: 700 });
    await visit(page, `#/history/hour/${lonely.id}.pv_total_power`);
    await page.locator('[data-test=chart] canvas').waitFor();
    await until(
      async () =>
        Number(
          await page.evaluate(`(() => {
            const canvas = document.querySelector('[data-test=chart] canvas');
            const probe = document.body.appendChild(document.createElement('i'));
            probe.style.color = 'var(--line-1)';
            const line = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
            probe.remove();
            const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            let count = 0;
            for (let at = 0; at < data.length; at += 4) if (line.every((part, index) => data[at + index] === part)) count++;
            return count;
          })()`),
        ) > 3,
    );
    await lonely.leave();
  });

  test('only changed values of a device are drawn again', async (t) => {
    const page = await openAnother(t, opened(), {
      prepare: (one) =>
        one.addInitScript(`{
          const { toLocaleString } = Number.prototype;
          globalThis.written = 0;
          Number.prototype.toLocaleString = function (...format) {
            globalThis.written++;
            return toLocaleString.apply(this, format);
          };
        }`),
    });
    await device.telemetry({ battery_soc: 50, pv_total_power: 5, grid_total_power: 6, load_total_power: 7 });
    await visit(page, '#/devices/battery/values');
    const charge = page.locator('.fact', { hasText: 'State of Charge' }).first();
    await charge.getByText('50').waitFor();
    await page.evaluate('globalThis.written = 0');
    for (const percent of [51, 52, 53]) {
      await device.telemetry({ battery_soc: percent });
      await charge.getByText(String(percent)).waitFor();
    }
    // Each among the main values and in its card.
    assert.equal(await page.evaluate('globalThis.written'), 6);
  });

  test('an endless name without a space fits a phone', async () => {
    const { page, gateway } = opened();
    await device.telemetry({ battery_soc: 50, alerts: ['battery_low'] });
    const name = 'Wärmepumpe'.repeat(NAME_LETTERS).slice(0, NAME_LETTERS);
    await gateway.ok('OWNER', 'PATCH', '/v3/devices/battery', { name });
    await gateway.ok('OWNER', 'PATCH', '/v3/site', { name });
    const manifest = {
      blueprint_spec: 'device/3.0',
      display_name: name,
      runtime: { type: 'embedded' },
      telemetry: { power: { type: 'float', display_name: name, unit: 'kW' } },
    };
    const zip = await zipOf({ 'manifest.yml': JSON.stringify(manifest) });
    const { id } = await gateway.ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
    const endless = await gateway.provision('Endless', id as string);
    await endless.connect();
    await endless.telemetry({ power: 4 });
    await page.setViewportSize({ width: 390, height: 844 });
    await page.reload();
    const wide: string[] = [];
    for (const hash of [
      '#/',
      '#/devices/battery/values',
      '#/devices/battery/settings',
      `#/history/hour/${device.id}.pv_total_power`,
      '#/devices/endless/chart',
      '#/alerts',
      '#/site',
      '#/system/targets',
    ]) {
      await visit(page, hash);
      const overPx = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
      if (overPx > 0) wide.push(`${hash} is ${overPx} pixels too wide`);
      await picture(page, `long-names${hash.replaceAll(/\W+/g, '-').slice(0, 40)}`);
      await page.setViewportSize({ width: 390, height: 844 });
    }
    assert.deepEqual(wide, []);
    await endless.leave();
    await device.leave();
  });

  test('the narrowest phone reaches all pages of the bar and all periods of a chart', async () => {
    const { page } = opened();
    await page.setViewportSize({ width: 320, height: 640 });
    for (const language of ['de', 'en']) {
      await page.locator('.nav .more').click();
      await page.locator('[name=language]').selectOption(language);
      await page.locator(`html[lang=${language}] .nav li`).first().waitFor();
      await visit(page, '#/history/hour');
      await page.locator('.nav .more').click();
      const outside =
        await page.evaluate(`[...document.querySelectorAll('.nav li a, .nav .more, .nav .button, .segments button')]
        .filter((one) => {
          const { left, right } = one.getBoundingClientRect();
          const place = one.closest('.card')?.getBoundingClientRect();
          return left < (place?.left ?? 0) || right > (place?.right ?? innerWidth);
        })
        .map((one) => one.textContent)`);
      assert.deepEqual(outside, [], language);
      // Nobody needs a pointer to open it, to choose and to be back where it was opened.
      const more = page.locator('.nav .more');
      const closed = () => until(async () => (await more.getAttribute('aria-expanded')) === 'false');
      await page.keyboard.press('Escape');
      await closed();
      await until(async () => (await focused(page)).startsWith('BUTTON'));
      await page.keyboard.press('Enter');
      await page.locator('.nav a[href="#/access"]').click();
      await page
        .locator('h1')
        .getByText(/^(Zugang|Access)$/)
        .waitFor();
      await closed();
      await page.locator('.nav a[href="#/access"]').waitFor({ state: 'hidden' });
      await more.click();
      await page.locator('h1').click();
      await closed();
    }
    await page.setViewportSize({ width: 390, height: 844 });
  });

  test('the bottom bar of a phone hides no control that has the focus', async () => {
    const { page } = opened();
    const hidden = new Set<string>();
    for (const hash of ['#/access', '#/site', '#/system/backup']) {
      await visit(page, hash);
      for (let step = 0; step < STEPS; step++) {
        await page.keyboard.press('Tab');
        const covered = await page.evaluate(`(() => {
          const element = document.activeElement;
          const { bottom, height } = element.getBoundingClientRect();
          const barTop = document.querySelector('.nav ul').getBoundingClientRect().top;
          return element.closest('main') && height < 200 && bottom > barTop && element.outerHTML.slice(0, 80);
        })()`);
        if (typeof covered === 'string') hidden.add(`${hash} ${covered}`);
      }
    }
    assert.deepEqual([...hidden], []);
  });

  test('unusual input logs no error in the browser', () => {
    assert.deepEqual(
      opened().complaints.filter((text) => !/status of 4\d\d/.test(text)),
      [],
    );
  });
});
