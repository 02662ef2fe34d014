/** Notes, photos and documents of a device on a phone, as an installer keeps them and a guest reads them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { visit } from './pages.ts';
import { PASSWORD, useConsole } from './support.ts';

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, serviceWorkers: 'block' } as const;
const AT = '/v3/devices/meter/documents';

interface Listed {
  id: string;
  name: string;
  media_type: string;
  size_bytes: number;
}

/** A picture of 12 million pixels that compresses badly, as a camera makes them. */
const CAMERA_PICTURE = `(async () => {
  const canvas = document.createElement('canvas');
  canvas.width = 4000;
  canvas.height = 3000;
  const context = canvas.getContext('2d');
  const noise = context.createImageData(1000, 750);
  let seed = 1;
  for (let index = 0; index < noise.data.length; index++) {
    seed = (seed * 48271) % 2147483647;
    noise.data[index] = index % 4 === 3 ? 255 : seed % 256;
  }
  for (let x = 0; x < 4; x++) for (let y = 0; y < 4; y++) context.putImageData(noise, x * 1000, y * 750);
  const blob = await new Promise((done) => canvas.toBlob(done, 'image/jpeg', 0.95));
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = '';
  for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return btoa(text);
})()`;

describe('documents of a device', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();
  const list = async (): Promise<Listed[]> =>
    (await opened().gateway.ok('READONLY', 'GET', AT))['documents'] as Listed[];

  async function logIn(page: Page, name: string): Promise<void> {
    await page.goto(opened().gateway.origin);
    await page.fill('[name=name]', name);
    await page.fill('[name=password]', PASSWORD);
    await page.keyboard.press('Enter');
    await page.locator('.nav').waitFor();
    await visit(page, '#/devices/meter/documents');
  }

  test('documents are kept with a phone: notes, a smaller copy of a photo, a manual, and a deletion that is confirmed', async (t) => {
    const { browser, gateway } = opened();
    await gateway.ok('OWNER', 'POST', '/v3/provisioning/standalone', { name: 'Meter' });
    const context = await browser.newContext(PHONE);
    t.after(() => context.close());
    const page = await context.newPage();
    await logIn(page, 'installer');
    await page.getByText('Photos of the type plate and the wiring').waitFor();

    await page.getByLabel('What others should know').fill('Fuse F3.\nKey at the door.');
    await page.getByRole('button', { name: 'Save' }).tap();
    await page.getByText('Saved.').waitFor();

    const photo = Buffer.from(String(await page.evaluate(CAMERA_PICTURE)), 'base64');
    assert.ok(photo.length > 3_000_000, `${photo.length} bytes`);
    await page.getByLabel('Name of the next file').fill('Type plate');
    const file = { name: 'IMG_0001.jpeg', mimeType: 'image/jpeg', buffer: photo };
    await page.getByLabel('Add photo…').setInputFiles(file);
    await page.getByRole('button', { name: 'Show Type plate' }).waitFor();
    const [stored] = await list();
    assert.equal(stored?.media_type, 'image/jpeg');
    assert.ok(stored.size_bytes <= 500_000, `${stored.size_bytes} bytes`);
    await until(() => page.evaluate(`document.querySelector('.photo img').naturalWidth > 0`));

    const manual = { name: 'Manual.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7 …') };
    await page.getByLabel('Add document…').setInputFiles(manual);
    await page.getByRole('link', { name: 'Manual' }).waitFor();
    const program = { name: 'a.pdf', mimeType: 'application/pdf', buffer: Buffer.from([0x7f, 0x45, 0x00]) };
    await page.getByLabel('Add document…').setInputFiles(program);
    await page.getByRole('alert').getByText('must be a photo').waitFor();
    assert.deepEqual(
      (await list()).map(({ name }) => name),
      ['Type plate', 'Manual'],
    );

    await page.getByRole('button', { name: 'Delete Manual' }).tap();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).tap();
    await until(async () => (await list()).length === 1);
    await page.getByRole('button', { name: 'Show Type plate' }).tap();
    await page.locator('.whole-photo').waitFor();
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
  });

  test('documents can be read but not changed by read-only users, and stand in the commissioning protocol', async (t) => {
    const { browser, gateway, page: ofInstaller } = opened();
    await gateway.ok('INSTALLER', 'POST', '/v3/auth/users', {
      name: 'guest',
      role: 'READONLY',
      password: PASSWORD,
    });
    const context = await browser.newContext(PHONE);
    t.after(() => context.close());
    const page = await context.newPage();
    await logIn(page, 'guest');
    await page.getByText('Fuse F3.').waitFor();
    await page.getByRole('button', { name: 'Show Type plate' }).waitFor();
    assert.equal(await page.locator('main input, main textarea').count(), 0);
    await visit(ofInstaller, '#/system/protocol');
    const card = ofInstaller.locator('[data-test=protocol-device]', { hasText: 'Fuse F3.' });
    await card.getByText('Type plate').waitFor();
  });
});
