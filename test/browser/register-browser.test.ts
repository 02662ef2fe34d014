/** A device that no library has: read, named and added in a real browser, against a simulated device. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { playModbus } from '../support/simulated-modbus.ts';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { picture, useConsole } from './support.ts';

const jsonDevice = createServer((_, response) =>
  response.end('{"emeters":[{"power":-2304,"note":null}],"relay":{"on":true}}'),
);

describe('the register browser', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  let uri = '';
  before(() => once(jsonDevice.listen(0, '127.0.0.1'), 'listening'));
  after(() => jsonDevice.close());
  const opened = useConsole(async (owner) => {
    const played = await playModbus(owner);
    ({ uri } = played);
    return played.environment;
  });

  test('the register browser shows live values, and explains faults in a sentence', async () => {
    const { page, open } = opened();
    await open('#/add');
    await page.getByRole('link', { name: 'Not in the list? Read its registers' }).click();
    const card = page.locator('[data-test=registers]');
    assert.equal(await card.getByRole('button', { name: 'Read now and again' }).isDisabled(), true);
    await card.locator('[name=uri]').fill('tcp://127.0.0.1:1');
    await card.getByRole('button', { name: 'Read now and again' }).click();
    await card.getByText('tcp://127.0.0.1:1 cannot be reached: connection refused.').waitFor();
    await card.locator('[name=uri]').fill(uri);
    await card.locator('[name=register]').fill('40000');
    await card.getByText(/21.365 \(5375\)/).waitFor();
    await card.locator('[name=type]').selectOption('u32');
    await card.getByText(/\(5375 6E53\)/).waitFor();
    await card.getByRole('button', { name: 'Add a register' }).click();
    const second = card.locator('li').nth(1);
    assert.equal(await second.locator('[name=register]').inputValue(), '40002');
    await second.locator('[name=function]').selectOption('COIL');
    assert.equal(await second.locator('[name=type]').count(), 0);
    await second.locator('[name=function]').selectOption('INPUT');
    await second.locator('[name=register]').fill('60000');
    await second.getByText('No answer').waitFor();
    await second.getByRole('button', { name: 'Remove' }).click();
    await picture(page, 'register-browser');
    await page.setViewportSize({ width: 390, height: 844 });
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
    await page.setViewportSize({ width: 1_280, height: 900 });
  });

  test('makes a template of rows with a name, which is saved, kept as a file and added as a device', async () => {
    const { page, gateway, complaints } = opened();
    const row = page.locator('[data-test=registers] li').first();
    const template = page.locator('[data-test=own-template]');
    await template.getByText('Give a value a name').waitFor();
    await row.locator('[name=title]').fill('Marker');
    await row.locator('[name=factor]').fill('-0.001');
    await row.locator('[name=unit_of_value]').selectOption('W');
    await row.locator('[name=part]').selectOption('grid power');
    await template.locator('[name=maker]').fill('Acme');
    await template.locator('[name=name]').fill('Cellar meter');
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      template.getByRole('button', { name: 'Download' }).click(),
    ]);
    assert.equal(saved.suggestedFilename(), 'template.yml');
    await template.getByText('Show the template').click();
    await template.getByText(/as: u32, scale: -0.001/).waitFor();
    await template.getByRole('button', { name: 'Save the template' }).click();
    await template.getByText('Cellar meter is in the library now, as your own.').waitFor();
    await template.getByRole('button', { name: 'Add device' }).click();
    await page.getByRole('heading', { name: 'Cellar meter' }).waitFor();
    assert.equal(await page.inputValue('[name=name]'), 'Cellar meter');
    assert.equal(await page.inputValue('[name=address]'), uri);
    await page.locator('[name=address]').press('Enter');
    await page.locator('[data-test=arrival]').getByText('Cellar meter is online and sends').waitFor();
    await until(async () => {
      const { telemetry } = await gateway.ok('OWNER', 'GET', '/v3/devices/cellar-meter/telemetry');
      const { value } = (telemetry as { marker?: { value: number } }).marker ?? {};
      return value !== undefined && Math.abs(value + 0x53756e53 / 1_000) < 0.01;
    });
    const { energy_sources: energy } = await gateway.ok('OWNER', 'GET', '/v3/site/energy/sources');
    const [source] = (energy as { items: { role: string; power: string }[] }).items;
    assert.deepEqual([source?.role, source?.power], ['grid', 'marker']);
    assert.deepEqual(complaints, []);
  });

  test('the register browser begins with the address of a connection test', async () => {
    const { page, open } = opened();
    await open('#/devices/cellar-meter/configuration');
    await page.getByRole('link', { name: 'Read registers' }).click();
    assert.equal(await page.locator('[data-test=registers] [name=uri]').inputValue(), uri);
  });

  test('chosen fields of a JSON answer become a device', async () => {
    const { page, gateway, open } = opened();
    const { port } = jsonDevice.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/status`;
    await open('#/add');
    await page.getByRole('link', { name: 'Or read JSON from its address' }).click();
    const card = page.locator('[data-test=json]');
    await card.locator('[name=url]').fill('http://203.0.113.7/status');
    await card.getByRole('button', { name: 'Read' }).click();
    await card.getByText(/must be part of a network of the gateway/).waitFor();
    await card.locator('[name=url]').fill(url);
    await card.getByRole('button', { name: 'Read' }).click();
    await card.getByRole('button', { name: 'power: −2304' }).click();
    assert.equal(await card.getByRole('button', { name: 'note' }).count(), 0);
    const row = card.locator('.registers li').first();
    await row.getByText('emeters[0].power').waitFor();
    await row.locator('[name=title]').fill('Grid power');
    await row.locator('[name=factor]').fill('0.1');
    await row.locator('[name=unit_of_value]').selectOption('W');
    await row.locator('[name=part]').selectOption('grid power');
    await row.getByText('−230.4 W').waitFor();
    await card.getByRole('button', { name: 'on: true' }).click();
    await picture(page, 'json-browser');
    const template = page.locator('[data-test=own-template]');
    await template.locator('[name=maker]').fill('Acme');
    await template.locator('[name=name]').fill('Cellar JSON');
    await template.getByRole('button', { name: 'Save the template' }).click();
    await template.getByRole('button', { name: 'Add device' }).click();
    await page.getByRole('heading', { name: 'Cellar JSON' }).waitFor();
    assert.equal(await page.inputValue('[name=address]'), new URL(url).host);
    await page.locator('[name=address]').press('Enter');
    await page.locator('[data-test=arrival]').getByText('Cellar JSON is online and sends').waitFor();
    await until(async () => {
      const { telemetry } = await gateway.ok('OWNER', 'GET', '/v3/devices/cellar-json/telemetry');
      const { grid_power: power } = telemetry as { grid_power?: { value: number } };
      return power !== undefined && Math.abs(power.value + 230.4) < 0.01;
    });
  });
});
