/** A house without a grid: sun, battery, and a generator for what they lack. */
import { cheapest } from './levels.ts';
import { type Figures, Home, noFigures, subject } from './home.ts';
import { action, scriptOf, value } from './rule-host.ts';
import { QUARTER_S, quartersOf, type Week } from './surroundings.ts';

const CAPACITY_WH = 10_000;
const START_WH = 5_000;
const BATTERY_W = 5_000;
const ONE_WAY = 0.95;
const GENERATOR_W = 5_000;
/** It delivers so long after a start. */
const WARM_UP_S = 30;
/** It burns so much an hour as soon as it runs, and so much for each kWh; a start wears it. */
const HOUR_COST = 0.5;
const KWH_COST = 0.3;
const START_COST = 0.25;
/** Of a kWh that the house lacks. */
const MISSING_COST = 2;

const fuelOf = (runs: boolean, givenW: number, hours: number): number =>
  runs ? (HOUR_COST + (givenW / 1_000) * KWH_COST) * hours : 0;

interface Balance {
  batteryWh: number;
  givenW: number;
  missingWh: number;
}

/** The generator gives what the house and the battery take. */
function balanced(storedWh: number, netW: number, generatorW: number, hours: number): Balance {
  const roomW = Math.max(0, Math.min(BATTERY_W, (CAPACITY_WH - storedWh) / ONE_WAY / hours));
  const givenW = Math.max(0, Math.min(generatorW, netW + roomW));
  const leftW = netW - givenW;
  if (leftW <= 0) {
    const inW = Math.min(-leftW, roomW);
    return { batteryWh: storedWh + inW * ONE_WAY * hours, givenW, missingWh: 0 };
  }
  const outW = Math.min(leftW, BATTERY_W, (storedWh * ONE_WAY) / hours);
  return { batteryWh: storedWh - (outW / ONE_WAY) * hours, givenW, missingWh: (leftW - outW) * hours };
}

const worthOf = (storedWh: number): number => (((storedWh - START_WH) * ONE_WAY) / 1_000) * KWH_COST;

class Island extends Home {
  #storedWh = START_WH;
  #runsS = -1;

  get socPercent(): number {
    return (this.#storedWh / CAPACITY_WH) * 100;
  }

  get isRunning(): boolean {
    return this.#runsS >= 0;
  }

  command(_device: string, name: string): void {
    if ((name === 'start') === this.isRunning) return;
    this.#runsS = name === 'start' ? 0 : -1;
    if (!this.isRunning) return;
    this.figures.switches++;
    this.figures.cost += START_COST;
  }

  override finished(): Figures {
    this.figures.cost -= worthOf(this.#storedWh);
    return this.figures;
  }

  protected override count(): void {
    // There is no grid.
  }

  protected pass(pvW: number, loadW: number, stepH: number) {
    const powerW = this.#runsS >= WARM_UP_S ? GENERATOR_W : 0;
    const { batteryWh, givenW, missingWh } = balanced(this.#storedWh, loadW - pvW, powerW, stepH);
    this.figures.cycles += Math.max(0, this.#storedWh - batteryWh) / CAPACITY_WH;
    this.figures.cost += fuelOf(this.isRunning, givenW, stepH) + (missingWh / 1_000) * MISSING_COST;
    this.figures.usedWh += loadW * stepH;
    // What the sun does not give counts as bought.
    this.figures.importWh += givenW * stepH + missingWh;
    if (missingWh > 1) this.figures.violations++;
    this.add('missing, kWh', missingWh / 1_000);
    if (this.isRunning) this.add('generator runs, h', stepH);
    this.#storedWh = batteryWh;
    if (this.isRunning) this.#runsS += this.stepS;
    return {
      takenW: pvW - loadW,
      values: [
        ['battery.soc', this.socPercent],
        ['generator.power', givenW],
      ] as const,
    };
  }
}

/** Runs or not in each quarter of an hour. */
function optimum(week: Week): Figures {
  const net = quartersOf(
    Float64Array.from(week.loadW, (watts, step) => watts - (week.pvW[step] ?? 0)),
    week.stepS,
  );
  const hours = QUARTER_S / 3_600;
  const passed = (step: number, storedWh: number, choice: number, last: number) => {
    const balance = balanced(storedWh, net[step] ?? 0, choice * GENERATOR_W, hours);
    const cost =
      fuelOf(choice === 1, balance.givenW, hours) +
      (choice > last ? START_COST : 0) +
      (balance.missingWh / 1_000) * MISSING_COST;
    return { ...balance, level: balance.batteryWh, cost };
  };
  const chosen = cheapest({
    steps: net.length,
    levels: Array.from({ length: 101 }, (_, index) => (index * CAPACITY_WH) / 100),
    start: START_WH,
    choices: 2,
    next: passed,
    end: (storedWh) => -worthOf(storedWh),
  });
  const figures = noFigures();
  let [storedWh, last] = [START_WH, 0];
  const own = { 'missing, kWh': 0, 'generator runs, h': 0 };
  for (const [step, choice] of chosen.entries()) {
    const { level, cost, givenW, missingWh } = passed(step, storedWh, choice, last);
    figures.cost += cost;
    figures.importWh += givenW * hours + missingWh;
    figures.cycles += Math.max(0, storedWh - level) / CAPACITY_WH;
    if (choice > last) figures.switches++;
    own['missing, kWh'] += missingWh / 1_000;
    own['generator runs, h'] += choice * hours;
    [storedWh, last] = [level, choice];
  }
  figures.usedWh = (week.loadW.reduce((sum, watts) => sum + watts, 0) * week.stepS) / 3_600;
  figures.cost -= worthOf(storedWh);
  return { ...figures, own };
}

export const generator = subject<Island>({
  id: 'generator',
  stepS: 30,
  open: (week) => new Island(week),
  script: () =>
    scriptOf('generator', {
      battery_soc: value('battery', 'soc'),
      start: action('generator', 'start'),
      stop: action('generator', 'stop'),
      power: value('generator', 'power'),
    }),
  plain: {
    name: 'on below 30 %, off above 35 %',
    decide: (home) => {
      if (home.socPercent < 30) home.command('generator', 'start');
      else if (home.socPercent > 35) home.command('generator', 'stop');
    },
  },
  optimum,
});
