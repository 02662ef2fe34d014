/** Hours with the grid operator's signal (§ 14a EnWG): a charger and a heat pump that would take all they can. */
import { createRandom } from '../../support/random.ts';
import { type At, Home, subject } from './home.ts';
import { scriptOf, setpoint, value } from './rule-host.ts';
import type { Week } from './surroundings.ts';

const LOADS = [11_000, 6_000] as const;
const LIMIT_W = 4_200;
/** From the signal until the loads are within the limit. */
const GRACE_S = 5;

class Signalled extends Home {
  readonly #random: ReturnType<typeof createRandom>;
  readonly #limitW: number[] = [...LOADS];
  isLimited = false;
  #nextS = 0;
  #limitedS = 0;

  constructor(week: Week, { seed, day }: At) {
    super(week);
    this.#random = createRandom(seed, 60_000 + day);
    this.#nextS = this.#random.integer(60, 900);
  }

  command(device: string, _name: string, watts = 0): void {
    const index = Number(device.slice('load_'.length));
    if (watts !== this.#limitW[index]) this.figures.switches++;
    this.#limitW[index] = watts;
  }

  protected pass(_pvW: number, _loadW: number, stepH: number) {
    if (this.second >= this.#nextS) {
      this.isLimited = !this.isLimited;
      this.#limitedS = this.second;
      this.#nextS = this.second + this.#random.integer(30, 900);
    }
    const powers = LOADS.map((watts, index) => Math.min(watts, this.#limitW[index] ?? watts));
    const takenW = powers.reduce((sum, watts) => sum + watts, 0);
    const isOver = this.isLimited && powers.some((watts) => watts > LIMIT_W);
    if (isOver) this.add('above the limit, s', this.stepS);
    if (isOver && this.second - this.#limitedS > GRACE_S) this.figures.violations++;
    this.figures.usedWh += takenW * stepH;
    this.add('taken by the loads, kWh', (takenW * stepH) / 1_000);
    return {
      takenW,
      values: [
        ['contact.signal', this.isLimited ? 1 : 0],
        ['loads.power', takenW],
      ] as const,
    };
  }
}

export const gridSignal = subject<Signalled>({
  id: 'grid-signal',
  stepS: 1,
  hours: 2,
  open: (week, at) => new Signalled(week, at),
  script: () =>
    scriptOf('grid-signal', {
      signal: value('contact', 'signal'),
      loads: LOADS.map((watts, index) => ({
        power: setpoint(`load_${index}`, 'limit'),
        limit_w: LIMIT_W,
        free_w: watts,
      })),
    }),
  plain: {
    name: 'a look every minute',
    decide: (home) => {
      if (home.second % 60 !== 0) return;
      for (const [index, watts] of LOADS.entries())
        home.command(`load_${index}`, 'limit', home.isLimited ? LIMIT_W : watts);
    },
  },
});
