/** A meter of the library, added with keys and read by the module, against an image of it. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type ImageDevice, startImageDevice } from '../library/image-device.ts';
import { imagesOf } from '../library/library-files.ts';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { useConsole } from './support.ts';

describe('a device of the library', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole({ GATEWAY_BUILT_IN_MODULE: 'true' });
  let meter: ImageDevice;
  before(async () => {
    meter = await startImageDevice(imagesOf('eastron/sdm630')[0] ?? assert.fail(), false);
  });
  after(() => meter.close());

  test('is found by maker and product, set up in one form, and shows its first values', async () => {
    const { page, open, gateway } = opened();
    await open('#/add');
    await page.getByLabel('Find a device').fill('no such thing');
    await page.getByText('The library does not have it').waitFor();
    await page.getByLabel('Find a device').fill('eastron 630');
    await page.getByRole('button', { name: /^Eastron SDM630/ }).press('Enter');
    await page.getByRole('heading', { name: 'Eastron SDM630' }).waitFor();
    await page.fill('[name=name]', 'Main meter');
    await page.locator('[name=address]').fill(`tcp://127.0.0.1:${meter.port}`);
    await page.locator('[name=address]').press('Enter');
    await page.locator('[data-test=arrival]').getByText('Main meter is online and sends').waitFor();
    const sources = async (): Promise<unknown> => {
      const { energy_sources: energy } = await gateway.ok('OWNER', 'GET', '/v3/site/energy/sources');
      return (energy as { items: { role: string; power: string }[] }).items.map(({ role, power }) => [
        role,
        power,
      ]);
    };
    assert.deepEqual(await sources(), [['grid', 'total_power']]);
    await until(async () => {
      const { telemetry } = await gateway.ok(
        'OWNER',
        'GET',
        '/v3/devices/main-meter/telemetry?relevance_interval=1h',
      );
      return (telemetry as { total_power?: { value: number } }).total_power?.value === -1234.5;
    });
  });
});
