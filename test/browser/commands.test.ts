/** Commands as their sender sees them: carried out, refused, not answered in time, answered after it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MockDevice } from '../support/mock-device.ts';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { visit } from './pages.ts';
import { picture, useConsole } from './support.ts';

const UNKNOWN = /^It is not known whether the device carried out the command/;

describe('a command', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole({ GATEWAY_COMMAND_TIMEOUT_S: '1' });
  let device: MockDevice;

  const send = async (): Promise<void> => {
    const { page } = opened();
    await page.locator('[data-command=start]').click();
  };

  test("shows a refused command as failed, with the device's message", async () => {
    const { gateway, page } = opened();
    device = await gateway.provision('Battery');
    await device.connect();
    await visit(page, '#/devices/battery/commands');
    await send();
    await until(() => device.requests.length === 1);
    const [request] = device.requests;
    assert.ok(request);
    await device.answer(request, 'error', { message: 'The grid code forbids it.' });
    const progress = page.locator('[data-test=progress]');
    await progress.getByText('The grid code forbids it.').waitFor();
    assert.match(await progress.innerText(), /^Failed/);
    // Before the device answers, only the sending is known.
    assert.match(await progress.locator('.log').innerText(), /^\d\d:\d\d:\d\d\s+Sent\s/);
    assert.equal(await progress.getByText(UNKNOWN).count(), 0);
    await picture(page, 'command-refused');
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
  });

  test('a command is shown as maybe carried out when no answer comes in time, until the device answers', async () => {
    const { page } = opened();
    for (const [state, end] of [
      ['completed', 'Done, late response'],
      ['error', 'Failed, late response'],
    ] as const) {
      device.requests.length = 0;
      await send();
      const progress = page.locator('[data-test=progress]');
      await progress.getByText(UNKNOWN).waitFor();
      await picture(page, 'command-unanswered');
      const [request] = device.requests;
      assert.ok(request);
      await device.answer(request, state, { message: 'at last', result: null, power_w: 12 });
      await progress.getByText(end).waitFor();
      await progress.getByText('at last, power_w: 12', { exact: true }).waitFor();
      assert.equal(await progress.getByText(UNKNOWN).count(), 0);
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
      await page.locator('[data-test=executions] summary').first().getByText(end).waitFor();
    }
  });

  test('shows a late answer also after its dialog was closed', async () => {
    const { page } = opened();
    device.requests.length = 0;
    await send();
    await page.locator('[data-test=progress]').getByText(UNKNOWN).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    const newest = page.locator('[data-test=executions] summary').first();
    await newest.getByText('No response in time').waitFor();
    const [request] = device.requests;
    assert.ok(request);
    await device.answer(request, 'completed', {});
    await newest.getByText('Done, late response').waitFor();
    await device.leave();
  });
});
