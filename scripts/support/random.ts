/** Randomness that a printed seed repeats. Never for secrets. */

export interface Random {
  /** Evenly from [0, 1). */
  next(): number;
  /** Evenly from [min, max). */
  between(min: number, max: number): number;
  /** A whole number from min to max, both included. */
  integer(min: number, max: number): number;
  /** Normal with mean 0 and deviation 1. */
  gaussian(): number;
  /** True with the given probability. */
  chance(probability: number): boolean;
  /** @throws RangeError when there is nothing to pick from */
  pick<Item>(items: readonly Item[]): Item;
  /** An independent generator; the same number always gives the same one. */
  fork(stream: number): Random;
}

/** Generator "small fast counter", 32 bit (C. Doty-Humphrey, PractRand), started from seed and stream. */
export function createRandom(seed: number, stream = 0): Random {
  let a = seed | 0;
  let b = stream | 0;
  let c = 0x6a09e667;
  let counter = 1;
  const word = (): number => {
    const result = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + result;
    return result >>> 0;
  };
  // The first words still show the seed.
  for (let round = 0; round < 16; round += 1) word();

  const next = (): number => word() / 2 ** 32;
  return {
    next,
    between: (min, max) => min + next() * (max - min),
    integer: (min, max) => min + Math.floor(next() * (max - min + 1)),
    // Box and Muller 1958; 1 - next() is never zero.
    gaussian: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
    chance: (probability) => next() < probability,
    pick: (items) => {
      const item = items[Math.floor(next() * items.length)];
      if (item === undefined) throw new RangeError('nothing to pick from');
      return item;
    },
    fork: (number) => createRandom(seed, Math.imul(stream + 1, 0x9e3779b1) + number + 1),
  };
}

/**
 * A value that wanders around its mean (Ornstein and Uhlenbeck 1930), exact for every step length.
 * @param timeConstantS seconds after which the value has mostly forgotten where it was
 */
export function createWander(
  random: Random,
  options: { mean: number; deviation: number; timeConstantS: number },
): (stepS: number) => number {
  let offset = options.deviation * random.gaussian();
  return (stepS) => {
    const kept = Math.exp(-stepS / options.timeConstantS);
    offset = offset * kept + options.deviation * Math.sqrt(1 - kept * kept) * random.gaussian();
    return options.mean + offset;
  };
}
