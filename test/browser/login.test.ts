/** Why a login is asked for, and what is not lost by it, in a real browser. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { findBrowser, NO_BROWSER, WIDE_SCREEN } from './browser.ts';
import { visit } from './pages.ts';
import { claim, openAnother, PASSWORD, useNewConsole } from './support.ts';

const BACKUP_PASSWORD = 'one for the backup';
const CLAIMED = 'Somebody has claimed this gateway in the meantime.';
const LOOKED_AFTER_MS = 5_000;

describe('a login is asked for', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useNewConsole();

  /** As an installer does who suspects one of them. */
  async function endLogins(): Promise<void> {
    const { gateway } = opened();
    const { access_tokens: sessions } = await gateway.ok('INSTALLER', 'GET', '/v3/auth/tokens?kind=SESSION');
    for (const { id } of sessions as { id: string }[])
      await gateway.ok('INSTALLER', 'DELETE', `/v3/auth/tokens/${id}`);
  }

  async function logIn(page: Page): Promise<void> {
    await page.fill('[name=password]', PASSWORD);
    await page.keyboard.press('Enter');
    await page.locator('.nav').waitFor();
  }

  test('a login is asked for when somebody else has claimed the gateway, while the code is typed or sent', async (t) => {
    const { browser, gateway } = opened();
    const code = readFileSync(join(gateway.dataDir, 'claim-code'), 'utf8').trim();
    const comeToClaim = async (): Promise<Page> => {
      const context = await browser.newContext(WIDE_SCREEN);
      t.after(() => context.close());
      const page = await context.newPage();
      await page.clock.install();
      await page.goto(gateway.origin);
      await page.fill('[name=claim_code]', code);
      return page;
    };
    const typing = await comeToClaim();
    const sending = await comeToClaim();
    await sending.fill('[name=password]', PASSWORD);
    await sending.fill('[name=repeated]', PASSWORD);
    await claim(opened());
    await sending.click('button[type=submit]');
    await sending.getByText(CLAIMED).waitFor();
    await typing.clock.runFor(LOOKED_AFTER_MS);
    await typing.getByText(CLAIMED).waitFor();
    await logIn(typing);
  });

  test('a login is asked for during a backup, which is saved all the same', async (t) => {
    const page = await openAnother(t, opened());
    await visit(page, '#/system/backup');
    await page.route('**/v3/backup', async (route) => {
      const response = await route.fetch();
      await endLogins();
      await page.getByText('Your login has expired.').waitFor();
      await route.fulfill({ response });
    });
    await page.locator('[name=backup_password]').fill(BACKUP_PASSWORD);
    await page.locator('[name=backup_repeated]').fill(BACKUP_PASSWORD);
    const [saved] = await Promise.all([
      page.waitForEvent('download', { timeout: 60_000 }),
      page.getByRole('button', { name: 'Download backup' }).click(),
    ]);
    assert.match(saved.suggestedFilename(), /\.backup$/);
    await logIn(page);
    await page.getByText('was downloaded').waitFor();
  });

  test('a login is asked for after a restore, with the users and passwords of the backup', async (t) => {
    const { gateway } = opened();
    const page = await openAnother(t, opened());
    const answer = await gateway.request('INSTALLER', 'POST', '/v3/backup', { password: BACKUP_PASSWORD });
    await visit(page, '#/system/backup');
    await page.locator('[data-test=restore] input[type=file]').setInputFiles({
      name: 'depot.backup',
      mimeType: 'application/octet-stream',
      buffer: Buffer.from(await answer.arrayBuffer()),
    });
    await page.fill('[name=restore_password]', BACKUP_PASSWORD);
    await page.getByRole('button', { name: 'Restore…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
    await page.getByText('The gateway restarts with the backup of').waitFor();
    await endLogins();
    await page.getByText('The gateway has been restored.').waitFor();
    assert.equal(await page.locator('.nav').count(), 0);
    await logIn(page);
  });
});
