/** An inverter that must not export more than a limit. */
import { type Figures, Home, noFigures, PRICE, subject } from './home.ts';
import { scriptOf, setpoint, value } from './rule-host.ts';
import { FEED_IN, type Week } from './surroundings.ts';

const NOMINAL_W = 9_000;
const LIMIT_W = 1_500;
/** A load that ends is made up for in the next step, to a percent. */
const SLACK_W = NOMINAL_W / 100;

class Limited extends Home {
  #percent = 100;
  #loadW = Number.POSITIVE_INFINITY;

  command(_device: string, _name: string, percent = 100): void {
    if (percent !== this.#percent) this.figures.switches++;
    this.#percent = percent;
  }

  protected pass(availableW: number, loadW: number, stepH: number) {
    const pvW = Math.min(availableW, (this.#percent / 100) * NOMINAL_W);
    if (pvW - loadW > LIMIT_W + SLACK_W) {
      this.add('above the limit, s', this.stepS);
      // It has not followed the load of the step before.
      if (pvW - this.#loadW > LIMIT_W + SLACK_W) this.figures.violations++;
    }
    this.#loadW = loadW;
    this.add('given up, kWh', ((availableW - pvW) * stepH) / 1_000);
    return {
      takenW: 0,
      pvW,
      values: [
        ['inverter.power', pvW],
        ['inverter.limit', this.#percent],
      ] as const,
    };
  }
}

/** Each step as much as the house takes and may be exported. */
function optimum({ pvW, loadW, stepS }: Week): Figures {
  const figures = noFigures();
  const stepH = stepS / 3_600;
  for (const [step, watts] of loadW.entries()) {
    const availableW = pvW[step] ?? 0;
    const givenW = Math.min(availableW, watts + LIMIT_W);
    const gridWh = (watts - givenW) * stepH;
    figures.cost += (gridWh / 1_000) * (gridWh > 0 ? PRICE : FEED_IN);
    figures.importWh += Math.max(0, gridWh);
    figures.usedWh += watts * stepH;
    figures.own['given up, kWh'] =
      (figures.own['given up, kWh'] ?? 0) + ((availableW - givenW) * stepH) / 1_000;
  }
  return figures;
}

export const exportLimit = subject<Limited>({
  id: 'export-limit',
  stepS: 10,
  open: (week) => new Limited(week),
  script: () =>
    scriptOf('export-limit', {
      meter: value('meter', 'power'),
      pv_power: value('inverter', 'power'),
      inverter: setpoint('inverter', 'limit'),
      nominal_w: NOMINAL_W,
      limit_w: LIMIT_W,
    }),
  plain: {
    name: 'a fixed limit',
    decide: (home) => home.command('inverter', 'limit', (100 * LIMIT_W) / NOMINAL_W),
  },
  optimum,
});
