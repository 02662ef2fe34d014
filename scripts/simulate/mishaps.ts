/** Things that go wrong now and then: a grid failure, a stuck fan, a broken line to the battery. Seeded. */
import type { Random } from '../support/random.ts';

export const MISHAPS = ['grid', 'fan', 'battery_line'] as const;
export type Mishap = (typeof MISHAPS)[number];

/** How long each lasts, in seconds of the simulated day. */
const LASTS_S: Readonly<Record<Mishap, readonly [number, number]>> = {
  grid: [60, 900],
  fan: [3_600, 14_400],
  battery_line: [20, 120],
};

/** Which of them are happening. */
export type Happening = Readonly<Record<Mishap, boolean>>;

/**
 * @param perDay mean number of each of them per simulated day; 0 for a quiet life
 * @returns what happens during the next step of `stepS` seconds; `provoke` starts one at once
 */
export function createMishaps(
  random: Random,
  perDay: number,
): { step: (stepS: number) => Happening; provoke: (mishap: Mishap) => void } {
  const leftS: Record<Mishap, number> = { grid: 0, fan: 0, battery_line: 0 };
  const begin = (mishap: Mishap): void => {
    leftS[mishap] = random.between(...LASTS_S[mishap]);
  };
  return {
    provoke: begin,
    step: (stepS) => {
      for (const mishap of MISHAPS) {
        leftS[mishap] = Math.max(0, leftS[mishap] - stepS);
        if (leftS[mishap] === 0 && random.chance(1 - Math.exp((-perDay * stepS) / 86_400))) begin(mishap);
      }
      return { grid: leftS.grid > 0, fan: leftS.fan > 0, battery_line: leftS.battery_line > 0 };
    },
  };
}
