/**
 * What a series of numbers amounts to in each minute: the integral of a rate, or the increase of a counter. What lies
 * above and below zero is added up apart, so that charging and discharging within one minute are both seen.
 */

/** Numbers of one column in one minute of `minuteS`. */
export const CELL = { above: 0, below: 1, coveredS: 2, length: 3, minuteS: 60 } as const;

/** The minutes of [fromS, toS) of one column; adds up what it is given, in any order. */
export class Amounts {
  readonly fromS: number;
  readonly toS: number;
  /** `CELL.length` numbers for each minute: above zero, below zero (as a positive number), seconds that are known. */
  readonly cells: Float64Array;

  constructor(fromS: number, toS: number) {
    this.fromS = fromS;
    this.toS = toS;
    this.cells = new Float64Array(Math.ceil((toS - fromS) / CELL.minuteS) * CELL.length);
  }

  /** A rate that changes evenly from `before` at `fromS` to `after` at `toS`. Exact, also where it crosses zero. */
  addSlope(fromS: number, before: number, toS: number, after: number): void {
    const slope = (after - before) / (toS - fromS);
    const at = (timeS: number): number => before + slope * (timeS - fromS);
    this.#eachMinute(fromS, toS, (cell, startS, endS) => {
      const first = at(startS);
      const last = at(endS);
      if (first * last >= 0) {
        this.#add(cell, ((first + last) / 2) * (endS - startS));
        return;
      }
      const crossingS = startS - first / slope;
      this.#add(cell, (first / 2) * (crossingS - startS));
      this.#add(cell, (last / 2) * (endS - crossingS));
    });
  }

  /** An amount that came evenly in [fromS, toS). */
  addEvenly(fromS: number, toS: number, amount: number): void {
    const perS = amount / (toS - fromS);
    this.#eachMinute(fromS, toS, (cell, startS, endS) => this.#add(cell, perS * (endS - startS)));
  }

  #add(cell: number, amount: number): void {
    const place = cell + (amount < 0 ? CELL.below : CELL.above);
    this.cells[place] = (this.cells[place] as number) + Math.abs(amount);
  }

  #eachMinute(fromS: number, toS: number, take: (cell: number, startS: number, endS: number) => void): void {
    const lastS = Math.min(toS, this.toS);
    for (let startS = Math.max(fromS, this.fromS); startS < lastS;) {
      const minute = Math.floor((startS - this.fromS) / CELL.minuteS);
      const endS = Math.min(lastS, this.fromS + (minute + 1) * CELL.minuteS);
      const cell = minute * CELL.length;
      take(cell, startS, endS);
      this.cells[cell + CELL.coveredS] = (this.cells[cell + CELL.coveredS] as number) + (endS - startS);
      startS = endS;
    }
  }
}
