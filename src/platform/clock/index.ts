export { CLOCK_PLAUSIBLE_FROM_MS, createSystemClock, sleepOn, type Clock, type Timer } from './clock.ts';
