/** A meter of the library, added with keys and read by the module, against an image of it. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type ImageDevice, startImageDevice } from '../../scripts/simulate/image-device.ts';
import { imagesOf } from '../library/library-files.ts';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { useConsole } from './support.ts';

describe('a device of the library', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole({ GATEWAY_BUILT_IN_MODULE: 'true' });
  let meter: ImageDevice;
  before(async () => {
    const [image] = imagesOf('eastron/sdm630');
    if (!image) assert.fail();
    const registers = { ...image.registers, holding: { 0xfc02: 0x0070 } };
    meter = await startImageDevice({ ...image, registers, ignores_units: true }, false);
  });
  after(() => meter.close());

  test('a device of the library is found by maker and product, set up in one form, and shows its first values', async () => {
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

  test('a search of the network finds a device, and its form is filled with the address', async () => {
    const { page, open, gateway } = opened();
    // The console searches every network of the gateway; a test stays on the loopback.
    const networks = ['127.0.0.1'];
    const body = { networks, modbus_ports: [meter.port], http_ports: [1], serial_ports: false };
    await page.route('**/v3/library/search', (request) =>
      request.continue({ postData: JSON.stringify(body) }),
    );
    await open('#/');
    await open('#/add');
    const search = page.locator('[data-test=search]');
    await search.getByRole('button', { name: 'Search my network' }).press('Enter');
    await search.getByText('1 device found.').waitFor();
    const address = `tcp://127.0.0.1:${meter.port}`;
    await search.getByText(`${address}, unit 1`).waitFor();
    await search.getByRole('button', { name: `Set up Eastron SDM630 at ${address}` }).press('Enter');
    await page.getByRole('heading', { name: 'Eastron SDM630' }).waitFor();
    assert.equal(await page.locator('[name=address]').inputValue(), address);
    await page.fill('[name=name]', 'Found meter');
    await page.locator('[name=address]').press('Enter');
    await page.locator('[data-test=arrival]').getByText('Found meter is online and sends').waitFor();
    await gateway.ok('OWNER', 'DELETE', '/v3/devices/found-meter');
  });

  test('a newer template is taken by one click, and the device keeps its name and settings', async () => {
    const { page, open, gateway } = opened();
    const { ok } = gateway;
    const pump = (value: string): string =>
      'template: device/1\nname: Pump\nmaker: Acme\nproducts: [P]\ncategory: sensors\nsources: [manual]\n' +
      `verified: one source\nmodbus: { transports: [tcp] }\nvalues: { ${value}: { input: 3, name: Level } }\n`;
    await ok('INSTALLER', 'POST', '/v3/library/devices', pump('flow'));
    const { blueprint } = await ok('OWNER', 'POST', '/v3/library/devices/own-pump/blueprint');
    const { devices } = await ok('OWNER', 'GET', '/v3/devices?type.in=GATEWAY');
    await ok('OWNER', 'POST', '/v3/provisioning/lua_device', {
      name: 'Well',
      blueprint_id: (blueprint as { id: string }).id,
      runtime_id: (devices as [{ id: string }])[0].id,
    });
    const connection = '/v3/devices/well/configuration/connection';
    await ok('OWNER', 'PATCH', connection, { set: { address: 'tcp://127.0.0.1:9' } });
    await ok('INSTALLER', 'POST', '/v3/library/devices', pump('level'));
    await open('#/devices/well/settings');
    await page.getByText('New: level').waitFor();
    await page.getByText('Removed: flow').waitFor();
    await page.getByRole('button', { name: 'Update the blueprint' }).click();
    await page.getByRole('button', { name: 'Update the blueprint' }).waitFor({ state: 'detached' });
    assert.deepEqual((await ok('OWNER', 'GET', '/v3/library/updates'))['updates'], []);
    const { configuration } = await ok('OWNER', 'GET', connection);
    assert.equal((configuration as { address: string }).address, 'tcp://127.0.0.1:9');
  });
});
