import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { BATTERY, socPercent, terminals } from '../../../scripts/simulate/battery.ts';
import {
  acOfDc,
  dcOfAc,
  type InverterInput,
  type InverterState,
  MODES,
  stepInverter,
} from '../../../scripts/simulate/inverter.ts';
import { NO_ENERGY } from '../../../scripts/simulate/plant.ts';

const power = (maxW: number): fc.Arbitrary<number> =>
  fc.double({ min: 0, max: maxW, noNaN: true, noDefaultInfinity: true });

const inputs: fc.Arbitrary<InverterInput> = fc.record({
  pvAvailableW: power(8_000),
  loadW: power(12_000),
  ambientC: fc.double({ min: -20, max: 45, noNaN: true }),
  gridConnected: fc.boolean(),
  fanWorks: fc.boolean(),
  batteryReachable: fc.boolean(),
  settings: fc.record({
    running: fc.boolean(),
    mode: fc.constantFrom(...MODES),
    reservePercent: fc.integer({ min: 0, max: 100 }),
    chargeLimitW: power(10_000),
    maxChargePowerW: power(10_000),
    maxDischargePowerW: power(10_000),
    minimumSocPercent: fc.integer({ min: 0, max: 100 }),
    feedInAllowed: fc.boolean(),
  }),
});

const days = fc.record({
  soc: fc.double({ min: 0, max: 100, noNaN: true }),
  steps: fc.array(fc.tuple(inputs, fc.double({ min: 0.1, max: 60, noNaN: true })), {
    minLength: 1,
    maxLength: 60,
  }),
});

function startAt(percent: number): InverterState {
  return {
    energy: NO_ENERGY,
    battery: {
      storedWh: (BATTERY.capacityWh * percent) / 100,
      temperatureC: 25,
      tooWarmS: 0,
      overheated: false,
    },
  };
}

describe('the physics of the inverter', () => {
  it('the physics of the inverter never creates energy: panels, battery and grid give the load and a loss that is not negative', () => {
    fc.assert(
      fc.property(days, ({ soc, steps }) => {
        let state = startAt(soc);
        for (const [input, stepS] of steps) {
          const { flows, state: next } = stepInverter(state, input, stepS);
          state = next;
          const difference = flows.pvW + flows.batteryW + flows.gridW - flows.loadW - flows.lossW;
          assert.ok(Math.abs(difference) < 1e-6, `unbalanced by ${difference} W`);
          assert.ok(flows.lossW > -1e-6, `loss ${flows.lossW} W`);
          assert.ok(flows.pvW >= 0 && flows.pvW <= input.pvAvailableW + 1e-9);
          assert.ok(flows.loadW >= 0 && flows.loadW <= input.loadW + 1e-9);
        }
      }),
    );
  });

  it('the physics of the inverter keeps the state of charge within its bounds and stores no more than was charged', () => {
    fc.assert(
      fc.property(days, ({ soc, steps }) => {
        let state = startAt(soc);
        for (const [input, stepS] of steps) {
          const before = state.battery.storedWh;
          const { flows, state: next } = stepInverter(state, input, stepS);
          state = next;
          assert.ok(socPercent(state.battery) >= 0 && socPercent(state.battery) <= 100);
          const storedWh = state.battery.storedWh - before;
          const givenWh = (-flows.batteryW * stepS) / 3_600;
          assert.ok(storedWh <= givenWh + 1e-6, `${storedWh} Wh stored of ${givenWh} Wh given`);
        }
      }),
    );
  });

  it('the physics of the inverter counts energy that never goes back', () => {
    fc.assert(
      fc.property(days, ({ soc, steps }) => {
        let state = startAt(soc);
        for (const [input, stepS] of steps) {
          const next = stepInverter(state, input, stepS).state;
          for (const key of Object.keys(NO_ENERGY) as (keyof typeof NO_ENERGY)[])
            assert.ok(next.energy[key] >= state.energy[key], `${key} went back`);
          state = next;
        }
      }),
    );
  });

  it('the physics of the inverter exchanges nothing with a lost grid and exports nothing when that is forbidden', () => {
    fc.assert(
      fc.property(inputs, fc.double({ min: 0, max: 100, noNaN: true }), (input, soc) => {
        const { flows } = stepInverter(startAt(soc), input, 1);
        if (!input.gridConnected) assert.equal(flows.gridW, 0);
        if (input.gridConnected && !input.settings.feedInAllowed)
          assert.ok(flows.gridW > -1e-6 || flows.batteryW > 0, `${flows.gridW} W fed in from the panels`);
      }),
    );
  });

  it('the physics of the inverter does not use the battery while its line is broken, it is overheated, or the inverter is stopped', () => {
    fc.assert(
      fc.property(inputs, fc.constantFrom('line', 'heat', 'stopped'), (input, why) => {
        const state = startAt(50);
        const { flows } = stepInverter(
          { ...state, battery: { ...state.battery, overheated: why === 'heat', temperatureC: 50 } },
          {
            ...input,
            batteryReachable: why !== 'line',
            settings: { ...input.settings, running: why !== 'stopped' },
          },
          1,
        );
        assert.equal(flows.batteryW, 0);
      }),
    );
  });

  it('the physics of the inverter inverts its loss curve', () => {
    fc.assert(
      fc.property(fc.double({ min: -8_000, max: 12_000, noNaN: true }), (acW) => {
        assert.ok(Math.abs(acOfDc(dcOfAc(acW)) - acW) < 1e-6);
      }),
    );
  });

  it('the physics of the inverter shows a voltage and a current at the terminals that multiply to the power', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 100, noNaN: true }),
        fc.double({ min: -5_000, max: 5_000, noNaN: true }),
        (soc, powerW) => {
          const { voltageV, currentA } = terminals(startAt(soc).battery, powerW);
          assert.ok(Math.abs(voltageV * currentA - powerW) < 1e-6);
          assert.ok(voltageV > 40 && voltageV < 60);
        },
      ),
    );
  });
});
