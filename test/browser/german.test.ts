/** The console in German: chosen by the browser or the user, whole, and no wider than a phone. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import * as de from '../../src/console/words/de.ts';
import { operations } from '../../src/console/words/de/operations.ts';
import { sentences as ofGateway } from '../../src/console/words/de/sentences.ts';
import { ofLogs } from '../../src/console/words/de/sentences-of-logs.ts';
import { en } from '../../src/console/words/en.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { complaintsOf, findBrowser, NO_BROWSER, WIDE_SCREEN } from './browser.ts';
import { PAGES, visit } from './pages.ts';
import { PASSWORD, picture, useNewConsole } from './support.ts';

/** Single words stand in names of devices too, which are as the gateway says them. */
const IS_SENTENCE = /\p{L}+[,.:]? \p{L}+/u;

/** Plain sentences, at any depth. */
function sentences(words: object): string[] {
  return Object.values(words).flatMap((word: unknown) =>
    typeof word === 'string' ? [word.trim()] : typeof word === 'object' && word ? sentences(word) : [],
  );
}

const GERMAN = new Set(sentences(de));
const SAID_BY_CONSOLE = sentences(en).filter((text) => IS_SENTENCE.test(text) && !GERMAN.has(text));
/** Words of the gateway's sentences, without what is put into them. */
const SAID_BY_GATEWAY = Object.keys({ ...ofGateway, ...ofLogs })
  .flatMap((text) => text.split(/\{\d\}|<\d>/))
  .map((part) => part.trim())
  .filter((part) => /\p{L}+[,.:]? \p{L}+ \p{L}+/u.test(part));
/** As the activity shows what has no name in words. */
const OPERATIONS = Object.keys(operations)
  .filter((name) => name.includes('_'))
  .map((name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' '));
/** Words of English alone, which the gateway may say in a sentence that no table knows. */
const ONLY_ENGLISH =
  /\b(?:the|must|cannot|does|did|has|have|been|because|which|with|and|from|than|not|of|is)\b/;

const ENGLISH = [...SAID_BY_CONSOLE, ...SAID_BY_GATEWAY, ...OPERATIONS];

/** A server, a broker, a mail server and a folder that are not there; resolves once the box says so in its alerts. */
async function failEverywhere(
  gateway: TestGateway,
  device: Awaited<ReturnType<TestGateway['provision']>>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'stick-'));
  const plan = { schedule: 'DAILY', target: folder, password: 'a password of backups' };
  await gateway.ok('INSTALLER', 'PATCH', '/v3/backup/plan', plan);
  rmSync(folder, { recursive: true });
  await gateway.ok('INSTALLER', 'POST', '/v3/backup/plan/run');
  await gateway.ok('OWNER', 'POST', '/v3/targets', {
    name: 'Flotte',
    kind: 'INFLUXDB',
    influxdb: { url: 'http://127.0.0.1:9/write' },
  });
  await gateway.ok('OWNER', 'POST', '/v3/targets', {
    name: 'Broker',
    kind: 'MQTT',
    mqtt: { url: 'mqtt://127.0.0.1:9', form: 'PLAIN' },
  });
  const { notification_channel: channel } = (await gateway.ok('OWNER', 'POST', '/v3/notification_channels', {
    name: 'Telefon',
    kind: 'NTFY',
    ntfy: { topic: 'halle-4711', server: 'http://127.0.0.1:9' },
  })) as { notification_channel: { id: string } };
  await gateway.ok('OWNER', 'POST', `/v3/notification_channels/${channel.id}/test`);
  // A target that has nothing to send does not fail.
  await device.telemetry({ battery_soc: 51 });
  await until(async () => {
    const { backup_plan: made } = await gateway.ok('INSTALLER', 'GET', '/v3/backup/plan');
    const { alerts } = await gateway.ok('OWNER', 'GET', '/v3/alerts?state=RAISED');
    const names = (alerts as { name: string }[]).map(({ name }) => name);
    return (made as { last_error: unknown }).last_error !== null && names.includes('target_failing');
  });
}

/** Texts that are read and heard on the page. */
async function textsOf(page: Page): Promise<string[]> {
  return (await page.evaluate(`[
    ...[...document.querySelectorAll('body *')].flatMap((element) =>
      ['aria-label', 'title', 'placeholder'].map((name) => element.getAttribute(name) ?? '')),
    ...document.body.innerText.split('\\n'),
    document.title,
  ].map((text) => text.trim()).filter((text) => text !== '')`)) as string[];
}

/** Words of the page's own controls that go on in the next line. */
async function brokenWords(page: Page): Promise<string[]> {
  return (await page.evaluate(`[...document.querySelectorAll('.nav li a, .button, .segments button, .tabs a, th')].flatMap((control) => {
    const words = [];
    const texts = document.createTreeWalker(control, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode())
      for (const { 0: word, index } of text.data.matchAll(/\\S+/g)) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) words.push(word);
      }
    return words;
  })`)) as string[];
}

async function languageOf(page: Page): Promise<unknown> {
  return page.evaluate('document.documentElement.lang');
}

