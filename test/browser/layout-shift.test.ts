/** Pages do not jump while they load: what comes late has its room from the start. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { openAnew, PAGES } from './pages.ts';
import { openAnother, useConsole } from './support.ts';

/** As browsers count it: by how much of the screen moved how far. */
const SHIFT_MAX = 0.02;
const SCREENS = [
  { width: 390, height: 844 },
  { width: 1_440, height: 900 },
];

const WATCH_SHIFTS = `
  globalThis.shifts = [];
  new PerformanceObserver((list) => {
    for (const { value, sources, startTime } of list.getEntries())
      shifts.push({ value, moved: Math.round(startTime) + " " + sources.map(({ node, previousRect, currentRect }) => [node?.nodeName, node?.className, (node?.textContent ?? "").slice(0, 20), Math.round(previousRect.y), Math.round(currentRect.y)].join(" ")).join(" | ") });
  }).observe({ type: 'layout-shift', buffered: true });`;

describe('layout', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole({ GATEWAY_RULE_SANDBOX: 'true' });

  test('no page jumps while it loads, on a phone and on a wide screen', async (t) => {
    const { gateway } = opened();
    const devices = [];
    for (const name of ['Battery', 'Roof', 'Heat pump', 'Wallbox', 'Meter']) {
      const device = await gateway.provision(name);
      await device.connect();
      await device.telemetry({ pv_total_power: 5_200, grid_total_power: -300, battery_soc: 50 });
      devices.push(device);
    }
    await devices[0]?.telemetry({ alerts: ['battery_low'] });
    await gateway.ok('OWNER', 'POST', '/v3/site/rule_engine/rules', {
      slug: 'greeting',
      script: { code: Buffer.from('-- hello').toString('base64'), runtime_version: 'V3' },
    });
    const page = await openAnother(t, opened(), { prepare: (one) => one.addInitScript(WATCH_SHIFTS) });
    const jumping: string[] = [];
    for (const screen of SCREENS) {
      await page.setViewportSize(screen);
      for (const hash of PAGES) {
        await openAnew(page, gateway.origin, hash);
        const shifts = (await page.evaluate('shifts')) as { value: number; moved: string }[];
        const sum = shifts.reduce((whole, { value }) => whole + value, 0);
        if (!(sum < SHIFT_MAX))
          jumping.push(
            `${hash} at ${screen.width}: ${sum.toFixed(3)}, moved ${shifts.map(({ value, moved }) => `${value.toFixed(3)} ${moved}`).join('; ')}`,
          );
      }
    }
    for (const device of devices) await device.leave();
    assert.deepEqual(jumping, []);
  });
});
