/** A heat pump with a tank: SG-Ready states shift when it runs. */
import { cheapest } from './levels.ts';
import { type At, type Figures, Home, noFigures, PRICE, subject } from './home.ts';
import { action, scriptOf, value } from './rule-host.ts';
import { DAY_S, FEED_IN, QUARTER_S, quartersOf, type Week } from './surroundings.ts';

const POWER_W = 2_000;
const TANK_WH_PER_K = 700;
const LOSS_W_PER_K = 4;
const HOUSE_W_PER_K = 160;
const HOT_WATER_W = 300;
const START_C = 47;
const COMFORT_C = 40;
/** Where the pump starts and stops by itself, by the state that it is in. */
const STATES: Record<string, readonly [on: number, off: number]> = {
  block: [-99, -99],
  normal: [45, 50],
  more: [52, 55],
  full: [59, 60],
};
/** The compressor's own pause. */
const PAUSE_S = 300;
const STATE_MIN_S = 600;

const outsideC = (day: number, hour: number): number =>
  9 - 10 * Math.cos((2 * Math.PI * (day - 15)) / 365) - 4 * Math.cos(((hour - 3) / 12) * Math.PI);

const heatW = (coldC: number): number => HOT_WATER_W + HOUSE_W_PER_K * Math.max(0, 17 - coldC);

/** Heat for power. */
const factorOf = (tankC: number, coldC: number): number =>
  Math.min(6, Math.max(1.5, 5.5 - 0.06 * (tankC - coldC)));

const warmed = (tankC: number, coldC: number, pumpW: number, hours: number): number =>
  tankC +
  ((pumpW * factorOf(tankC, coldC) - heatW(coldC) - LOSS_W_PER_K * (tankC - 20)) * hours) / TANK_WH_PER_K;

/** What is in the tank at the end counts as the sun would have made it. */
const worthOf = (tankC: number): number => (((tankC - START_C) * TANK_WH_PER_K) / 3 / 1_000) * FEED_IN;

class Heated extends Home {
  readonly #day: number;
  #tankC = START_C;
  #isOn = false;
  #state = 'normal';
  #changedS = Number.NEGATIVE_INFINITY;
  #switchedS = Number.NEGATIVE_INFINITY;

  constructor(week: Week, { day }: At) {
    super(week);
    this.#day = day;
  }

  get state(): string {
    return this.#state;
  }

  command(_device: string, name: string): void {
    if (name === this.#state) return;
    this.figures.switches++;
    if (this.second - this.#changedS < STATE_MIN_S) this.figures.violations++;
    this.#state = name;
    this.#changedS = this.second;
  }

  override finished(): Figures {
    this.figures.cost -= worthOf(this.#tankC);
    return this.figures;
  }

  protected pass(_pvW: number, _loadW: number, stepH: number) {
    const [onC, offC] = STATES[this.#state] as readonly [number, number];
    const isWanted = this.#isOn ? this.#tankC < offC : this.#tankC < onC;
    if (isWanted !== this.#isOn && this.second - this.#switchedS >= PAUSE_S) {
      this.#isOn = isWanted;
      this.#switchedS = this.second;
      if (isWanted) this.add('starts of the compressor', 1);
    }
    const takenW = this.#isOn ? POWER_W : 0;
    const coldC = outsideC(this.#day + Math.floor(this.second / DAY_S), (this.second % DAY_S) / 3_600);
    this.#tankC = warmed(this.#tankC, coldC, takenW, stepH);
    if (this.#tankC < COMFORT_C) this.add('colder than 40 °C, h', stepH);
    this.figures.usedWh += takenW * stepH;
    this.add('taken by the heat pump, kWh', (takenW * stepH) / 1_000);
    return {
      takenW,
      values: [
        ['heat_pump.power', takenW],
        ['tank.temperature', this.#tankC],
      ] as const,
    };
  }
}

/** On or off in each quarter of an hour, between the temperatures at which it starts and stops at most. */
function optimum(week: Week, { day }: At): Figures {
  const [load, sun] = [quartersOf(week.loadW, week.stepS), quartersOf(week.pvW, week.stepS)];
  const costOf = (step: number, pumpW: number): { gridWh: number; cost: number } => {
    const gridWh = ((load[step] ?? 0) + pumpW - (sun[step] ?? 0)) / 4;
    return { gridWh, cost: (gridWh / 1_000) * (gridWh > 0 ? PRICE : FEED_IN) };
  };
  const next = (step: number, level: number, choice: number, last: number) => {
    const second = step * QUARTER_S;
    const coldC = outsideC(day + Math.floor(second / DAY_S), (second % DAY_S) / 3_600);
    const tankC = warmed(level, coldC, choice * POWER_W, QUARTER_S / 3_600);
    if (choice === 1 && tankC > 61) return undefined;
    // A start is not free, as no compressor takes every quarter of an hour.
    const start = choice > last ? 0.005 : 0;
    return { level: tankC, cost: costOf(step, choice * POWER_W).cost + start + Math.max(0, 44 - tankC) };
  };
  const levels = Array.from({ length: 91 }, (_, index) => 40 + index / 4);
  const chosen = cheapest({
    steps: load.length,
    levels,
    start: START_C,
    choices: 2,
    next,
    end: (tankC) => -worthOf(tankC),
  });
  const figures = noFigures();
  let [tankC, last] = [START_C, 0];
  for (const [step, choice] of chosen.entries()) {
    tankC = next(step, tankC, choice, last)?.level ?? tankC;
    const { gridWh, cost } = costOf(step, choice * POWER_W);
    figures.cost += cost;
    figures.importWh += Math.max(0, gridWh);
    figures.usedWh += ((load[step] ?? 0) + choice * POWER_W) / 4;
    if (choice > last)
      figures.own['starts of the compressor'] = (figures.own['starts of the compressor'] ?? 0) + 1;
    figures.own['taken by the heat pump, kWh'] =
      (figures.own['taken by the heat pump, kWh'] ?? 0) + (choice * POWER_W) / 4_000;
    last = choice;
  }
  figures.cost -= worthOf(tankC);
  return figures;
}

export const heatPump = subject<Heated>({
  id: 'heat-pump',
  stepS: 30,
  open: (week, at) => new Heated(week, at),
  script: () =>
    scriptOf('heat-pump', {
      meter: value('meter', 'power'),
      normal: action('heat_pump', 'normal'),
      more: action('heat_pump', 'more'),
      full: action('heat_pump', 'full'),
      block: action('heat_pump', 'block'),
    }),
  plain: {
    name: 'more while 1.5 kW is exported',
    decide: (home) => {
      if (home.gridW < -1_500) home.command('heat_pump', 'more');
      else if (home.gridW > 0) home.command('heat_pump', 'normal');
    },
  },
  optimum,
});
