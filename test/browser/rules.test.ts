/** Rules in a real browser: the editor, what others change meanwhile, templates and forms. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { MockDevice } from '../support/mock-device.ts';
import { until } from '../support/until.ts';
import { findBrowser, keyboardOf, NO_BROWSER } from './browser.ts';
import { tryRule } from './dry-run.ts';
import { openAnother, picture, useConsole } from './support.ts';

const RULES = '/v3/site/rule_engine/rules';
/** The editor waits less for the end of typing before it checks a script. */
const LONGER_THAN_A_CHECK_WAITS_MS = 5_000;
/** What is drawn, as a text that differs when it does. */
const canvasOf = (page: Page): Promise<unknown> =>
  page.evaluate(`document.querySelector('[data-test=dry-run] canvas').toDataURL()`);
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('rules in a browser', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole({ GATEWAY_RULE_SANDBOX: 'true' });
  let device: MockDevice;

  const editor = () => opened().page.locator('.cm-content');
  const createRule = (slug: string, text: string): Promise<Record<string, unknown>> =>
    opened().gateway.ok('OWNER', 'POST', RULES, {
      slug,
      script: { code: base64(text), runtime_version: 'V3' },
    });

  test('a failed rule is listed with the time of its restart and its last error', async () => {
    const { page, open } = opened();
    await createRule('failing', "error('no luck')");
    await createRule('broken', 'enapter.log(');
    await open('#/rules');
    await page.getByText(/^Failed, restarts in \d+ s$/).waitFor();
    await page.getByText('Does not compile').waitFor();
    await page
      .getByText(/no luck/)
      .first()
      .waitFor();
    await page
      .getByText(/unexpected symbol/)
      .first()
      .waitFor();
    await picture(page, 'rules');
    for (const slug of ['failing', 'broken'])
      await opened().gateway.ok('OWNER', 'DELETE', `${RULES}/${slug}`);
  });

  test('a user who may not change a script sees it, and no check is requested', async (t) => {
    const { gateway } = opened();
    await createRule('shown', "enapter.log('hello')");
    const user = { name: 'reader', password: 'a password of theirs' };
    await gateway.ok('INSTALLER', 'POST', '/v3/auth/users', { ...user, role: 'USER' });
    const page = await openAnother(t, opened(), { ...user, prepare: (one) => one.clock.install() });
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() === 403) refused.push(response.url());
    });
    await page.evaluate("location.hash = '#/rules/shown'");
    await page.locator('.cm-content').getByText('hello').waitFor();
    const answered = page.waitForResponse(`**${RULES}/*`);
    await page.clock.runFor(LONGER_THAN_A_CHECK_WAITS_MS);
    await answered;
    assert.deepEqual(refused, []);
    await gateway.ok('OWNER', 'DELETE', `${RULES}/shown`);
  });

  test('a running rule is listed with its last log entry and last error', async () => {
    const { page, open, gateway } = opened();
    const waiting = 'scheduler.add(3600000, function() end)';
    await createRule('telling', `enapter.log('pump stuck', 'error') enapter.log('all is well') ${waiting}`);
    await until(async () => {
      const { logs } = await gateway.ok('OWNER', 'GET', `${RULES}/telling/logs`);
      return JSON.stringify(logs).includes('all is well');
    });
    await open('#/');
    await open('#/rules');
    await page.getByText(/^Last log entry .*: all is well$/).waitFor();
    await page.getByText(/^Last error .*: pump stuck$/).waitFor();
    await picture(page, 'rules-telling');
    await gateway.ok('OWNER', 'DELETE', `${RULES}/telling`);
  });

  test('a script that does not compile is saved only after a question, and the running rule goes on', async () => {
    const { page, open, gateway } = opened();
    await createRule('steady', "enapter.log('steady')");
    await open('#/rules/steady');
    await page.locator('.cm-content').fill('enapter.log(');
    await page.getByRole('button', { name: 'Save and run' }).click();
    const question = page.getByRole('dialog');
    await question.getByText('Save a script that does not compile?').waitFor();
    await question.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('alert').getByText('Not saved: the script does not compile.').waitFor();
    assert.equal(await page.getByText('Saved. Its log is shown beside it.').count(), 0);
    const address = '/v3/site/rule_engine/rules/steady';
    const codeOf = async (): Promise<string> => {
      const { rule } = await gateway.ok('OWNER', 'GET', address);
      return Buffer.from((rule as { script: { code: string } }).script.code, 'base64').toString();
    };
    assert.equal(await codeOf(), "enapter.log('steady')");
    await page.getByRole('button', { name: 'Save and run' }).click();
    await question.getByRole('button', { name: 'Save all the same' }).click();
    await until(async () => (await codeOf()) === 'enapter.log(');
    await gateway.ok('OWNER', 'DELETE', address);
  });

  test('a line that does not compile is marked while it is typed', async () => {
    const { page, open } = opened();
    await open('#/new-rule/script');
    await editor().fill('local a = 1\nlocal b = =\n');
    await page.locator('.cm-lint-marker-error').waitFor();
    assert.equal(await page.locator('.cm-lintRange-error').innerText(), 'local b = =');
    await page.getByText(/^Line 2: unexpected symbol/).waitFor();
    await editor().fill('local a = 1\n');
    await page.getByText(/^Line 2: /).waitFor({ state: 'detached' });
    await page.locator('.cm-lint-marker-error').waitFor({ state: 'detached' });
  });

  test('functions that the chosen runtime lacks are marked, and checked again for another runtime', async () => {
    const { page, open } = opened();
    await open('#/new-rule/script');
    await editor().fill('local a = 1\nscheduler.add(1000, function() end)\n');
    const warning = page.getByText('Line 2: scheduler.add is of runtime V3; this rule has runtime V1.');
    const runtime = page.getByLabel('Runtime');
    await runtime.selectOption('V1');
    await warning.waitFor();
    await page.locator('.cm-lint-marker-warning').waitFor();
    assert.match(await page.locator('.cm-lintRange-warning').innerText(), /^scheduler\.add\(1000/);
    await runtime.selectOption('V3');
    await warning.waitFor({ state: 'detached' });
    await page.locator('.cm-lint-marker-warning').waitFor({ state: 'detached' });
    await editor().fill('');
  });

  test('the editor completes functions of the library, and slugs and values of the site', async () => {
    const { page, open, gateway } = opened();
    device = await gateway.provision('Battery');
    await device.connect();
    await open('#/');
    await page.locator('[data-device=battery]').waitFor();
    await open('#/new-rule/script');
    await editor().fill('');
    await editor().click();
    await page.keyboard.type("local d = enapter.device('bat");
    await page.locator('.cm-tooltip-autocomplete').getByText('battery').first().waitFor();
    await page.keyboard.press('Escape');
    await editor().fill('');
    await page.keyboard.type("d.telemetry.now('battery_s");
    await page.locator('.cm-tooltip-autocomplete').getByText('battery_soc').first().waitFor();
    await picture(page, 'rule-editor');
    await page.keyboard.press('Escape');
  });

  test('unsaved input is kept until it is discarded, also over a reload', async () => {
    const { page, open } = opened();
    await editor().fill('-- half a thought');
    await page.reload();
    await page.locator('.cm-line', { hasText: 'half a thought' }).waitFor();
    await open('#/new-rule');
    await page.getByText('unsaved script in this browser').waitFor();
    await page.getByRole('button', { name: 'Discard…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Discard', exact: true }).click();
    await page.getByRole('link', { name: /^Surplus to load/ }).waitFor();
    await picture(page, 'new-rule');
  });

  test('a change saved by somebody else is shown, and overwritten only on request', async () => {
    const { page, open, gateway } = opened();
    await createRule('shared', '-- first');
    await open('#/rules/shared');
    await page.locator('.cm-line', { hasText: '-- first' }).waitFor();
    await editor().fill('-- mine');
    await gateway.ok('OWNER', 'POST', `${RULES}/shared/update_script`, {
      script: { code: base64('-- theirs'), runtime_version: 'V3' },
    });
    await page.getByText('Somebody else saved this rule').waitFor();
    await page.locator('summary', { hasText: 'Their version' }).click();
    await page.locator('pre', { hasText: '-- theirs' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Save and run' }).isDisabled(), true);
    await picture(page, 'rule-conflict');
    await page.getByRole('button', { name: 'Keep mine' }).click();
    await page.getByRole('button', { name: 'Save and run' }).click();
    await page.getByText('Saved. Its log').waitFor();
    const { rule } = await gateway.ok('OWNER', 'GET', `${RULES}/shared`);
    assert.equal((rule as { script: { code: string } }).script.code, base64('-- mine'));
    // Unchanged text follows what others save.
    await gateway.ok('OWNER', 'POST', `${RULES}/shared/update_script`, {
      script: { code: base64('-- theirs again'), runtime_version: 'V3' },
    });
    await page.locator('.cm-line', { hasText: '-- theirs again' }).waitFor();
  });

  test('a log entry written between reading the log and opening its stream is shown', async (t) => {
    const { gateway } = opened();
    const opening = Promise.withResolvers<void>();
    const page = await openAnother(t, opened(), {
      prepare: (one) =>
        one.routeWebSocket(/\/logs$/, async (socket) => {
          await opening.promise;
          socket.connectToServer();
        }),
    });
    await createRule('quiet', "enapter.log('before')");
    await page.evaluate("location.hash = '#/rules/quiet'");
    await page.locator('[data-test=logs]').getByText('before').waitFor();
    await gateway.ok('OWNER', 'POST', `${RULES}/quiet/update_script`, {
      script: { code: base64("enapter.log('between')"), runtime_version: 'V3' },
    });
    await until(async () => {
      const { logs } = await gateway.ok('OWNER', 'GET', `${RULES}/quiet/logs`);
      return JSON.stringify(logs).includes('between');
    });
    opening.resolve();
    await page.locator('[data-test=logs]').getByText('between').waitFor();
    await gateway.ok('OWNER', 'DELETE', `${RULES}/quiet`);
  });

  test('a template of a rule can be tried and made', async () => {
    const { page, open, gateway } = opened();
    await open('#/new-rule');
    await page.getByRole('link', { name: /^Battery night reserve/ }).click();
    await page.locator('.cm-line', { hasText: 'NIGHT_FROM' }).first().waitFor();
    await page.getByRole('button', { name: 'Create rule' }).click();
    await page.getByRole('heading', { name: 'battery-night-reserve' }).waitFor();
    await gateway.ok('OWNER', 'DELETE', `${RULES}/battery-night-reserve`);
  });

  test('a rule is made from a template, changed, run and switched off and on by keyboard alone', async () => {
    const { page, open, gateway } = opened();
    const keyboard = keyboardOf(page);
    await open('#/rules');
    await page.getByRole('link', { name: 'New rule' }).waitFor();
    await keyboard.choose('a', 'New rule');
    await page.getByRole('link', { name: /^Battery night reserve/ }).waitFor();
    await keyboard.choose('a', 'Battery night reserve');
    await page.locator('.cm-line', { hasText: 'NIGHT_FROM' }).first().waitFor();
    await keyboard.write('[name=slug]', 'by-keyboard');
    await keyboard.to('.cm-content');
    assert.match((await editor().getAttribute('aria-description')) ?? '', /Escape, then Tab/);
    await keyboard.press('Control+A');
    await page.keyboard.type("scheduler.add(60000, function() end) enapter.log('typed by hand')");
    await keyboard.choose('button', 'Create rule');
    await page.getByRole('heading', { name: 'by-keyboard' }).waitFor();
    await page.getByText('Running', { exact: true }).waitFor();
    await page.locator('[data-test=logs]').getByText('typed by hand').waitFor();
    await page.locator('.cm-line', { hasText: 'typed by hand' }).waitFor();
    await keyboard.to('.cm-content');
    await keyboard.press('Control+End');
    await page.keyboard.type(" enapter.log('and once more')");
    await keyboard.choose('button', 'Save and run');
    await page.locator('[data-test=logs]').getByText('and once more').waitFor();
    await keyboard.choose('a', 'Rules');
    await page.getByRole('button', { name: 'Disable' }).first().waitFor();
    const row = page.locator('.rows li', { hasText: 'by-keyboard' });
    await row.getByText('Running').waitFor();
    await keyboard.choose('.rows a', 'by-keyboard');
    await page.getByRole('heading', { name: 'by-keyboard' }).waitFor();
    await page.goBack();
    await row.getByText('Running').waitFor();
    await keyboard.choose('.rows li:has(a[href$=by-keyboard]) button', 'Disable');
    await row.getByText('Disabled').waitFor();
    await keyboard.choose('.rows li:has(a[href$=by-keyboard]) button', 'Enable');
    await row.getByText('Running').waitFor();
    await gateway.ok('OWNER', 'DELETE', `${RULES}/by-keyboard`);
  });

  test('a rule is made by a few questions, and does what was asked', async () => {
    const { page, open } = opened();
    device.onRequest = (request) => void device.answer(request, 'completed', {});
    await open('#/new-rule');
    await page.getByRole('link', { name: /^When a value is too high/ }).click();
    await page.locator('[name="watched.device"]').selectOption({ label: 'Battery' });
    await page.locator('[name="watched.name"]').selectOption('battery_soc');
    await page.fill('[name=limit]', '90');
    await page.fill('[name=hold_s]', '0');
    await page.locator('[name="action.device"]').selectOption({ label: 'Battery' });
    await page.locator('[name="action.name"]').selectOption('stop');
    await page.fill('[name=slug]', 'not-too-full');
    await picture(page, 'rule-form');
    await page.getByRole('button', { name: 'Create rule' }).click();
    await page.getByText('Running', { exact: true }).waitFor();
    await device.telemetry({ battery_soc: 80 });
    await device.telemetry({ battery_soc: 95 });
    await until(() => device.requests.some(({ name }) => name === 'stop'));
    await page.locator('[data-test=logs]').getByText('command stop').waitFor();
  });

  test('the parameters of a rule are changed in the form until its script is edited by hand', async () => {
    const { page, open, gateway } = opened();
    await open('#/rules/not-too-full');
    await page.getByRole('heading', { name: 'When a value is too high or too low' }).waitFor();
    assert.equal(await page.inputValue('[name="watched.device"]'), 'battery');
    await page.fill('[name=limit]', '85');
    await page.getByRole('button', { name: 'Save and restart' }).click();
    await page.locator('.cm-line', { hasText: 'limit = 85' }).waitFor();
    const { rule } = await gateway.ok('OWNER', 'GET', `${RULES}/not-too-full`);
    assert.partialDeepStrictEqual(rule, {
      strategy: { id: 'limit', parameters: { limit: 85, side: 'above' } },
    });
    await open('#/rules');
    const sentence = 'When Battery · State of Charge is above 85 %: Battery · Stop';
    await page.getByRole('link', { name: sentence }).click();
    await editor().fill('-- mine');
    await page.getByRole('button', { name: 'Save and run' }).click();
    await page
      .getByRole('heading', { name: 'When a value is too high or too low' })
      .waitFor({ state: 'detached' });
  });

  test('a strategy with a list of loads is tried and made in German too, with a load added', async (t) => {
    const { gateway } = opened();
    const page = await openAnother(t, opened(), {
      prepare: (one) => one.addInitScript("localStorage.setItem('language', 'de')"),
    });
    await page.evaluate("location.hash = '#/new-rule'");
    await page.getByRole('link', { name: /^Überschuss schaltet Verbraucher/ }).click();
    await page.locator('[name="meter.device"]').selectOption({ label: 'Battery' });
    await page.locator('[name="meter.name"]').selectOption('grid_total_power');
    await page.getByRole('button', { name: 'Hinzufügen' }).click();
    for (const item of ['loads.0', 'loads.1']) {
      await page.fill(`[name="${item}.power_w"]`, '2000');
      for (const part of ['on', 'off']) {
        await page.locator(`[name="${item}.${part}.device"]`).selectOption({ label: 'Battery' });
        await page.locator(`[name="${item}.${part}.name"]`).selectOption('stop');
      }
    }
    await page.getByRole('button', { name: 'Skript zeigen' }).click();
    await page.locator('pre', { hasText: 'power_w = 2000' }).waitFor();
    await picture(page, 'strategy-form');
    await page.getByRole('button', { name: 'Regel anlegen' }).click();
    await page.getByRole('heading', { name: 'surplus-loads' }).waitFor();
    const { rule } = await gateway.ok('OWNER', 'GET', `${RULES}/surplus-loads`);
    const load = { power_w: 2_000 };
    assert.partialDeepStrictEqual(rule, { strategy: { parameters: { loads: [load, load], import_w: 200 } } });
    await gateway.ok('OWNER', 'DELETE', `${RULES}/surplus-loads`);
  });

  test('a dry run is drawn over what the rule read, and each action is reached by keyboard', async () => {
    const { page } = opened();
    const tried = await tryRule(opened());
    await tried.locator('.u-legend').getByText('PV Power').waitFor();
    const done = tried.getByRole('listbox', { name: 'What the rule did' });
    const picture1 = await canvasOf(page);
    const keyboard = keyboardOf(page);
    await keyboard.to('[role=listbox]');
    await keyboard.press('ArrowDown');
    await done.getByRole('option', { selected: true }).waitFor();
    // It is marked in the picture, too.
    await until(async () => (await canvasOf(page)) !== picture1);
    await keyboard.press('End');
    await done.locator('li:last-child[aria-selected=true]').waitFor();
    assert.match(await done.innerText(), /command\s+Battery: stop/);
    assert.match(await done.innerText(), /log\s+empty at \d+/);
    await tried.getByText('Show table').click();
    const row = tried.locator('.picture-table tbody tr').first();
    assert.match(await row.innerText(), /(9[1-9]|100|[12]\d|30)/);
    await picture(page, 'rule-dry-run');
    assert.equal(await tried.getByText('The script has changed since.').count(), 0);
    await editor().press('Space');
    await tried.getByText('The script has changed since.').waitFor();
    await tried.getByRole('link', { name: 'Open in History' }).click();
    await page.locator('[data-test=chart] canvas').waitFor();
    assert.equal(await page.locator('.chosen li').count(), 2);
  });

  test('the rules pages log no error in the browser', () => {
    assert.deepEqual(
      // Logs of a rule that was deleted, and what pictures add to the page.
      opened().complaints.filter((text) => !/status of 4\d\d|WebSocket|Applying inline style/.test(text)),
      [],
    );
  });
});
