/** A week of a car that is charged by surplus: the strategy, a plain rule, charging at once, and perfect foresight. */
import { action, runRule, scriptOf, setpoint, type StrategyCase, value } from './rule-host.ts';
import type { House } from './simulated-gateway.ts';
import { QUARTER_S, type Trip, tripsOf, type Week } from './surroundings.ts';

const V = 230;
const MIN_A = 6;
const MAX_A = 16;
/** One ampere on one phase for a quarter of an hour: all energies are multiples of it. */
const UNIT_WH = V / 4;
/** The car needs so much each day by seven, and has room for more: what it takes is used up the next day. */
const NEED_WH = 113 * UNIT_WH;
const ROOM_WH = 348 * UNIT_WH;
const READY_HOUR = 7;

export const CAR_RULES = ['at once', 'on and off', 'strategy', 'optimum'] as const;
export type CarRule = (typeof CAR_RULES)[number];

export interface CarResult {
  solarWh: number;
  gridWh: number;
  /** Starts of charging, switches of phases included. */
  starts: number;
  mostStartsADay: number;
  phaseSwitches: number;
  /** Missing at seven; counts as taken from the grid. */
  missingWh: number;
  /** Currents outside the bounds, and switches of phases under current. */
  violations: number;
  errors: string[];
}

export async function carWeek(
  rule: CarRule,
  week: Week,
  seed: { seed: number; day: number },
): Promise<CarResult> {
  const trips = tripsOf(seed);
  if (rule === 'optimum') return carOptimum(week, trips);
  if (rule === 'strategy') {
    const { house, ...rest } = carCase(week, seed);
    const { errors } = await runRule({ house, ...rest });
    return { ...house.finished(), errors };
  }
  const car = new Car(week, trips);
  while (car.step())
    if (rule === 'at once') atOnce(car);
    else onAndOff(car);
  return car.finished();
}

/** The strategy and its car. */
export function carCase(week: Week, seed: { seed: number; day: number }): StrategyCase & { house: Car } {
  const code = scriptOf('surplus-charging', {
    meter: value('meter', 'power'),
    charger_power: value('charger', 'power'),
    current: setpoint('charger', 'current'),
    stop: action('charger', 'stop'),
    phases: 'both',
    one_phase: action('charger', 'one_phase'),
    three_phases: action('charger', 'three_phases'),
    ready_kwh: NEED_WH / 1_000,
    ready_by: `0${READY_HOUR}:00`,
  });
  return { code, house: new Car(week, tripsOf(seed)) };
}

const emptyResult = (): CarResult => ({
  solarWh: 0,
  gridWh: 0,
  starts: 0,
  mostStartsADay: 0,
  phaseSwitches: 0,
  missingWh: 0,
  violations: 0,
  errors: [],
});

export class Car implements House {
  readonly startMs: number;
  readonly stepS: number;
  readonly #week: Week;
  readonly #trips: readonly Trip[];
  readonly result = emptyResult();
  #step = 0;
  #currentA = 0;
  #phases = 3;
  #startsToday = 0;
  #isDrawing = false;
  exportW = 0;
  chargerW = 0;
  /** Since seven. */
  chargedWh = 0;

  constructor(week: Week, trips: readonly Trip[]) {
    this.#week = week;
    this.#trips = trips;
    ({ startMs: this.startMs, stepS: this.stepS } = week);
  }

