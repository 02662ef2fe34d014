/** A dry run of a rule, over telemetry of the device `battery` that is imported for it. */
import type { Locator } from 'playwright-core';
import type { OpenConsole } from './support.ts';

const STEP_S = 300;
const ROWS = 280;
const NAMES = ['battery_soc', 'pv_total_power'];
const FULL_OR_EMPTY = `
local battery = enapter.device('battery')
local last
battery.telemetry.on_update('battery_soc', function(soc)
  local power = battery.telemetry.now('pv_total_power')
  local now = soc > 90 and 'full' or soc < 30 and 'empty' or nil
  if now == last then return end
  last = now
  if now == 'full' then battery.execute_command('stop') end
  if now == 'empty' then enapter.log('empty at ' .. tostring(power), 'warning') end
end)`;

/** Resolves with the place of its result, drawn. The box needs its sandbox. */
export async function tryRule({ page, open, gateway }: OpenConsole): Promise<Locator> {
  const nowS = Math.floor(Date.now() / 1_000);
  const rows = Array.from({ length: ROWS }, (_, index) => {
    const soc = Math.round(60 + 40 * Math.sin(index / 20));
    return `${nowS - 600 - index * STEP_S},${soc},${soc * 20}`;
  });
  const head = NAMES.map((name) => `telemetry=${name} device=battery`).join(',');
  await gateway.ok('OWNER', 'POST', '/v3/telemetry/import', `ts,${head}\n${rows.join('\n')}\n`, {
    'Content-Type': 'text/csv',
  });
  await open('#/new-rule/script');
  await page.locator('.cm-content').fill(FULL_OR_EMPTY);
  await page.getByRole('button', { name: 'Test on' }).click();
  const tried = page.locator('[data-test=dry-run]');
  await tried.locator('canvas').waitFor();
  return tried;
}
