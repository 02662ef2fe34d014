/**
 * A street of devices, found by a search and added by somebody without a mouse. A few of them by default; with
 * STREET_DEVICES=all every one, which takes some minutes. The seconds for each are reported.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { ImageDevice } from '../../scripts/simulate/image-device.ts';
import { imagesOf } from '../library/library-files.ts';
import {
  assertEnergy,
  BY_HAND,
  type House,
  parametersOf,
  PORTS_MAX,
  portsOf,
  slugOf,
  startStreet,
  STREET,
  templateOf,
} from '../support/street.ts';
import { findBrowser, keyboardOf, NO_BROWSER } from './browser.ts';
import { useConsole } from './support.ts';

const FEW = ['fronius/gen24-modbus', 'eastron/sdm120', 'opendtu/opendtu', 'dsmr/p1'];
const CHOICES_MAX = 20;

const only = (houses: Readonly<Record<string, House>>): Record<string, House> =>
  process.env['STREET_DEVICES'] === 'all'
    ? { ...houses }
    : Object.fromEntries(Object.entries(houses).filter(([id]) => FEW.includes(id)));

describe('a street', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole({ GATEWAY_BUILT_IN_MODULE: 'true' });
  const [found, byHand] = [only(STREET), only(BY_HAND)];
  const ends: (() => unknown)[] = [];
  let devices: ReadonlyMap<string, ImageDevice>;
  before(async () => {
    devices = await startStreet({ after: (end) => void ends.push(end) }, { ...found, ...byHand });
  });
  after(async () => {
    for (const end of ends) await end();
  });
  const addressOf = (id: string): string => devices.get(id)?.address ?? assert.fail(id);

  /** Chooses in a list as keys do: from its first entry downwards. */
  async function select(page: Page, name: string, value: string): Promise<void> {
    await keyboardOf(page).to(`[name=${name}]`);
    await page.keyboard.press('Home');
    for (let step = 0; step < CHOICES_MAX; step++) {
      if ((await page.locator(`[name=${name}]`).inputValue()) === value) return;
      await page.keyboard.press('ArrowDown');
    }
    assert.fail(`${name} has no ${value}`);
  }

  /** The form of a device: its name, its variants, its address. */
  async function setUp(page: Page, id: string, house: House, address?: string): Promise<void> {
    const keys = keyboardOf(page);
    await page.getByRole('heading', { name: templateOf(id).name }).waitFor();
    await keys.write('[name=name]', slugOf(id));
    for (const [name, value] of Object.entries(parametersOf(id, house)))
      await select(page, name, String(value));
    if (address === undefined) await keys.to('[name=address]');
    else await keys.write('[name=address]', address);
    for (const [name, value] of Object.entries(imagesOf(id)[0]?.settings ?? {}))
      await keys.write(`[name=${name}]`, String(value));
    await keys.press('Enter');
    await page
      .locator('[data-test=arrival]')
      .getByText(`${slugOf(id)} is online and sends`)
      .waitFor();
    await keys.choose('button', 'Add another');
  }

  test("a street of devices is added by keyboard from repeated searches, and its energy equals the simulator's", async (t) => {
    const { page, open, gateway } = opened();
    const keys = keyboardOf(page);
    const seconds: number[] = [];
    const timed = async (id: string, adding: () => Promise<void>): Promise<void> => {
      const startMs = performance.now();
      await adding();
      seconds.push((performance.now() - startMs) / 1_000);
      t.diagnostic(`${id}: ${(seconds.at(-1) ?? 0).toFixed(1)} s`);
    };
    await open('#/add');
    const ids = Object.keys(found);
    for (let at = 0; at < ids.length; at += PORTS_MAX) {
      const some = ids.slice(at, at + PORTS_MAX);
      const { modbus, http } = portsOf(devices, some);
      const body = {
        networks: ['127.0.0.1'],
        modbus_ports: [1, ...modbus],
        http_ports: [1, ...http],
        serial_ports: false,
      };
      await page.unroute('**/v3/library/search');
      await page.route('**/v3/library/search', (request) =>
        request.continue({ postData: JSON.stringify(body) }),
      );
      await keys.choose('button', 'Search my network');
      await page.getByText(`${some.length} devices found.`).waitFor();
      for (const id of some)
        await timed(id, async () => {
          const label = `Set up ${templateOf(id).name} at ${addressOf(id)}`;
          await keys.choose(`button[aria-label=${JSON.stringify(label)}]`);
          await setUp(page, id, found[id] ?? assert.fail());
          await page.getByText('Added').nth(some.indexOf(id)).waitFor();
        });
    }
    for (const [id, house] of Object.entries(byHand))
      await timed(id, async () => {
        const { name } = templateOf(id);
        await keys.write('input[type=search]', name);
        await keys.choose('[data-test=library] button', name);
        await setUp(page, id, house, addressOf(id));
      });
    t.diagnostic(`${seconds.length} devices, ${Math.max(...seconds).toFixed(1)} s at most`);
    await assertEnergy(gateway, { ...found, ...byHand });
  });
});
