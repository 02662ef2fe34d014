/** Which source feeds which use: by hand, and for any reading. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { addFlows, emptyFlows } from '../../../src/capabilities/energy/flows.ts';
import { flowIndex, ORIGINS, type Reading, USES } from '../../../src/capabilities/energy/model.ts';

const NOTHING: Reading = {
  pv: 0,
  generator: 0,
  discharge: 0,
  charge: 0,
  import: 0,
  export: 0,
  electrolyser: 0,
  evCharger: 0,
  heatPump: 0,
  consumption: undefined,
};

/** The flows that are not zero, as `from>to`. */
function flowsOf(reading: Partial<Reading>): Record<string, number> {
  const flows = emptyFlows();
  addFlows({ ...NOTHING, ...reading }, flows);
  const named = ORIGINS.flatMap((origin) =>
    USES.map((use) => [`${origin}>${use}`, flows[flowIndex(origin, use)] as number] as const),
  );
  return Object.fromEntries(named.filter(([, amount]) => amount !== 0));
}

describe('within one interval', () => {
  test('the sun serves the load first, then the battery, then the grid', () => {
    assert.deepEqual(flowsOf({ pv: 5_000, consumption: 1_000, charge: 3_000, export: 1_000 }), {
      'pv>load': 1_000,
      'pv>battery': 3_000,
      'pv>grid': 1_000,
    });
  });

  test('the battery serves what the sun leaves open, and the grid the rest', () => {
    assert.deepEqual(flowsOf({ pv: 500, discharge: 1_000, import: 250, consumption: 1_750 }), {
      'pv>load': 500,
      'battery>load': 1_000,
      'grid>load': 250,
    });
  });

  test('the grid may charge the battery while the sun serves the house', () => {
    assert.deepEqual(flowsOf({ pv: 800, import: 2_200, consumption: 1_000, charge: 2_000 }), {
      'pv>load': 800,
      'grid>load': 200,
      'grid>battery': 2_000,
    });
  });

  test('charge and discharge stay apart: what was charged did not come out of the battery', () => {
    assert.deepEqual(flowsOf({ pv: 100, discharge: 50, charge: 50, consumption: 100 }), {
      'pv>load': 50,
      'pv>battery': 50,
      'battery>load': 50,
    });
  });

  test('import and export stay apart: what was exported did not come from the grid', () => {
    assert.deepEqual(flowsOf({ pv: 100, import: 50, export: 50, consumption: 100 }), {
      'pv>load': 50,
      'pv>grid': 50,
      'grid>load': 50,
    });
  });

  test('the rest of the balance is the load where no load is measured', () => {
    assert.deepEqual(flowsOf({ pv: 900, export: 300, electrolyser: 100 }), {
      'pv>load': 500,
      'pv>electrolyser': 100,
      'pv>grid': 300,
    });
  });

  test('a measured load holds what electrolyser and charger take', () => {
    assert.deepEqual(flowsOf({ import: 3_000, consumption: 3_000, electrolyser: 500, evCharger: 2_000 }), {
      'grid>load': 500,
      'grid>electrolyser': 500,
      'grid>ev_charger': 2_000,
    });
  });

  test('output beyond all uses is losses, use beyond all sources is unmeasured', () => {
    assert.deepEqual(flowsOf({ discharge: 1_050, consumption: 1_000 }), {
      'battery>load': 1_000,
      'battery>losses': 50,
    });
    assert.deepEqual(flowsOf({ pv: 200, consumption: 1_000 }), { 'pv>load': 200, 'unmeasured>load': 800 });
  });
});

test('for any reading, flows sum up to all sources and to all uses, and nothing feeds itself without need', () => {
  const amount = fc.double({ min: 0, max: 1e5, noNaN: true });
  const reading = fc.record({
    pv: amount,
    generator: amount,
    discharge: amount,
    charge: amount,
    import: amount,
    export: amount,
    electrolyser: amount,
    evCharger: amount,
    heatPump: amount,
    consumption: fc.option(amount, { nil: undefined }),
  });
  fc.assert(
    fc.property(reading, (given) => {
      const flows = emptyFlows();
      addFlows(given, flows);
      const at = (origin: (typeof ORIGINS)[number], use: (typeof USES)[number]): number =>
        flows[flowIndex(origin, use)] as number;
      const row = (origin: (typeof ORIGINS)[number]): number =>
        USES.reduce((sum, use) => sum + at(origin, use), 0);
      const column = (use: (typeof USES)[number]): number =>
        ORIGINS.reduce((sum, origin) => sum + at(origin, use), 0);
      const near = (a: number, b: number): boolean => Math.abs(a - b) < 1e-6;
      assert.ok(flows.every((flow) => flow >= 0));
      for (const [shown, wanted] of [
        [row('pv'), given.pv],
        [row('generator'), given.generator],
        [row('battery'), given.discharge],
        [row('grid'), given.import],
        [column('battery'), given.charge],
        [column('grid'), given.export],
        [column('electrolyser'), given.electrolyser],
        [column('ev_charger'), given.evCharger],
        [column('heat_pump'), given.heatPump],
      ] as const)
        assert.ok(near(shown, wanted), `${shown} is not ${wanted}`);
      const named = given.electrolyser + given.evCharger + given.heatPump;
      if (given.consumption !== undefined)
        assert.ok(near(column('load') + named, Math.max(given.consumption, named)));
      for (const itself of ['grid', 'battery'] as const)
        if (at(itself, itself) > 1e-6)
          for (const origin of ORIGINS)
            for (const use of USES)
              if (origin !== itself && use !== itself) assert.ok(at(origin, use) < 1e-6, `${origin}>${use}`);
    }),
  );
});