  get hour(): number {
    return ((this.#step * this.stepS) % 86_400) / 3_600;
  }

  get isCharging(): boolean {
    return this.#currentA > 0;
  }

  step() {
    const { pvW, loadW } = this.#week;
    if (this.#step >= pvW.length) return undefined;
    const quarter = (this.#step * this.stepS) / QUARTER_S;
    if (this.hour === 0) this.#startsToday = 0;
    if (this.hour === READY_HOUR) this.#due();
    const isAway = this.#trips.some(({ from, to }) => quarter >= from && quarter < to);
    const wantedW = isAway ? 0 : this.#currentA * V * this.#phases;
    const stepH = this.stepS / 3_600;
    this.chargerW = Math.min(wantedW, (ROOM_WH - this.chargedWh) / stepH);
    if (this.chargerW > 0 && !this.#isDrawing) {
      this.result.starts++;
      this.result.mostStartsADay = Math.max(this.result.mostStartsADay, ++this.#startsToday);
    }
    this.#isDrawing = this.chargerW > 0 || (this.#isDrawing && this.#currentA > 0 && !isAway);
    const surplusW = (pvW[this.#step] ?? 0) - (loadW[this.#step] ?? 0);
    const solarWh = Math.max(0, Math.min(surplusW, this.chargerW)) * stepH;
    this.chargedWh += this.chargerW * stepH;
    this.result.solarWh += solarWh;
    this.result.gridWh += this.chargerW * stepH - solarWh;
    this.exportW = surplusW - this.chargerW;
    this.#step++;
    return new Map([
      ['meter.power', -this.exportW],
      ['charger.power', this.chargerW],
      // For plots.
      ['sun.power', pvW[this.#step - 1] ?? 0],
      ['house.power', loadW[this.#step - 1] ?? 0],
      ['car.charged_kwh', this.chargedWh / 1_000],
    ]);
  }

  command(_device: string, name: string, given?: number): void {
    if (name === 'stop') this.#currentA = 0;
    else if (name === 'current') {
      if (given === undefined || given < MIN_A || given > MAX_A) this.result.violations++;
      this.#currentA = given ?? 0;
    } else {
      const phases = name === 'one_phase' ? 1 : 3;
      if (phases === this.#phases) return;
      if (this.#currentA > 0) this.result.violations++;
      this.#phases = phases;
      this.result.phaseSwitches++;
    }
  }

  finished(): CarResult {
    this.result.gridWh += Math.max(0, NEED_WH - this.chargedWh);
    return this.result;
  }

  #due(): void {
    const missingWh = Math.max(0, NEED_WH - this.chargedWh);
    this.result.missingWh += missingWh;
    this.result.gridWh += missingWh;
    this.chargedWh = 0;
  }
}

/** Charges what a day needs as soon as the car is there. */
function atOnce(car: Car): void {
  const isNeeded = car.chargedWh < NEED_WH;
  if (isNeeded !== car.isCharging) car.command('charger', isNeeded ? 'current' : 'stop', MAX_A);
}

/** The smallest current on three phases while that much is exported, with a hysteresis, and the rest at night. */
function onAndOff(car: Car): void {
  const isNight = car.hour >= 3 && car.hour < 7 && car.chargedWh < NEED_WH;
  const powerW = 3 * V * MIN_A;
  if (isNight) {
    if (!car.isCharging) car.command('charger', 'current', MAX_A);
  } else if (car.isCharging && car.exportW < -500) car.command('charger', 'stop');
  else if (car.exportW > powerW) car.command('charger', 'current', MIN_A);
}

/**
 * Least energy from the grid, then most from the sun, with the need of each day: dynamic programming over quarters of an
 * hour with one current in each, whole amperes on one or three phases, and exact levels of energy.
 */
export function carOptimum(week: Week, trips: readonly Trip[]): CarResult {
  const { pvW, loadW, stepS } = week;
  const levels = ROOM_WH / UNIT_WH;
  const choices = [0];
  for (let currentA = MIN_A; currentA <= MAX_A; currentA++) choices.push(currentA, 3 * currentA);
  const each = QUARTER_S / stepS;
  const solarOf = (quarter: number, units: number): number => {
    let sumW = 0;
    for (let step = quarter * each; step < (quarter + 1) * each; step++)
      sumW += Math.max(0, Math.min(units * V, (pvW[step] ?? 0) - (loadW[step] ?? 0)));
    return (sumW * stepS) / 3_600;
  };
  const missing = Float64Array.from({ length: levels + 1 }, (_, level) =>
    Math.max(0, NEED_WH - level * UNIT_WH),
  );
  const chosen = Array.from({ length: pvW.length / each }, () => new Uint8Array(levels + 1));
  let cost = missing;
  for (let quarter = chosen.length - 1; quarter >= 0; quarter--) {
    const table = chosen[quarter] as Uint8Array;
    const isAway = trips.some(({ from, to }) => quarter >= from && quarter < to);
    const before = new Float64Array(levels + 1).fill(Number.POSITIVE_INFINITY);
    for (const units of isAway ? [0] : choices) {
      const solarWh = solarOf(quarter, units);
      const ownWh = units * UNIT_WH - solarWh - solarWh / 1_000;
      for (let level = 0; level + units <= levels; level++) {
        const all = (cost[level + units] ?? 0) + ownWh;
        if (all >= (before[level] ?? 0) - 1e-9) continue;
        before[level] = all;
        table[level] = units;
      }
    }
    cost = isDue(quarter) ? before.map((_, level) => (missing[level] ?? 0) + (before[0] ?? 0)) : before;
  }
  return followed(chosen, solarOf);
}

const isDue = (quarter: number): boolean => quarter % 96 === READY_HOUR * 4;

function followed(
  chosen: readonly Uint8Array[],
  solarOf: (quarter: number, units: number) => number,
): CarResult {
  const result = emptyResult();
  let level = 0;
  let last = 0;
  for (const [quarter, table] of chosen.entries()) {
    if (isDue(quarter)) {
      result.gridWh += Math.max(0, NEED_WH - level * UNIT_WH);
      level = 0;
    }
    const units = table[level] ?? 0;
    level += units;
    const solarWh = solarOf(quarter, units);
    result.solarWh += solarWh;
    result.gridWh += units * UNIT_WH - solarWh;
    if (last === 0 && units > 0) result.starts++;
    last = units;
  }
  result.gridWh += Math.max(0, NEED_WH - level * UNIT_WH);
  return result;
}
