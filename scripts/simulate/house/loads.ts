/** Three loads that are switched on for surplus: what they make is worth more than export, and less than import. */
import { type Figures, Home, noFigures, PRICE, subject } from './home.ts';
import { action, scriptOf, value } from './rule-host.ts';
import { FEED_IN, quartersOf, type Week } from './surroundings.ts';

const LOADS = [2_000, 1_000, 600] as const;
/** Value of a kWh that a load takes. */
const WORTH = 0.15;
const MIN_ON_S = 600;
const MIN_OFF_S = 300;
/** The strategy switches on with a little more than a load takes. */
const MORE_W = 100;

class Switched extends Home {
  readonly #isOn = LOADS.map(() => false);
  readonly #changedS = LOADS.map(() => Number.NEGATIVE_INFINITY);

  isOn(index: number): boolean {
    return this.#isOn[index] === true;
  }

  command(device: string, name: string): void {
    const index = Number(device.slice('load_'.length));
    const isOn = name === 'on';
    if (this.#isOn[index] === isOn) return;
    const leastS = isOn ? MIN_OFF_S : MIN_ON_S;
    if (this.second - (this.#changedS[index] ?? 0) < leastS) this.figures.violations++;
    this.#isOn[index] = isOn;
    this.#changedS[index] = this.second;
    this.figures.switches++;
  }

  protected pass(_pvW: number, _loadW: number, stepH: number) {
    const takenW = LOADS.reduce((sum, watts, index) => sum + (this.isOn(index) ? watts : 0), 0);
    this.figures.cost -= ((takenW * stepH) / 1_000) * WORTH;
    this.figures.usedWh += takenW * stepH;
    this.add('taken by the loads, kWh', (takenW * stepH) / 1_000);
    return { takenW, values: [['loads.power', takenW]] as const };
  }
}

/** The best of the eight choices in each quarter of an hour: nothing is stored, so that each stands alone. */
function optimum(week: Week): Figures {
  const net = quartersOf(
    Float64Array.from(week.loadW, (watts, step) => watts - (week.pvW[step] ?? 0)),
    week.stepS,
  );
  const figures = noFigures();
  for (const netW of net) {
    let best = { cost: Number.POSITIVE_INFINITY, takenW: 0, gridWh: 0 };
    for (let choice = 0; choice < 2 ** LOADS.length; choice++) {
      const takenW = LOADS.reduce((sum, watts, index) => sum + (choice & (1 << index) ? watts : 0), 0);
      const gridWh = (netW + takenW) / 4;
      const cost = (gridWh * (gridWh > 0 ? PRICE : FEED_IN) - (takenW / 4) * WORTH) / 1_000;
      if (cost < best.cost) best = { cost, takenW, gridWh };
    }
    figures.cost += best.cost;
    figures.importWh += Math.max(0, best.gridWh);
    figures.usedWh += best.takenW / 4;
    figures.own['taken by the loads, kWh'] =
      (figures.own['taken by the loads, kWh'] ?? 0) + best.takenW / 4_000;
  }
  figures.usedWh += (week.loadW.reduce((sum, watts) => sum + watts, 0) * week.stepS) / 3_600;
  return figures;
}

export const surplusLoads = subject<Switched>({
  id: 'surplus-loads',
  stepS: 30,
  open: (week) => new Switched(week),
  script: () =>
    scriptOf('surplus-loads', {
      meter: value('meter', 'power'),
      loads: LOADS.map((watts, index) => ({
        power_w: watts + MORE_W,
        on: action(`load_${index}`, 'on'),
        off: action(`load_${index}`, 'off'),
      })),
    }),
  plain: {
    name: 'on with enough export, off with import',
    decide: (home) => {
      for (const [index, watts] of LOADS.entries())
        if (home.isOn(index)) {
          if (home.gridW > 0) home.command(`load_${index}`, 'off');
        } else if (home.gridW < -watts) return home.command(`load_${index}`, 'on');
    },
  },
  optimum,
});
