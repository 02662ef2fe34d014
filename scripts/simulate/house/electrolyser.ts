/** An electrolyser with a tank from which some hydrogen is taken all day. */
import { type Figures, Home, noFigures, subject, PRICE } from './home.ts';
import { action, scriptOf, setpoint, value } from './rule-host.ts';
import { FEED_IN, QUARTER_S, quartersOf, type Week } from './surroundings.ts';

const MIN_W = 500;
const MAX_W = 2_400;
const RAMP_W_PER_MIN = 600;
const STANDBY_W = 60;
/** After it was off it takes power for so long before it makes hydrogen. */
const COLD_S = 300;
const COLD_W = 300;
/** Electricity whose hydrogen fits into the tank, and that of what is taken from it. */
const TANK_WH = 30_000;
const START_WH = 10_000;
const DRAWN_W = 400;
/** Value of the hydrogen of a kWh. */
const WORTH = 0.18;
const FULL_PERCENT = 98;

class Hydrogen extends Home {
  #mode = 'stop';
  #wantedW = 0;
  /** A minute ago at most. */
  #beforeW = 0;
  #coldS = COLD_S;
  #tankWh = START_WH;
  takenW = 0;

  get levelPercent(): number {
    return (this.#tankWh / TANK_WH) * 100;
  }

  command(_device: string, name: string, watts = 0): void {
    if (name !== this.#mode) this.figures.switches++;
    const mostW = Math.max(MIN_W, this.#beforeW) + RAMP_W_PER_MIN;
    if (name === 'power' && this.#mode === 'power' && watts > mostW) this.figures.violations++;
    this.#mode = name;
    this.#wantedW = watts;
  }

  protected pass(_pvW: number, _loadW: number, stepH: number) {
    if (this.second % 60 === 0) this.#beforeW = this.#mode === 'power' ? this.#wantedW : 0;
    const isRunning = this.#mode === 'power';
    const isCold = isRunning && this.#coldS < COLD_S;
    if (isRunning && this.#coldS >= COLD_S && this.takenW === 0) {
      this.#coldS = 0;
      this.add('cold starts', 1);
    }
    if (isRunning) this.#coldS += this.stepS;
    if (this.#mode === 'stop') this.#coldS = COLD_S;
    this.takenW = isRunning ? (isCold ? COLD_W : this.#wantedW) : this.#mode === 'standby' ? STANDBY_W : 0;
    const madeWh = isRunning && !isCold ? this.#wantedW * stepH : 0;
    this.#tankWh = Math.max(0, this.#tankWh + madeWh - DRAWN_W * stepH);
    if (this.levelPercent > FULL_PERCENT) this.figures.violations++;
    this.figures.cost -= (madeWh / 1_000) * WORTH;
    this.figures.usedWh += this.takenW * stepH;
    this.add('made into hydrogen, kWh', madeWh / 1_000);
    return {
      takenW: this.takenW,
      values: [
        ['electrolyser.power', this.takenW],
        ['tank.level', this.levelPercent],
      ] as const,
    };
  }
}

/** A bound that nobody reaches: any power at once and from zero on, without cold starts, until the tank is full. */
function optimum(week: Week): Figures {
  const net = quartersOf(
    Float64Array.from(week.loadW, (watts, step) => watts - (week.pvW[step] ?? 0)),
    week.stepS,
  );
  const figures = noFigures();
  const hours = QUARTER_S / 3_600;
  let tankWh = START_WH;
  let madeWh = 0;
  for (const netW of net) {
    const roomW = (TANK_WH * 0.95 - tankWh) / hours + DRAWN_W;
    const takenW = Math.max(0, Math.min(MAX_W, -netW, roomW));
    tankWh = Math.max(0, tankWh + (takenW - DRAWN_W) * hours);
    const gridWh = (netW + takenW) * hours;
    figures.cost += (gridWh * (gridWh > 0 ? PRICE : FEED_IN) - takenW * hours * WORTH) / 1_000;
    figures.importWh += Math.max(0, gridWh);
    madeWh += takenW * hours;
  }
  figures.usedWh = (week.loadW.reduce((sum, watts) => sum + watts, 0) * week.stepS) / 3_600 + madeWh;
  return { ...figures, own: { 'made into hydrogen, kWh': madeWh / 1_000 } };
}

export const electrolyser = subject<Hydrogen>({
  id: 'electrolyser',
  stepS: 30,
  open: (week) => new Hydrogen(week),
  script: () =>
    scriptOf('electrolyser', {
      meter: value('meter', 'power'),
      electrolyser_power: value('electrolyser', 'power'),
      tank: value('tank', 'level'),
      power: setpoint('electrolyser', 'power'),
      standby: action('electrolyser', 'standby'),
      stop: action('electrolyser', 'stop'),
      min_w: MIN_W,
      max_w: MAX_W,
      ramp_w: RAMP_W_PER_MIN,
    }),
  plain: {
    name: 'what is exported, from 500 W on',
    decide: (home) => {
      const freeW = home.takenW - home.gridW;
      if (freeW < MIN_W || home.levelPercent > 95) home.command('electrolyser', 'stop');
      else home.command('electrolyser', 'power', Math.min(MAX_W, freeW));
    },
  },
  optimum,
});
