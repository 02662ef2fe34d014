/** The model of the sample `simulated-house`, step by step in the real Lua of a device. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { sampleBlueprint } from '../support/samples.ts';
import { closeBenches, saidBy } from './runtime/script-bench.ts';

const MODEL = sampleBlueprint('simulated-house')['lua/house.lua'] ?? '';
/** A whole number of days, so that a day begins with it. */
const FIRST_STEP = 20_500 * 17_280;

/** What a chunk said that knows the model as `house`, and moves a state on by `live(state, hours, each)`. */
async function lived(chunk: string): Promise<string[]> {
  const [said] = await saidBy(`
    local house = (function() ${MODEL} end)()
    local step = ${FIRST_STEP}
    local function live(state, hours, each)
      for quarter = 1, hours * 4 do
        for _ = 1, 900 // house.STEP_S do
          local hour = (step % 17280) * house.STEP_S / 3600
          each(house.step(state, step, hour), hour)
          step = step + 1
        end
        system.delay(1)
      end
    end
    ${chunk}`);
  return said;
}

describe('the simulated house', () => {
  after(closeBenches);

  test('the simulated house balances in every step, keeps the bounds of its battery, and counts what flowed', async () => {
    const [text = ''] = await lived(`
      local state = house.new()
      local sums = { pv = 0, into = 0, out = 0, import = 0, export = 0, load = 0 }
      local faults, night_w, noon_w, least, most = {}, 0, 0, 100, 0
      live(state, 24, function(flows, hour)
        if flows.pv_w + flows.battery_w + flows.grid_w ~= flows.load_w then faults[#faults + 1] = hour end
        if math.type(flows.grid_w) ~= 'integer' or flows.load_w <= 0 then faults[#faults + 1] = hour end
        local soc = house.soc_percent(state)
        least, most = math.min(least, soc), math.max(most, soc)
        if hour < 6 or hour > 20 then night_w = night_w + flows.pv_w end
        if hour > 12 and hour < 14 then noon_w = math.max(noon_w, flows.pv_w) end
        sums.pv = sums.pv + flows.pv_w
        sums.load = sums.load + flows.load_w
        sums.into = sums.into + math.max(0, -flows.battery_w)
        sums.out = sums.out + math.max(0, flows.battery_w)
        sums.import = sums.import + math.max(0, flows.grid_w)
        sums.export = sums.export + math.max(0, -flows.grid_w)
      end)
      say({ faults = #faults, night_w = night_w, noon_w = noon_w, least = least, most = most, sums = sums, state = state })`);
    const day = JSON.parse(text) as {
      faults: number;
      night_w: number;
      noon_w: number;
      least: number;
      most: number;
      sums: Record<string, number>;
      state: Record<string, number>;
    };
    assert.equal(day.faults, 0);
    assert.equal(day.night_w, 0);
    assert.ok(day.noon_w > 2_000, `${day.noon_w} W at noon`);
    assert.ok(day.least >= 20 - 1e-6 && day.most <= 100, `${day.least} % to ${day.most} %`);
    const wh = (name: string): number => ((day.sums[name] ?? Number.NaN) * 5) / 3_600;
    for (const [counter, name] of [
      ['pv_wh', 'pv'],
      ['load_wh', 'load'],
      ['battery_in_wh', 'into'],
      ['battery_out_wh', 'out'],
      ['grid_in_wh', 'import'],
      ['grid_out_wh', 'export'],
    ] as const)
      assert.ok(Math.abs((day.state[counter] ?? 0) - wh(name)) < 0.01, counter);
    assert.ok(wh('pv') > 20_000 && wh('load') > 10_000, `${wh('pv')} Wh of sun, ${wh('load')} Wh used`);
    // What is in the battery is what went in and out, with its losses.
    const stored = 5_000 + wh('into') * 0.97 - wh('out') / 0.97;
    assert.ok(Math.abs((day.state['stored_wh'] ?? 0) - stored) < 0.01);
  });

  test('the simulated house fills its battery from the grid up to the reserve, not faster than its limit', async () => {
    const said = await lived(`
      local state = house.new()
      state.mode, state.reserve_percent, state.charge_limit_w = 'backup', 60, 3000
      local least = 0
      live(state, 1, function(flows) least = math.min(least, flows.battery_w) end)
      say(least, math.floor(house.soc_percent(state) + 0.5))`);
    assert.deepEqual(said, ['-3000 60']);
  });

  test('the simulated house lives from the grid while it is stopped, and takes nothing from an empty battery', async () => {
    const said = await lived(`
      local state = house.new()
      state.is_running = false
      local flowed = 0
      live(state, 12, function(flows) flowed = flowed + flows.pv_w + math.abs(flows.battery_w) end)
      say(flowed, house.soc_percent(state))
      state.is_running, state.stored_wh = true, 0
      house.step(state, step, 3)
      say(state.is_low, house.step(state, step, 3).battery_w, state.stored_wh)`);
    assert.deepEqual(said, ['0 50.0', 'true 0 0']);
  });
});
