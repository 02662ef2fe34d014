/** A newer version in a real browser: refused, shown, installed, and what became of it. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { startUpdates } from '../contract/update-support.ts';
import { noDpkg } from '../platform/packages/support.ts';
import { findBrowser, keyboardOf, NO_BROWSER } from './browser.ts';
import { picture, useConsole } from './support.ts';

const UPDATES = '#/system/updates';

describe('updates in a browser', { skip: (findBrowser() === undefined && NO_BROWSER) || noDpkg }, () => {
  const opened = useConsole();

  test('a gateway that no package installed says so, and asks for no file', async () => {
    const { page, open, says } = opened();
    await open(UPDATES);
    await says('This gateway was not installed from its package');
    await says('0.0.0-test');
    assert.equal(await page.locator('input[type=file]').count(), 0);
    await picture(page, 'updates-none');
  });

  test('a package is refused with a sentence, shown, installed by keyboard, and reported when it failed', async (t) => {
    const { page, open, says } = opened();
    const box = await startUpdates(t);
    let { served } = box;
    let isAway = false;
    // These operations are answered by a gateway that its package is said to have installed.
    await page.route('**/v3/update**', (route) => {
      const { pathname } = new URL(route.request().url());
      if (isAway) return route.abort();
      const headers = { ...route.request().headers(), 'x-service-auth-token': 'INSTALLER' };
      return route.continue({ url: served.origin + pathname, headers });
    });
    t.after(() => page.unroute('**/v3/update**'));
    await open('#/system');
    const keyboard = keyboardOf(page);
    await keyboard.choose('a', 'Updates');
    const card = page.locator('[data-test=update]');
    await card.getByText('0.1.0').waitFor();
    await page.setInputFiles('.drop input', box.unsigned);
    await card.getByRole('alert').filter({ hasText: 'The package is not signed' }).waitFor();
    await page.setInputFiles('.drop input', {
      name: 'cut-off.deb',
      mimeType: 'application/octet-stream',
      buffer: readFileSync(box.file).subarray(0, -30),
    });
    await card.getByRole('alert').filter({ hasText: 'its end is missing' }).waitFor();
    await picture(page, 'updates-refused');
    await page.setInputFiles('.drop input', box.file);
    await page.getByRole('heading', { name: 'Version 0.2.0 is ready to install' }).waitFor();
    await says('pumps are quieter');
    assert.equal(await card.getByRole('alert').count(), 0);
    await picture(page, 'updates-uploaded');
    await keyboard.choose('button', 'Install…');
    await page.getByRole('dialog', { name: 'Install version 0.2.0 in place of 0.1.0?' }).waitFor();
    await picture(page, 'updates-question');
    await keyboard.choose('dialog button', 'Install');
    await says('Version 0.2.0 is being checked once more and unpacked.');
    assert.equal(await page.locator('input[type=file]').count(), 0);
    isAway = true;
    await says('The gateway is restarting.');
    await picture(page, 'updates-installing');
    await rename(join(box.dataDir, 'update/install.deb'), join(box.folder, 'taken.deb'));
    served = await box.restart('0.2.0');
    isAway = false;
    await says('Version 0.2.0 is running. If it does not stay ready, 0.1.0 returns');
    await picture(page, 'updates-installed');
    served = await box.restart('0.1.0');
    writeFileSync(box.updater.outcomeFile, '2026-03-01T08:00:00Z installed\n');
    writeFileSync(box.updater.trialFile, '2026-03-01T08:02:00Z Version 0.2.0 failed; 0.1.0 runs again.\n');
    await open('#/system');
    await page.locator('[data-test=condition]').waitFor();
    await open(UPDATES);
    await says('Version 0.1.0 is running, not 0.2.0. Version 0.2.0 failed; 0.1.0 runs again.');
    writeFileSync(
      box.updater.failureFile,
      '2026-03-01T08:02:00Z 0.2.0-3f2a9c0d1e4b refused 78 state.db was written by a newer version\n',
    );
    const failed = page.locator('.notice.warning');
    await open('#/system');
    await page.locator('[data-test=condition]').waitFor();
    await open(UPDATES);
    await failed.getByText('The update to version 0.2.0 was undone').waitFor();
    await failed.getByText('It refused to run.').waitFor();
    await failed.getByText('state.db was written by a newer version').waitFor();
    assert.equal(await page.getByText('Version 0.1.0 is running, not 0.2.0.').count(), 0);
    await picture(page, 'updates-failed');
    // It named nothing that could be mended.
    writeFileSync(box.updater.failureFile, '2026-03-01T08:02:00Z 0.2.0-3f2a9c0d1e4b hung -\n');
    await open('#/system');
    await page.locator('[data-test=condition]').waitFor();
    await open(UPDATES);
    await failed.getByText('It stopped responding.').waitFor();
    await failed.getByText('Keep the current version').waitFor();
    assert.equal(await failed.getByText('what it names').count(), 0);
  });
});
