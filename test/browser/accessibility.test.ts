/** Every page judged by axe, in both themes, on a phone and on a wide screen. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { tryRule } from './dry-run.ts';
import { PAGES, visit } from './pages.ts';
import { useConsole } from './support.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Each with the first place where it was found. */
async function findingsOf(page: Page): Promise<string[]> {
  if ((await page.evaluate('globalThis.axe === undefined')) === true) await page.evaluate(AXE);
  // Passed checks are reported without details.
  const { violations } = (await page.evaluate(`axe.run({ resultTypes: ['violations'] })`)) as AxeResults;
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 160)} (${nodes[0]?.failureSummary ?? ''})`,
  );
}

/** On a phone and on a wide screen, light and dark. */
async function inAllLooks(page: Page, judge: (look: string) => Promise<void>): Promise<void> {
  for (const width of [390, 1_440])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      await judge(`${width} ${colorScheme}`);
    }
}

describe('accessibility', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole({ GATEWAY_RULE_SANDBOX: 'true' });

  test('no page has a finding, in both themes, at 390 and at 1440 pixels', async () => {
    const { page, gateway } = opened();
    const device = await gateway.provision('Battery');
    await device.connect();
    await device.telemetry({ battery_soc: 50, grid_total_power: -300, alerts: ['battery_low'] });
    await gateway.ok('OWNER', 'POST', '/v3/site/rule_engine/rules', {
      slug: 'greeting',
      script: { code: Buffer.from('-- hello').toString('base64'), runtime_version: 'V3' },
    });
    await gateway.ok('INSTALLER', 'POST', '/v3/io_ports', {
      name: 'di-1',
      kind: 'DIGITAL_INPUT',
      path: '/dev/gpiochip0',
      line: 1,
    });
    await gateway.ok('OWNER', 'POST', '/v3/targets', {
      name: 'Nobody',
      kind: 'INFLUXDB',
      influxdb: { url: 'http://127.0.0.1:9/write' },
    });
    const found: string[] = [];
    await inAllLooks(page, async (look) => {
      for (const hash of PAGES) {
        await visit(page, hash);
        for (const finding of await findingsOf(page)) found.push(`${hash} ${look} ${finding}`);
      }
    });
    await device.leave();
    assert.deepEqual(found, []);
  });

  test('the result of a dry run has no finding of axe', async () => {
    const { page } = opened();
    const tried = await tryRule(opened());
    await tried.getByText('Show table').click();
    await tried.locator('.picture-table tbody tr').first().waitFor();
    const found: string[] = [];
    await inAllLooks(page, async (look) => {
      for (const finding of await findingsOf(page)) found.push(`${look} ${finding}`);
    });
    assert.deepEqual(found, []);
  });

  test('the login has no finding of axe', async () => {
    const { page } = opened();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    assert.deepEqual(await findingsOf(page), []);
  });
});
