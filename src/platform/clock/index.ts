export { createSystemClock, nextTurn, sleepOn, type Clock, type Timer } from './clock.ts';
export { CLOCK_PLAUSIBLE_FROM_MS, ProvenTime, type StampRange } from './proven-time.ts';
export { keepProvenTime, type ProvenTimeFile } from './proven-time-file.ts';
export {
  correctStamp,
  createStampCorrector,
  type StampCorrection,
  type StampCorrector,
} from './timestamp-correction.ts';