describe('the console in German', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useNewConsole();
  let page: Page;
  let complaints: string[];

  const open = (hash: string): Promise<unknown> => page.evaluate(`location.hash = ${JSON.stringify(hash)}`);

  test('a browser that prefers German gets German, from the claim on', async () => {
    const { browser, gateway } = opened();
    const context = await browser.newContext({ ...WIDE_SCREEN, locale: 'de-AT' });
    page = await context.newPage();
    page.setDefaultTimeout(15_000);
    complaints = complaintsOf(page);
    await page.goto(gateway.origin);
    await page.getByRole('heading', { name: de.frame.claimTitle }).waitFor();
    assert.equal(await languageOf(page), 'de');
    await page.fill('[name=claim_code]', readFileSync(join(gateway.dataDir, 'claim-code'), 'utf8').trim());
    await page.fill('[name=password]', PASSWORD);
    await page.fill('[name=repeated]', PASSWORD);
    await page.getByRole('button', { name: de.frame.claimSubmit }).click();
    await page.getByText(de.devices.noneYet).waitFor();
    await page.getByRole('link', { name: 'Meldungen' }).waitFor();
  });

  test('no sentence of the console stays in English, and pages fit a phone', async () => {
    const { gateway } = opened();
    const device = await gateway.provision('Battery');
    await device.connect();
    await device.telemetry({ battery_soc: 50, grid_total_power: -1_234.5, alerts: ['battery_low'] });
    await gateway.ok('OWNER', 'POST', '/v3/site/rule_engine/rules', {
      slug: 'greeting',
      script: { code: Buffer.from('-- hello').toString('base64'), runtime_version: 'V3' },
    });
    // The blueprint does not know it, so the gateway writes into the log of the device.
    await device.telemetry({ made_up: 1, battery_soc: 'half' });
    await failEverywhere(gateway, device);
    const left: string[] = [];
    // What the author of the blueprint wrote.
    const ofOthers = sentences(await gateway.ok('OWNER', 'GET', '/v3/devices/battery?expand=manifest'))
      .filter((text) => text.includes(' '))
      .sort((one, other) => other.length - one.length);
    const isEnglish = (text: string): boolean =>
      ENGLISH.some((one) => text.includes(one)) ||
      ONLY_ENGLISH.test(ofOthers.reduce((rest, one) => rest.replaceAll(one, ''), text));
    const { devices } = await gateway.ok('OWNER', 'GET', '/v3/devices');
    const module = (devices as { id: string; type: string }[]).find(({ type }) => type === 'VIRTUAL_UCM');
    // Wider than a phone in one line.
    const longName = `#/history/day/${module?.id}.scripts_running`;
    for (const hash of [...PAGES, longName]) {
      await page.setViewportSize({ width: 390, height: 844 });
      await visit(page, hash);
      for (const text of await textsOf(page)) if (isEnglish(text)) left.push(`${hash}: ${text}`);
      const overPx = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      if (Number(overPx) > 0) left.push(`${hash} is ${Number(overPx)} pixels too wide`);
      for (const word of await brokenWords(page)) left.push(`${hash} breaks ${word}`);
      await picture(page, `german${hash.replaceAll(/\W+/g, '-')}`);
    }
    await visit(page, '#/devices/battery/values');
    // Room for both, but not beside what stands before them.
    const parted = await page.evaluate(`[...document.querySelectorAll('dd .value > small')].filter((unit) => {
      const place = unit.closest('dd');
      place.style.cssText = 'flex: none; width: ' + (unit.parentElement.getBoundingClientRect().width + 4) + 'px';
      place.prepend('i ');
      const number = [...unit.previousElementSibling.getClientRects()].at(-1);
      return unit.getClientRects()[0].top >= number.bottom;
    }).map((unit) => unit.parentElement.textContent)`);
    await device.leave();
    assert.deepEqual(left, []);
    assert.deepEqual(parted, [], 'a unit stays beside its number');
  });

  test('numbers and dates are written as in German', async () => {
    await page.setViewportSize({ width: 1_280, height: 900 });
    await open('#/devices/battery/values');
    await page
      .getByText(/−1[.]?23[45] ?W|−1,23 kW/)
      .first()
      .waitFor();
    await open('#/access');
    await page
      .getByText(/seit \d{2}\.\d{2}\.\d{4}, \d{2}:\d{2}:\d{2}/)
      .first()
      .waitFor();
  });

  test('a comma in a number is the decimal comma', async () => {
    const { gateway } = opened();
    await visit(page, '#/site');
    await page.locator('[name=latitude]').pressSequentially('52,5');
    await page.locator('[name=longitude]').pressSequentially('13.4');
    await page.getByRole('button', { name: de.everywhere.save, exact: true }).first().click();
    await page.getByText(de.everywhere.saved).waitFor();
    const { site } = await gateway.ok('OWNER', 'GET', '/v3/site');
    assert.deepEqual((site as { location: unknown }).location, { name: '', latitude: 52.5, longitude: 13.4 });
    assert.equal(await page.inputValue('[name=latitude]'), '52,5');
    assert.equal(await page.inputValue('[name=longitude]'), '13,4');
  });

  test('English, once chosen, stays over a reload, and German can be chosen again', async () => {
    await open('#/');
    await page.getByLabel('Sprache').selectOption('en');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.equal(await languageOf(page), 'en');
    await page.reload();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    await page.getByLabel('Language').selectOption('de');
    await page.getByRole('heading', { name: 'Anmelden' }).waitFor();
    assert.equal(await languageOf(page), 'de');
  });

  test('the German console logs no error in the browser', () => {
    assert.deepEqual(
      complaints.filter((text) => !/status of 4\d\d|Unexpected response code: 401/.test(text)),
      [],
    );
  });
});
