/** Tasks of an installer by keyboard alone, each as far as the gateway confirms it, in a real browser. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findBrowser, keyboardOf, NO_BROWSER } from './browser.ts';
import { visit } from './pages.ts';
import { openAnother, useConsole } from './support.ts';

describe(
  'everything can be done by keyboard alone',
  { skip: findBrowser() === undefined && NO_BROWSER },
  () => {
    const opened = useConsole();

    test('a user is added with a role, and deleted', async (t) => {
      const page = await openAnother(t, opened());
      const keyboard = keyboardOf(page);
      await keyboard.choose('.nav a', 'Access');
      await page.getByRole('button', { name: 'Add user…' }).waitFor();
      await keyboard.choose('button', 'Add user…');
      await keyboard.write('dialog [name=name]', 'anna');
      await keyboard.to('dialog [name=role]');
      await keyboard.press('O');
      await keyboard.write('dialog [name=password]', 'a password of hers');
      await keyboard.press('Enter');
      const row = page.locator('li', { hasText: 'anna' }).filter({ hasText: 'owner' }).first();
      await row.waitFor();
      await keyboard.choose('[aria-label="Delete anna"]');
      await page.getByRole('dialog', { name: /anna/ }).waitFor();
      await keyboard.choose('dialog button', 'Delete');
      await page.getByRole('button', { name: 'Delete anna' }).waitFor({ state: 'detached' });
    });

    test('a rule is written and stored', async (t) => {
      const { gateway } = opened();
      const page = await openAnother(t, opened());
      const keyboard = keyboardOf(page);
      await keyboard.choose('.nav a', 'Rules');
      await page.getByRole('link', { name: 'New rule' }).waitFor();
      await keyboard.choose('a.button', 'New rule');
      await page.getByRole('link', { name: /^Empty/ }).waitFor();
      await keyboard.choose('main a', 'Empty');
      await page.locator('.cm-content').waitFor();
      await keyboard.write('[name=slug]', 'greeting');
      await keyboard.write('.cm-content', '-- hello');
      await keyboard.choose('button', 'Create rule');
      await page.getByRole('heading', { name: 'greeting' }).waitFor();
      const { rules } = await gateway.ok('OWNER', 'GET', '/v3/site/rule_engine/rules');
      assert.partialDeepStrictEqual(rules, [{ slug: 'greeting' }]);
    });

    test('a target is added and a backup is downloaded', async (t) => {
      const { gateway } = opened();
      const page = await openAnother(t, opened());
      const keyboard = keyboardOf(page);
      await visit(page, '#/system');
      await keyboard.choose('.tabs a', 'Forwarding');
      await page.getByRole('button', { name: 'Add' }).first().waitFor();
      await keyboard.choose('main .button.primary');
      await keyboard.write('dialog [name=name]', 'Cloud');
      await keyboard.write('dialog [name=url]', 'http://127.0.0.1:9/write');
      await keyboard.press('Enter');
      await page.locator('[data-test=targets] li', { hasText: 'Cloud' }).waitFor();
      await keyboard.choose('.tabs a', 'Backups');
      await page.locator('[name=backup_password]').waitFor();
      await keyboard.write('[name=backup_password]', 'one for the backup');
      await keyboard.write('[name=backup_repeated]', 'one for the backup');
      const [saved] = await Promise.all([page.waitForEvent('download'), keyboard.press('Enter')]);
      assert.match(saved.suggestedFilename(), /\.backup$/);
      const { targets } = await gateway.ok('OWNER', 'GET', '/v3/targets');
      assert.equal((targets as unknown[]).length, 1);
    });
  },
);
