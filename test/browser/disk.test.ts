/** A disk that takes nothing: nothing looks well. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { visit } from './pages.ts';
import { useConsole } from './support.ts';

describe('on a disk that takes nothing', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();

  /** Runs SQL beside the gateway. */
  const inDatabase = (name: string, statement: string): void => {
    const handle = new BetterSqlite3(join(opened().gateway.dataDir, name));
    handle.exec(statement);
    handle.close();
  };

  test('an alert that cannot be stored is shown, and the summary does not say that all is well', async () => {
    const { gateway, page, says } = opened();
    const device = await gateway.provision('Battery');
    await device.connect();
    await says('Nothing needs attention.');
    inDatabase(
      'state.db',
      "CREATE TRIGGER refuse BEFORE INSERT ON alert BEGIN SELECT RAISE(ABORT, 'no'); END",
    );
    await device.telemetry({ alerts: ['battery_low'] });
    const attention = page.locator('[data-test=attention]');
    await attention.getByText('Battery: Battery Low').waitFor();
    assert.equal((await gateway.ok('OWNER', 'GET', '/v3/alerts?state=RAISED'))['total_count'], 0);
    await visit(page, '#/alerts');
    const unstored = page.locator('[data-test=unstored-alerts]');
    await unstored.getByText('reported now, not stored yet').waitFor();
    assert.equal(await page.getByText('No active alerts').count(), 0);
    inDatabase('state.db', 'DROP TRIGGER refuse');
    // Stored, it is shown as any other, once.
    await page.getByRole('button', { name: 'Acknowledge Battery Low of Battery' }).waitFor();
    await unstored.waitFor({ state: 'detached' });
    await device.telemetry({ alerts: [] });
    await page.getByText('No active alerts').waitFor();
    await device.leave();
  });

  test('the storage page says that nothing is stored, not that old history is removed', async () => {
    const { gateway, page } = opened();
    const device = await gateway.provision('Logger');
    await device.connect();
    await visit(page, '#/system');
    const storage = page.locator('[data-test=storage]');
    const givesWay = storage.getByText('the oldest history is replaced by the newest');
    await givesWay.waitFor();
    inDatabase(
      'history.db',
      "CREATE TRIGGER refuse BEFORE INSERT ON device_log BEGIN SELECT RAISE(ABORT, 'no'); END",
    );
    // Sent, and not acknowledged before it is stored.
    const logged = device.send('v1/logs', { severity: 'info', message: 'hello' });
    await storage
      .getByText('Telemetry and logs cannot be stored at the moment.')
      .waitFor({ timeout: 30_000 });
    assert.equal(await givesWay.count(), 0);
    inDatabase('history.db', 'DROP TRIGGER refuse');
    await logged;
    await givesWay.waitFor({ timeout: 60_000 });
    await device.leave();
  });
});
