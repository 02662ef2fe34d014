/** A battery that decides by itself, within what a strategy allows: gentle charging, and a reserve for grid failures. */
import { createRandom } from '../../support/random.ts';
import { type At, type Figures, Home, subject } from './home.ts';
import { action, scriptOf, setpoint, value } from './rule-host.ts';
import { DAY_S, FEED_IN, type Week } from './surroundings.ts';

const CAPACITY_WH = 10_000;
const START_WH = 5_000;
const BATTERY_W = 5_000;
const ONE_WAY = 0.95;
const COLD_C = 8;
const FROZEN_C = 1;
const COLD_W = 1_000;
/** So long after the temperature has changed, a command has to follow. */
const GRACE_S = 60;
const RESERVE = 30;

class Stored extends Home {
  readonly #day: number;
  /** Seconds from and to, of each grid failure. */
  readonly #failures: readonly (readonly [number, number])[];
  #storedWh = START_WH;
  #limitW = BATTERY_W;
  #isHeld = false;
  #strictS = 0;

  constructor(week: Week, { seed, day }: At, hasFailures: boolean) {
    super(week);
    this.#day = day;
    const random = createRandom(seed, 50_000 + day);
    const days = (week.pvW.length * week.stepS) / DAY_S;
    this.#failures = Array.from({ length: hasFailures ? days : 0 }, (_, index) => {
      const from = (index + random.next() * 0.8) * DAY_S;
      return [from, from + random.between(1, 4) * 3_600] as const;
    });
  }

  get socPercent(): number {
    return (this.#storedWh / CAPACITY_WH) * 100;
  }

  command(_device: string, name: string, watts = 0): void {
    const isHeld = name === 'hold';
    if (name === 'limit' ? watts !== this.#limitW : isHeld !== this.#isHeld) this.figures.switches++;
    if (name === 'limit') this.#limitW = watts;
    else this.#isHeld = isHeld;
  }

  override finished(): Figures {
    this.figures.cost -= (((this.#storedWh - START_WH) * ONE_WAY) / 1_000) * FEED_IN;
    return this.figures;
  }

  protected pass(pvW: number, loadW: number, stepH: number) {
    const isFailure = this.#failures.some(([from, to]) => this.second >= from && this.second < to);
    const netW = loadW - pvW;
    const celsius = this.#celsius();
    const batteryW = this.#batteryW(netW, isFailure, stepH);
    this.#judge(-batteryW, celsius);
    this.#storedWh += (batteryW > 0 ? -batteryW / ONE_WAY : -batteryW * ONE_WAY) * stepH;
    this.figures.cycles += (Math.max(0, batteryW) * stepH) / ONE_WAY / CAPACITY_WH;
    if (this.socPercent > 90) this.add('above 90 %, h', stepH);
    if (isFailure) this.add('missing in grid failures, kWh', (Math.max(0, netW - batteryW) * stepH) / 1_000);
    return {
      // Without a grid nothing flows through the meter.
      takenW: isFailure ? -netW : -batteryW,
      values: [
        ['battery.soc', this.socPercent],
        ['battery.power', batteryW],
        ['battery.temperature', celsius],
      ] as const,
    };
  }

  /** In a garage. */
  #celsius(): number {
    const day = this.#day + this.second / DAY_S;
    return 11 - 9 * Math.cos((2 * Math.PI * (day - 15)) / 365) - 3 * Math.cos(2 * Math.PI * (day - 0.15));
  }

  /** Discharging is positive. In a grid failure it gives what it has. */
  #batteryW(netW: number, isFailure: boolean, stepH: number): number {
    const roomW = Math.max(0, (CAPACITY_WH - this.#storedWh) / ONE_WAY / stepH);
    if (netW < 0) return -Math.min(-netW, this.#limitW, BATTERY_W, roomW);
    if (this.#isHeld && !isFailure) return 0;
    return Math.min(netW, BATTERY_W, (this.#storedWh * ONE_WAY) / stepH);
  }

  /** Seconds in which it was charged harder than the cold allows. */
  #judge(chargedW: number, celsius: number): void {
    const mostW = celsius <= FROZEN_C ? 0 : celsius <= COLD_C ? COLD_W : BATTERY_W;
    this.#strictS = chargedW > mostW ? this.#strictS + this.stepS : 0;
    if (this.#strictS > GRACE_S) this.add('charged too hard in the cold, h', this.stepS / 3_600);
  }
}

export const batteryHealth = subject<Stored>({
  id: 'battery-health',
  stepS: 30,
  open: (week, at) => new Stored(week, at, false),
  script: () =>
    scriptOf('battery-health', {
      battery_soc: value('battery', 'soc'),
      temperature: value('battery', 'temperature'),
      limit: setpoint('battery', 'limit'),
      max_w: BATTERY_W,
      cold_c: COLD_C,
      cold_w: COLD_W,
      frozen_c: FROZEN_C,
    }),
  plain: {
    name: 'never above 80 %',
    decide: (home) => home.command('battery', 'limit', home.socPercent >= 80 ? 0 : BATTERY_W),
  },
});

export const batteryReserve = subject<Stored>({
  id: 'battery-reserve',
  stepS: 30,
  open: (week, at) => new Stored(week, at, true),
  script: () =>
    scriptOf('battery-reserve', {
      battery_soc: value('battery', 'soc'),
      reserve: RESERVE,
      hold: action('battery', 'hold'),
      release: action('battery', 'release'),
    }),
  plain: {
    name: 'hold below 30 %, without a margin',
    decide: (home) => home.command('battery', home.socPercent <= RESERVE ? 'hold' : 'release'),
  },
  silent: ['hold'],
});
