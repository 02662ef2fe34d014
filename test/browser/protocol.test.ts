/** The commissioning protocol in a real browser: what it says, what it keeps to itself, and how it looks on paper. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { writeArchive } from '../../src/capabilities/blueprints/source/archive.ts';
import { complaintsOf, findBrowser, NO_BROWSER } from './browser.ts';
import { visit } from './pages.ts';
import { openAnother, PASSWORD, useConsole } from './support.ts';

const METER = `blueprint_spec: device/3.0
display_name: Maker M1 Meter
runtime: { type: embedded }
properties:
  serial_number: { display_name: Serial Number, type: string }
telemetry:
  power: { display_name: Power, type: float, unit: W }
configuration:
  connection:
    display_name: Connection
    access_level: owner
    parameters:
      host: { display_name: Address, type: string, required: true }
      port: { display_name: TCP Port, type: integer, default: 502 }
      pin: { display_name: PIN, type: string, sensitive: true }
command_groups: { control: { display_name: Control } }
commands:
  beep:
    display_name: Beep
    group: control
    access_level: user
    arguments:
      times: { display_name: Times, type: integer, required: true }
      pin: { display_name: PIN, type: string, sensitive: true }
`;

const SECRET = 'fe5b7d1c';

describe('the commissioning protocol', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();

  test('the protocol lists devices with serial number, changed settings, values and commands, and no secret', async (t) => {
    const { gateway } = opened();
    const { ok } = gateway;
    const zip = await writeArchive(new Map([['manifest.yml', Buffer.from(METER)]]));
    const { id: blueprintId } = await ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
    const device = await gateway.provision('House meter', String(blueprintId));
    t.after(() => device.leave());
    await device.connect();
    device.obey();
    await device.properties({ serial_number: 'M1-4711' });
    await device.telemetry({ power: 1_234 });
    await ok('OWNER', 'PATCH', `/v3/devices/${device.id}/configuration/connection`, {
      set: { host: '192.168.0.7', port: 502, pin: SECRET },
    });
    await ok('OWNER', 'POST', `/v3/devices/${device.id}/commands/execute`, {
      name: 'beep',
      arguments: { times: 2, pin: SECRET },
    });
    await ok('INSTALLER', 'POST', '/v3/auth/users', { name: 'olga', role: 'OWNER', password: PASSWORD });

    const page = await openAnother(t, opened());
    const complaints = complaintsOf(page);
    await visit(page, '#/system');
    await page.getByRole('link', { name: 'Commissioning protocol' }).click();
    const card = page.locator('[data-test=protocol-device]', { hasText: 'House meter' });
    await card.waitFor();
    const text = (await card.innerText()).replaceAll(/\s+/g, ' ');
    for (const said of [
      'Blueprint Maker M1 Meter, version 1',
      'Status ONLINE',
      'Serial Number M1-4711',
      'Address 192.168.0.7',
      'Power 1.23 kW',
      'Beep (times: 2, pin: •••) Done',
    ])
      assert.ok(text.includes(said), `${said} is missing in: ${text}`);
    assert.ok(!text.includes('TCP Port'), 'a setting that is the default is left out');
    const all = await page.locator('main').innerText();
    assert.ok(!all.includes(SECRET), 'no secret is printed');
    assert.match(all, /olga\s+owner/);
    assert.match(all, /Automatic backups\s+Manually/);
    assert.match(all, /Telemetry stays on this gateway/);
    assert.deepEqual(complaints, []);
  });

  test('the printed protocol has no menu or buttons, and lists the box last', async (t) => {
    const page = await openAnother(t, opened());
    await visit(page, '#/system/protocol');
    const titles = await page.locator('[data-test=protocol-device] h2').allInnerTexts();
    assert.equal(titles.indexOf('House meter'), 0, titles.join());
    await page.emulateMedia({ media: 'print' });
    assert.equal(await page.locator('.nav').isVisible(), false);
    assert.equal(await page.locator('main .button:visible').count(), 0);
    assert.equal(await page.getByText('Place, date').count(), 2);
    await page.emulateMedia({ media: 'screen' });
    await page.evaluate('globalThis.print = () => { globalThis.printed = true; }');
    await page.getByRole('button', { name: 'Print' }).click();
    assert.equal(await page.evaluate('printed'), true);
  });

  test('the protocol names no users to an owner, and is not offered to a user', async (t) => {
    const page = await openAnother(t, opened(), { name: 'olga' });
    await visit(page, '#/system/protocol');
    await page.getByRole('heading', { name: 'Handover' }).waitFor();
    assert.equal(await page.getByRole('heading', { name: 'Users' }).count(), 0);
    const { gateway } = opened();
    await gateway.ok('INSTALLER', 'POST', '/v3/auth/users', {
      name: 'uwe',
      role: 'USER',
      password: PASSWORD,
    });
    const other = await openAnother(t, opened(), { name: 'uwe' });
    await other.evaluate("location.hash = '#/system/protocol'");
    await other.waitForURL('**/#/system');
    assert.equal(await other.getByRole('heading', { name: 'Handover' }).count(), 0);
    assert.equal(await other.getByRole('link', { name: 'Commissioning protocol' }).count(), 0);
  });
});
