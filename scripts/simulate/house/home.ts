/** A house at the grid with one thing to decide: what its meter counts, and what that costs. */
import type { JsonValue } from '../../../src/protocol/telemetry.ts';
import type { StrategyCase } from './rule-host.ts';
import type { House } from './simulated-gateway.ts';
import { FEED_IN, type Week } from './surroundings.ts';

/** Price per kWh from the grid. */
export const PRICE = 0.32;

/** Sums over the time of a house; those that do not concern it are zero. */
export interface Figures {
  /** Import less export, and what a house counts beside them, €. */
  cost: number;
  importWh: number;
  /** What was used: from the grid, the sun, or anything else. */
  usedWh: number;
  /** Of the battery. */
  cycles: number;
  /** Changes of a state or starts, as its house says. */
  switches: number;
  /** Of a hard limit, each as its house counts it. */
  violations: number;
  /** Further figures by label, with their unit at its end. */
  own: Record<string, number>;
  errors: string[];
}

export const noFigures = (): Figures => ({
  cost: 0,
  importWh: 0,
  usedWh: 0,
  cycles: 0,
  switches: 0,
  violations: 0,
  own: {},
  errors: [],
});

/** What passes in a step beside the house's own load. */
export interface Passed {
  /** Taken from the meter's house; negative: given. */
  takenW: number;
  /** What the sun gives after a limit; as much as it can when absent. */
  pvW?: number;
  values: readonly (readonly [string, JsonValue])[];
}

export abstract class Home implements House {
  readonly startMs: number;
  readonly stepS: number;
  readonly figures = noFigures();
  protected readonly week: Week;
  /** Before the next step. */
  protected now = 0;
  gridW = 0;

  constructor(week: Week) {
    this.week = week;
    ({ startMs: this.startMs, stepS: this.stepS } = week);
  }

  /** Second since the beginning. */
  get second(): number {
    return this.now * this.stepS;
  }

  step(): ReadonlyMap<string, JsonValue> | undefined {
    const availableW = this.week.pvW[this.now];
    if (availableW === undefined) return undefined;
    const loadW = this.week.loadW[this.now] ?? 0;
    const stepH = this.stepS / 3_600;
    const { takenW, pvW = availableW, values } = this.pass(availableW, loadW, stepH);
    this.gridW = loadW + takenW - pvW;
    this.count(this.gridW, loadW, stepH);
    this.now++;
    // The script reads its meter; the others are for plots.
    return new Map<string, JsonValue>([
      ['meter.power', this.gridW],
      ['sun.power', pvW],
      ['house.power', loadW],
      ...values,
    ]);
  }

  abstract command(device: string, name: string, value?: number): void;

  /** Ends the sums, with what is stored. */
  finished(): Figures {
    return this.figures;
  }

  protected abstract pass(pvW: number, loadW: number, stepH: number): Passed;

  protected count(gridW: number, loadW: number, stepH: number): void {
    const gridWh = gridW * stepH;
    this.figures.cost += (gridWh / 1_000) * (gridWh > 0 ? PRICE : FEED_IN);
    this.figures.importWh += Math.max(0, gridWh);
    this.figures.usedWh += loadW * stepH;
  }

  protected add(label: string, amount: number): void {
    this.figures.own[label] = (this.figures.own[label] ?? 0) + amount;
  }
}

export interface At {
  seed: number;
  day: number;
}

/** A question to a strategy, with its plain rule and what perfect foresight would do. */
export interface Subject<Kind extends Home = Home> {
  /** As the library calls the strategy. */
  id: string;
  stepS: number;
  /** Shorter than the days of the benchmark, where each second counts. */
  hours?: number;
  open(week: Week, at: At): Kind;
  script(): StrategyCase['code'];
  plain: { name: string; decide(home: Kind): void };
  /** Undefined: none makes sense, see the decision page. */
  optimum?: (week: Week, at: At) => Figures;
  /** Names of commands for silence, beside the safe one. */
  silent?: readonly string[];
}

/** One subject of several kinds of houses. */
export const subject = <Kind extends Home>(of: Subject<Kind>): Subject => of;
