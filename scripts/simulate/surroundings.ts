/** What surrounds the inverter: sun, clouds, temperature, and the people of the house. Pure, seeded. */
import { createWander, type Random } from '../support/random.ts';

/** Conditions during one step. */
export interface Surroundings {
  /** What the panels could deliver now. */
  pvAvailableW: number;
  loadW: number;
  ambientC: number;
}

const SUNRISE_H = 6;
const SUNSET_H = 20;

interface Appliance {
  powerW: number;
  /** Mean duration of one use. */
  useS: number;
  /** Uses per hour at this time of day. */
  usesPerHour: (hour: number) => number;
}

const APPLIANCES: readonly Appliance[] = [
  { powerW: 2_000, useS: 180, usesPerHour: (hour) => (hour > 6 && hour < 22 ? 0.5 : 0.02) },
  { powerW: 2_400, useS: 1_500, usesPerHour: (hour) => bell(hour, 12.5, 0.8) * 0.6 + bell(hour, 18.5, 1) },
  { powerW: 1_500, useS: 2_700, usesPerHour: (hour) => bell(hour, 10, 2) * 0.3 },
];

/**
 * Sun and household of one day after another.
 * @param pvPeakW the panels under a clear sky at noon
 * @returns the conditions at the given time of day, after a step of `stepS` seconds
 */
export function createSurroundings(
  random: Random,
  pvPeakW: number,
): (hourOfDay: number, stepS: number) => Surroundings {
  // Two time scales: the weather of the day, and single clouds.
  const clearness = createWander(random.fork(1), { mean: 0.72, deviation: 0.18, timeConstantS: 10_800 });
  const cloud = createWander(random.fork(2), { mean: 0, deviation: 0.1, timeConstantS: 90 });
  const base = createWander(random.fork(3), { mean: 320, deviation: 60, timeConstantS: 1_200 });
  const air = createWander(random.fork(4), { mean: 0, deviation: 0.6, timeConstantS: 7_200 });
  const people = random.fork(5);
  const remainingS = APPLIANCES.map(() => 0);

  return (hourOfDay, stepS) => {
    let loadW = Math.max(120, base(stepS));
    loadW += 900 * bell(hourOfDay, 7.3, 0.8) + 1_300 * bell(hourOfDay, 19.2, 1.6);
    for (const [index, appliance] of APPLIANCES.entries()) {
      const left = remainingS[index] ?? 0;
      if (left > 0) loadW += appliance.powerW * Math.min(1, left / stepS);
      else if (people.chance(1 - Math.exp((-appliance.usesPerHour(hourOfDay) * stepS) / 3_600)))
        remainingS[index] = appliance.useS * people.between(0.6, 1.4) + stepS;
      remainingS[index] = Math.max(0, (remainingS[index] ?? 0) - stepS);
    }
    const sky = clamp(clearness(stepS) + cloud(stepS), 0.06, 1);
    return {
      pvAvailableW: pvPeakW * clearSky(hourOfDay) * sky,
      loadW,
      ambientC: 22 + 5 * Math.cos(((hourOfDay - 15) / 24) * 2 * Math.PI) + air(stepS),
    };
  };
}

/** Share of the peak under a clear sky: 0 at night, 1 at solar noon. */
export function clearSky(hourOfDay: number): number {
  const height = Math.sin((Math.PI * (hourOfDay - SUNRISE_H)) / (SUNSET_H - SUNRISE_H));
  return hourOfDay <= SUNRISE_H || hourOfDay >= SUNSET_H ? 0 : Math.max(0, height) ** 1.3;
}

function bell(hour: number, centerH: number, widthH: number): number {
  return Math.exp(-0.5 * ((hour - centerH) / widthH) ** 2);
}

export function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
