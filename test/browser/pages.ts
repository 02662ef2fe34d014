/** All pages of the console, and how to come to one. */
import assert from 'node:assert/strict';
import type { Page, Request } from 'playwright-core';
import { until } from '../support/until.ts';

/** Addresses of all pages of the console, of a site with a device `battery` and a rule `greeting`. */
export const PAGES = [
  '#/',
  '#/wall',
  '#/devices',
  '#/history/day',
  '#/history/energy/2026',
  '#/rules',
  '#/rules/greeting',
  '#/new-rule',
  '#/new-rule/form/limit',
  '#/new-rule/script',
  '#/blueprints',
  '#/site',
  '#/access',
  '#/alerts',
  '#/alerts/history',
  '#/alerts/notifications',
  '#/system',
  '#/system/backup',
  '#/system/targets',
  '#/system/ports',
  '#/system/updates',
  '#/system/protocol',
  '#/add',
  '#/devices/battery/values',
  '#/devices/battery/chart',
  '#/devices/battery/commands',
  '#/devices/battery/configuration',
  '#/devices/battery/logs',
  '#/devices/battery/documents',
  '#/devices/battery/settings',
];

/** Looks in a row at which nothing was under way: what is asked for last follows from what was answered. */
const QUIET_LOOKS = 3;

/** Goes to a page and waits until it has drawn what it asked for. */
export async function visit(page: Page, hash: string): Promise<void> {
  await settled(page, () => page.evaluate(`location.hash = ${JSON.stringify(hash)}`));
  // Something typed on the page before may have held it.
  assert.equal(await page.evaluate('location.hash'), hash);
}

/** Opens the console anew at a page, as from a bookmark, and waits until it has drawn what it asked for. */
export async function openAnew(page: Page, origin: string, hash: string): Promise<void> {
  // The same address with another hash would be no load.
  await page.goto('about:blank');
  await settled(page, () => page.goto(`${origin}/${hash}`));
}

async function settled(page: Page, go: () => Promise<unknown>): Promise<void> {
  const asked = new Set<Request>();
  const note = (request: Request): void => void asked.add(request);
  const answered = (request: Request): void => void asked.delete(request);
  page.on('request', note).on('requestfinished', answered).on('requestfailed', answered);
  try {
    await go();
    let quiet = 0;
    await until(async () => {
      await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))');
      quiet = asked.size === 0 && (await page.locator('.loading').count()) === 0 ? quiet + 1 : 0;
      return quiet === QUIET_LOOKS;
    });
    await page.locator('h1').first().waitFor();
  } finally {
    page.off('request', note).off('requestfinished', answered).off('requestfailed', answered);
  }
}
