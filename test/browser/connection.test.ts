/** How a device is reached: tested, looked for and taken over, in a real browser with simulated devices. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { sampleBlueprint } from '../support/samples.ts';
import { NO_SERIAL_LINE, playModbus } from '../support/simulated-modbus.ts';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { picture, useConsole } from './support.ts';

describe('the connection of a device', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  let uri = '';
  const opened = useConsole(async (owner) => {
    const played = await playModbus(owner);
    ({ uri } = played);
    return played.environment;
  });

  test('the connection form opens once the device is made, and cannot be tested before an address is typed', async () => {
    const { page, open, gateway } = opened();
    const zip = await zipOf(sampleBlueprint('modbus-inverter'));
    await gateway.ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
    await open('#/add');
    await page.getByLabel('Find a blueprint').fill('modbus');
    await page.getByRole('button', { name: /^Modbus Inverter/ }).click();
    await page.fill('[name=name]', 'Roof');
    await page.getByRole('button', { name: 'Add device' }).click();
    await page.getByText('Enter the address first.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Test connection' }).isDisabled(), true);
  });

  test('the connection is tested while it is typed, and a fault is explained in a sentence', async () => {
    const { page } = opened();
    await page.fill('[name=address]', 'tcp://127.0.0.1:1');
    await page.getByRole('button', { name: 'Test connection' }).click();
    await page.getByText('tcp://127.0.0.1:1 cannot be reached: connection refused.').waitFor();
    await page.fill('[name=address]', uri);
    await page.getByRole('button', { name: 'Test connection' }).click();
    await page.getByText('Unit 1 answers: Simulated Hybrid inverter').waitFor();
    await page.getByText('Unit 2 answers: Simulated Power meter').waitFor();
    assert.equal(await page.getByText('cannot be reached').count(), 0);
  });

  test('the connection is proposed from the devices found, and nothing typed is lost', async () => {
    const { page } = opened();
    await page.fill('[name=meter_unit_id]', '77');
    await page.getByText('Find devices', { exact: true }).click();
    await page.fill('[name=last_unit]', '3');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('3 of 3 units asked, 2 found.').waitFor();
    await picture(page, 'find-devices');
    await page.setViewportSize({ width: 390, height: 844 });
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
    await page.setViewportSize({ width: 1_280, height: 900 });
    await page.getByRole('button', { name: 'Use unit 2 as Unit of the Meter' }).click();
    assert.equal(await page.inputValue('[name=meter_unit_id]'), '2');
    assert.equal(await page.inputValue('[name=address]'), uri);
    await page.getByRole('button', { name: 'Save' }).click();
    await page
      .locator('[data-test=arrival]')
      .getByText(/Roof is online and sends \d+ values/)
      .waitFor();
  });

  test('the search for a connection ends when it is stopped, and keeps its results', async () => {
    const { page, gateway } = opened();
    await page.fill('[name=last_unit]', '200');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('of 200 units asked, 2 found.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('button', { name: 'Search', exact: true }).waitFor();
    await page.getByText('Unit 1 answers: Simulated Hybrid inverter').first().waitFor();
    // The gateway has given the address free.
    await until(
      async () => (await gateway.call('INSTALLER', 'POST', '/v3/modbus/test', { uri })).status === 200,
    );
  });

  test('the page tells how to connect a second box by the package and from the sources', async () => {
    const { page, open } = opened();
    await open('#/add/module');
    await page.fill('[name=name]', 'Barn');
    await page.locator('main button[type=submit]').click();
    const connection = page.locator('[data-test=connection]');
    await connection
      .getByText('sudo install -m 600 barn.json /etc/energy-gateway-module/connection.json')
      .waitFor();
    await connection.getByText('npm run module -- --config barn.json').waitFor();
    await picture(page, 'module-connection');
  });

  test('the page points to the module and the log when a script is silent', async () => {
    const { page, open, gateway } = opened();
    const { blueprints } = await gateway.ok('OWNER', 'GET', '/v3/blueprints');
    const blueprint = (blueprints as { id: string; display_name: string }[]).find(
      ({ display_name: title }) => title === 'Modbus Inverter',
    );
    const { device: barn } = await gateway.ok('OWNER', 'GET', '/v3/devices/barn');
    await gateway.ok('OWNER', 'POST', '/v3/provisioning/lua_device', {
      name: 'Cellar',
      blueprint_id: blueprint?.id,
      runtime_id: (barn as { id: string }).id,
    });
    await open('#/devices/cellar');
    const empty = page.locator('.empty', { hasText: 'Its script has reported nothing yet' });
    await empty.getByRole('link', { name: 'Logs' }).click();
    await page.locator('[data-test=logs]').waitFor();
  });

  test(
    'the connection on a serial line is searched on the box that has the lines',
    { skip: NO_SERIAL_LINE },
    async () => {
      const { page, open, complaints } = opened();
      await open('#/system/ports');
      const lines = page.locator('[data-test=serial_ports]');
      await lines.getByText('Find devices', { exact: true }).click();
      await lines.locator('[name=last_unit]').fill('2');
      await lines.getByRole('button', { name: 'Search' }).click();
      await lines.getByText('Unit 2 answers: Simulated Power meter').waitFor();
      await lines.getByText('2 of 2 units asked, 2 found.').waitFor();
      await picture(page, 'find-devices-on-line');
      assert.deepEqual(complaints, []);
    },
  );
});
