/** Somebody looks for a fault at a device in a real browser, with simulated devices. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { sampleBlueprint } from '../support/samples.ts';
import { playModbus } from '../support/simulated-modbus.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { picture, useConsole } from './support.ts';

describe('the field trace of a device', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  let uri = '';
  const opened = useConsole(async (owner) => {
    const played = await playModbus(owner);
    ({ uri } = played);
    return played.environment;
  });

  test('the field trace starts on the logs page, shows requests and answers in hex, stops, and is saved as files', async () => {
    const { page, open, gateway, complaints } = opened();
    const zip = await zipOf(sampleBlueprint('modbus-inverter'));
    const { blueprint } = await gateway.ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
    const { device_id: id } = await gateway.ok('OWNER', 'POST', '/v3/provisioning/lua_device', {
      name: 'Roof',
      slug: 'roof',
      blueprint_id: (blueprint as { id: string }).id,
      runtime_id: 'gateway',
    });
    const connection = `/v3/devices/${String(id)}/configuration/connection`;
    await gateway.ok('OWNER', 'PATCH', connection, { set: { address: uri } });
    await open('#/devices/roof/logs');
    const card = page.locator('[data-test=trace]');
    await card.getByRole('button', { name: 'Start for 15 minutes' }).click();
    await card
      .getByText(/^→ [0-9a-f]{2} [0-9a-f]{2} 00 00 00 06 01 04 /)
      .first()
      .waitFor();
    await card
      .getByText(/^← [0-9a-f]{2} [0-9a-f]{2} 00 00 /)
      .first()
      .waitFor();
    await picture(page, 'field-trace');
    await page.setViewportSize({ width: 390, height: 844 });
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
    await page.setViewportSize({ width: 1_280, height: 900 });
    await card.getByRole('button', { name: 'Stop' }).click();
    await card.getByText(/^Ended at .*: \d+ recorded\./).waitFor();
    for (const [name, file] of [
      ['Download the trace', 'trace.json'],
      ['Download for the simulator', 'roof-image.yml'],
    ] as const) {
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        card.getByRole('link', { name }).click(),
      ]);
      assert.equal(saved.suggestedFilename(), file);
    }
    assert.deepEqual(complaints, []);
  });
});
