/** A backup that takes the place of what is here: sent, refused, stopped and restored, in a real browser. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER, WIDE_SCREEN } from './browser.ts';
import { liveLine } from './live-line.ts';
import { visit } from './pages.ts';
import { openAnother, PASSWORD, useConsole } from './support.ts';

const BACKUP_PASSWORD = 'one for the backup';
const LARGE_BYTES = 8_000_000;
const SLOW_BYTES_PER_SECOND = 100_000;
const STEP_MS = 10_000;
const LONGER_THAN_OTHER_ANSWERS_MS = 120_000;

describe('a backup is restored', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();

  /** A backup of this gateway. */
  async function backup(): Promise<Buffer> {
    const { gateway } = opened();
    const answer = await gateway.request('INSTALLER', 'POST', '/v3/backup', { password: BACKUP_PASSWORD });
    return Buffer.from(await answer.arrayBuffer());
  }

  async function choose(page: Page, buffer: Buffer): Promise<Locator> {
    const card = page.locator('[data-test=restore]');
    await card
      .locator('input[type=file]')
      .setInputFiles({ name: 'depot.backup', mimeType: 'application/octet-stream', buffer });
    await card.getByRole('button', { name: 'Restore…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Replace everything here with depot.backup?' });
    await dialog.waitFor();
    return dialog;
  }

  test('a backup is restored after a wrong file and a wrong password were refused in a sentence', async (t) => {
    const page = await openAnother(t, opened());
    await visit(page, '#/system/backup');
    const other = await choose(page, Buffer.from('a letter'));
    await other.getByRole('button', { name: 'Restore' }).click();
    await other.getByRole('alert').waitFor();
    await other.getByRole('button', { name: 'Cancel' }).click();
    const locked = await choose(page, await backup());
    await locked.getByRole('button', { name: 'Restore' }).click();
    await locked.getByRole('alert').filter({ hasText: 'password' }).waitFor();
    await locked.getByRole('button', { name: 'Cancel' }).click();
    await page.fill('[name=restore_password]', BACKUP_PASSWORD);
    const right = await choose(page, await backup());
    await right.getByRole('button', { name: 'Restore' }).click();
    await page.getByText('The gateway restarts with the backup of').waitFor();
    assert.equal(await page.inputValue('[name=restore_password]'), '');
  });

  test('a restore is cancelled by closing the dialog during the upload, whose progress is shown', async (t) => {
    const page = await openAnother(t, opened());
    await visit(page, '#/system/backup');
    const asked: string[] = [];
    page.on('request', (request) => void asked.push(new URL(request.url()).pathname));
    const network = await page.context().newCDPSession(page);
    await network.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: SLOW_BYTES_PER_SECOND,
    });
    const dialog = await choose(page, Buffer.alloc(LARGE_BYTES));
    await dialog.getByRole('button', { name: 'Restore' }).click();
    const progress = dialog.getByRole('progressbar', { name: 'Uploading depot.backup' });
    await progress.waitFor();
    await until(async () =>
      Boolean(await page.evaluate('document.querySelector("dialog progress").value > 0')),
    );
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await visit(page, '#/system');
    assert.ok(asked.includes('/v3/backup/upload'));
    assert.ok(!asked.includes('/v3/backup/restore'), asked.join());
  });

  test('a restore works although its check takes longer than any other answer, and cannot be stopped then', async (t) => {
    const line = liveLine();
    const page = await openAnother(t, opened(), {
      prepare: async (one) => {
        await one.clock.install();
        await line.lay(one);
      },
    });
    await visit(page, '#/system/backup');
    let answer = (): void => {};
    const held = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/v3/backup/restore', async (route) => {
      await held;
      await route.continue();
    });
    await page.fill('[name=restore_password]', BACKUP_PASSWORD);
    const dialog = await choose(page, await backup());
    await dialog.getByRole('button', { name: 'Restore' }).click();
    await dialog.getByText('Checking…').waitFor();
    assert.equal(await dialog.getByRole('button', { name: 'Cancel' }).count(), 0);
    await page.keyboard.press('Escape');
    // The connection is not lost meanwhile.
    for (let atMs = 0; atMs < LONGER_THAN_OTHER_ANSWERS_MS; atMs += STEP_MS) {
      await page.clock.runFor(STEP_MS);
      const receivedAt = new Date(Number(await page.evaluate('Date.now()'))).toISOString();
      line.say({ device_id: 'gateway', received_at: receivedAt, properties: {} });
      await page.evaluate('new Promise((heard) => requestIdleCallback(heard, { timeout: 1 }))');
    }
    await dialog.getByText('Checking…').waitFor();
    answer();
    await page.getByText('The gateway restarts with the backup of').waitFor();
  });

  test('a restore causes no error in the browser', () => {
    assert.deepEqual(
      opened().complaints.filter((text) => !/status of 4\d\d/.test(text)),
      [],
    );
  });

  // Last, as it starts the gateway again on another port.
  test('a rehearsal starts, and every page says so in both languages until it ends', async (t) => {
    const { browser, gateway } = opened();
    const page = await openAnother(t, opened());
    await visit(page, '#/system/backup');
    await page.fill('[name=restore_password]', BACKUP_PASSWORD);
    await page.getByRole('checkbox', { name: 'As a rehearsal' }).check();
    const asked = await choose(page, await backup());
    await asked.getByRole('button', { name: 'Restore' }).click();
    await page.getByText('The gateway restarts with the backup of').waitFor();
    await gateway.restart();

    const context = await browser.newContext({ ...WIDE_SCREEN, locale: 'de-AT', serviceWorkers: 'block' });
    t.after(() => context.close());
    const german = await context.newPage();
    await german.goto(gateway.origin);
    await german.fill('[name=name]', 'installer');
    await german.fill('[name=password]', PASSWORD);
    await german.keyboard.press('Enter');
    await german.getByText('Dies ist die Probe einer Sicherung').waitFor();

    const again = await openAnother(t, opened());
    const banner = again.getByText('This is a rehearsal of a backup');
    for (const hash of ['#/', '#/alerts', '#/system/backup']) {
      await visit(again, hash);
      await banner.waitFor();
    }
    await again.getByRole('button', { name: 'End the rehearsal…' }).click();
    const dialog = again.getByRole('dialog', { name: 'Take the place of the original?' });
    await dialog.getByRole('button', { name: 'End the rehearsal' }).click();
    await dialog.waitFor({ state: 'detached' });
    await gateway.restart();
    const last = await openAnother(t, opened());
    await visit(last, '#/system/backup');
    assert.equal(await last.getByText('This is a rehearsal of a backup').count(), 0);
  });
});
