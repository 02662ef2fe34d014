/** Perfect foresight with one store: dynamic programming over steps and levels, with interpolation between levels. */

export interface Problem {
  steps: number;
  /** From the lowest to the highest. */
  levels: readonly number[];
  start: number;
  /** One is chosen in each step; the first one holds before. */
  choices: number;
  /** Where a choice leads from a level; undefined: not possible. */
  next: (
    step: number,
    level: number,
    choice: number,
    last: number,
  ) => { level: number; cost: number } | undefined;
  /** Cost of ending there; negative: worth. */
  end: (level: number) => number;
}

/** The choices of the cheapest course, one for each step. */
export function cheapest(problem: Problem): number[] {
  const { steps, levels, choices, end, start } = problem;
  const kinds = Array.from({ length: choices }, (_, choice) => choice);
  const tables: Float64Array[][] = [];
  let after = kinds.map(() => Float64Array.from(levels, end));
  for (let step = steps - 1; step >= 0; step--) {
    tables[step] = after;
    const following = after;
    after = kinds.map((last) =>
      Float64Array.from(levels, (level) => best(problem, { step, level, last, following }).cost),
    );
  }
  let [level, last] = [start, 0];
  return tables.map((following, step) => {
    const { choice } = best(problem, { step, level, last, following });
    level = problem.next(step, level, choice, last)?.level ?? level;
    last = choice;
    return choice;
  });
}

interface Place {
  step: number;
  level: number;
  last: number;
  following: readonly Float64Array[];
}

function best({ choices, levels, next }: Problem, { step, level, last, following }: Place) {
  let found = { choice: 0, cost: Number.MAX_VALUE };
  for (let choice = 0; choice < choices; choice++) {
    const way = next(step, level, choice, last);
    if (!way) continue;
    const cost = way.cost + interpolated(levels, following[choice] as Float64Array, way.level);
    if (cost < found.cost) found = { choice, cost };
  }
  return found;
}

/** Levels are at equal distances. */
function interpolated(levels: readonly number[], values: Float64Array, level: number): number {
  const [low = 0, second = 1] = levels;
  const place = Math.min(levels.length - 1, Math.max(0, (level - low) / (second - low)));
  const below = Math.min(Math.floor(place), levels.length - 2);
  const [left = 0, right = 0] = [values[below], values[below + 1]];
  return left + (right - left) * (place - below);
}
