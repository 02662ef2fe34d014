export { createAgeJudge, type AgeJudge } from './age.ts';
export {
  CLOCK_PLAUSIBLE_FROM_MS,
  createSystemClock,
  nextTurn,
  sleepOn,
  type Clock,
  type Timer,
} from './clock.ts';
export { correctStamp, createStampCorrector, type StampCorrection, type StampCorrector } from './stamps.ts';
