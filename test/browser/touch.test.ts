/** Everything that a finger may press is large enough for it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { PAGES, visit } from './pages.ts';
import { PASSWORD, useConsole } from './support.ts';

const FINGER_PX = 44;

/** What can be pressed and is smaller, described. A box is as large as the label around it. */
const SMALL = `(() => {
  const wanted = 'a[href], button, input, select, textarea, summary, [role=button], [role=tab]';
  const small = [];
  for (const one of document.querySelectorAll(wanted)) {
    if (!one.checkVisibility({ visibilityProperty: true }) || one.matches('.skip, :disabled, [type=file]')) continue;
    const around = one.matches('[type=checkbox], [type=radio]') ? (one.closest('label') ?? one) : one;
    const { width, height } = around.getBoundingClientRect();
    if (width + 0.5 < ${FINGER_PX} || height + 0.5 < ${FINGER_PX})
      small.push(one.tagName + '.' + (one.className.baseVal ?? one.className) + ' in ' + one.parentElement.className + ' ' +
        Math.round(width) + 'x' + Math.round(height) + ' ' + (one.textContent || one.name || '').trim().slice(0, 24));
  }
  return small;
})()`;

/** Rows and cards that are links as a whole and do not lie in their place, described. */
const OUTSIDE = `[...document.querySelectorAll('.attention a, .device-card > a, .ways a')].flatMap((one) => {
  const [own, place] = [one, one.parentElement].map((element) => element.getBoundingClientRect());
  const fits = Math.abs(own.top - place.top) < 2 && Math.abs(own.bottom - place.bottom) < 2 && own.width > place.width - 2;
  return fits ? [] : [one.parentElement.className + ' ' + one.textContent.trim().slice(0, 24)];
})`;

describe('touch', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole({ GATEWAY_RULE_SANDBOX: 'true' });

  test('no target on any page is below 44 px with a coarse pointer at 390 px, and rows that are links are filled by them', async (t) => {
    const { browser, gateway } = opened();
    const device = await gateway.provision('Battery');
    await device.connect();
    await device.telemetry({ battery_soc: 50, grid_total_power: -300, alerts: ['battery_low'] });
    await gateway.ok('OWNER', 'POST', '/v3/site/rule_engine/rules', {
      slug: 'greeting',
      script: { code: Buffer.from('-- hello').toString('base64'), runtime_version: 'V3' },
    });
    await gateway.ok('OWNER', 'POST', '/v3/targets', {
      name: 'Nobody',
      kind: 'INFLUXDB',
      influxdb: { url: 'http://127.0.0.1:9/write' },
    });
    const context = await browser.newContext({
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
      serviceWorkers: 'block',
      reducedMotion: 'reduce',
    });
    t.after(() => context.close());
    const page = await context.newPage();
    await page.goto(gateway.origin);
    await page.locator('[name=password]').waitFor();
    const small = new Set<string>();
    const outside = new Set<string>();
    const look = async (where: string): Promise<void> => {
      for (const one of (await page.evaluate(SMALL)) as string[]) small.add(`${where}: ${one}`);
    };
    await look('login');
    await page.fill('[name=name]', 'installer');
    await page.fill('[name=password]', PASSWORD);
    await page.keyboard.press('Enter');
    await page.locator('.nav').waitFor();
    for (const hash of PAGES) {
      await visit(page, hash);
      await look(hash);
      for (const one of (await page.evaluate(OUTSIDE)) as string[]) outside.add(`${hash}: ${one}`);
    }
    await page.locator('.nav .more').click();
    await look('all pages of the menu');
    await device.leave();
    assert.deepEqual([...small], []);
    assert.deepEqual([...outside], [], 'rows and cards that are links fill their place');
  });
});
