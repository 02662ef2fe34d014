/** A box whose clock was never set, in a real browser. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { startTestGateway } from '../support/test-gateway.ts';
import { TestClock } from '../support/test-clock.ts';
import { enterBrowser, findBrowser, leaveBrowser, NO_BROWSER, WIDE_SCREEN } from './browser.ts';
import { visit } from './pages.ts';
import { CONSOLE_DIR, PASSWORD } from './support.ts';

/** The box measures itself in between. */
const MEASURED_MS = 11_000;

describe('a clock that is not set', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  test('a clock that is not set is named where charts and energy would otherwise be empty without a reason', async (t) => {
    const clock = new TestClock(60_000);
    const gateway = await startTestGateway(t, { clock, consoleDir: CONSOLE_DIR });
    await clock.advance(MEASURED_MS);
    t.after(leaveBrowser);
    const page = await (await enterBrowser()).newPage(WIDE_SCREEN);
    await page.goto(gateway.origin);
    await page.fill('[name=claim_code]', readFileSync(join(gateway.dataDir, 'claim-code'), 'utf8').trim());
    await page.fill('[name=password]', PASSWORD);
    await page.fill('[name=repeated]', PASSWORD);
    await gateway.settled(page.keyboard.press('Enter').then(() => page.locator('.nav').waitFor()));
    const { devices } = await gateway.settled(gateway.ok('OWNER', 'GET', '/v3/devices'));
    const box = (devices as { id: string; type: string }[]).find(({ type }) => type === 'GATEWAY');
    for (const hash of [`#/history/hour/${box?.id}.uptime_s`, '#/history/energy']) {
      await gateway.settled(visit(page, hash));
      await page.getByText('The clock of the gateway is not set').waitFor();
    }
  });
});
