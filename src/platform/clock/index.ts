export {
  createSystemClock,
  nextTurn,
  realPause,
  repeatOn,
  setDeadline,
  sleepOn,
  within,
  type Clock,
  type Timer,
} from './clock.ts';
export { CLOCK_PLAUSIBLE_FROM_MS, isFarAhead, ProvenTime, type StampRange } from './proven-time.ts';
export { keepProvenTime } from './proven-time-file.ts';
export {
  correctMoments,
  correctStamp,
  createStampCorrector,
  type StampCorrection,
} from './timestamp-correction.ts';
