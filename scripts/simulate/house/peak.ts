/** Days of a small works with a limit for each quarter of an hour: the strategy, a plain rule, nothing, and foresight. */
import { createRandom } from '../../support/random.ts';
import { action, runRule, scriptOf, setpoint, type StrategyCase, value } from './rule-host.ts';
import type { House } from './simulated-gateway.ts';
import { QUARTER_S, quartersOf, type Week } from './surroundings.ts';

const LIMIT_W = 10_000;
const CAPACITY_WH = 10_000;
const LEAST_WH = 1_000;
const DISCHARGE_W = 8_000;
const CHARGE_W = 2_000;
/** The battery charges itself in these hours of the night. */
const CHARGE_UNTIL_HOUR = 5;

export const PEAK_RULES = ['nothing', 'above the limit', 'strategy', 'optimum'] as const;
export type PeakRule = (typeof PEAK_RULES)[number];

export interface PeakResult {
  /** Quarters of an hour above the limit. */
  violated: number;
  /** Violations while the battery had energy and power left to prevent them; part of the total. */
  preventable: number;
  dischargedWh: number;
  changes: number;
  errors: string[];
}

/** Machines that run for minutes, on top of the house. */
export function worksLoadW({ loadW, stepS }: Week, seed: number): Float64Array {
  const random = createRandom(seed, 30_000);
  const machines = [4_000, 5_000, 7_000].map((powerW) => ({ powerW, leftS: 0 }));
  return loadW.map((watts, step) => {
    const hour = ((step * stepS) % 86_400) / 3_600;
    const isWork = hour >= 7 && hour < 17;
    let sumW = watts + (isWork ? 3_000 : 0);
    for (const machine of machines) {
      if (machine.leftS <= 0 && isWork && random.chance((stepS / 3_600) * 0.8))
        machine.leftS = random.between(180, 1_500);
      if (machine.leftS > 0) sumW += machine.powerW;
      machine.leftS -= stepS;
    }
    return sumW;
  });
}

export async function peakDays(rule: PeakRule, week: Week, seed: number): Promise<PeakResult> {
  const loadW = worksLoadW(week, seed);
  if (rule === 'optimum') return peakOptimum(loadW, week.stepS);
  if (rule === 'strategy') {
    const { house, ...rest } = peakCase(week, seed);
    const { errors } = await runRule({ house, ...rest });
    return { ...house.result, errors };
  }
  const works = new Works(week, loadW);
  while (works.step()) {
    if (rule === 'above the limit')
      works.command('battery', 'discharge', Math.max(0, works.loadNowW - LIMIT_W));
  }
  return works.result;
}

/** The strategy and its works. */
export function peakCase(week: Week, seed: number): StrategyCase & { house: Works } {
  const code = scriptOf('peak-limit', {
    meter: value('meter', 'power'),
    limit_w: LIMIT_W,
    battery: setpoint('battery', 'discharge'),
    release: action('battery', 'release'),
    battery_max_w: DISCHARGE_W,
    battery_soc: value('battery', 'soc'),
    battery_min: (LEAST_WH / CAPACITY_WH) * 100,
  });
  return { code, house: new Works(week, worksLoadW(week, seed)) };
}

export class Works implements House {
  readonly startMs: number;
  readonly stepS: number;
  readonly #loadW: Float64Array;
  readonly result: PeakResult = { violated: 0, preventable: 0, dischargedWh: 0, changes: 0, errors: [] };
  loadNowW = 0;
  #step = 0;
  #wh = CAPACITY_WH;
  #wantedW = 0;
  #importWh = 0;
  #usedWh = 0;

  constructor({ startMs, stepS }: Week, loadW: Float64Array) {
    this.startMs = startMs;
    this.stepS = stepS;
    this.#loadW = loadW;
  }

  step() {
    const loadW = this.#loadW[this.#step];
    if (loadW === undefined) return undefined;
    this.loadNowW = loadW;
    const stepH = this.stepS / 3_600;
    const isNight = ((this.#step * this.stepS) % 86_400) / 3_600 < CHARGE_UNTIL_HOUR;
    const mostW = Math.max(0, Math.min(DISCHARGE_W, (this.#wh - LEAST_WH) / stepH));
    const takesW = isNight ? Math.min(CHARGE_W, (CAPACITY_WH - this.#wh) / stepH) : 0;
    const batteryW = this.#wantedW > 0 ? Math.min(this.#wantedW, mostW) : -takesW;
    this.#wh -= batteryW * stepH;
    this.result.dischargedWh += Math.max(0, batteryW) * stepH;
    this.#usedWh += Math.max(0, batteryW) * stepH;
    this.#importWh += Math.max(0, loadW - batteryW) * stepH;
    this.#step++;
    if ((this.#step * this.stepS) % QUARTER_S === 0) this.#endQuarter();
    return new Map([
      ['meter.power', loadW - batteryW],
      ['battery.soc', (this.#wh / CAPACITY_WH) * 100],
      // For plots.
      ['battery.power', batteryW],
      ['house.power', loadW],
    ]);
  }

  command(_device: string, name: string, given = 0): void {
    const wantedW = name === 'discharge' ? given : 0;
    if (wantedW !== this.#wantedW) this.result.changes++;
    this.#wantedW = wantedW;
  }

  #endQuarter(): void {
    const overWh = this.#importWh - LIMIT_W / 4;
    if (overWh > 0) {
      this.result.violated++;
      const leftWh = Math.min(this.#wh - LEAST_WH, DISCHARGE_W / 4 - this.#usedWh);
      if (leftWh >= overWh) this.result.preventable++;
    }
    this.#importWh = 0;
    this.#usedWh = 0;
  }
}

/**
 * Fewest violated quarters with all loads known. The battery is full each morning, so each day spends its energy on the
 * quarters that need least.
 */
export function peakOptimum(loadW: Float64Array, stepS: number): PeakResult {
  const result: PeakResult = { violated: 0, preventable: 0, dischargedWh: 0, changes: 0, errors: [] };
  const overWh = quartersOf(loadW, stepS).map((watts) => Math.max(0, (watts - LIMIT_W) / 4));
  for (let start = 0; start < overWh.length; start += 96) {
    let leftWh = CAPACITY_WH - LEAST_WH;
    for (const needWh of overWh
      .subarray(start, start + 96)
      .filter((wh) => wh > 0)
      .sort()) {
      if (needWh > DISCHARGE_W / 4 || needWh > leftWh) result.violated++;
      else {
        leftWh -= needWh;
        result.dischargedWh += needWh;
      }
    }
  }
  return result;
}
