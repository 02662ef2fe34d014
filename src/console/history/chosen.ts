import type { LiveDevice } from '../live.ts';

/** A value that a chart draws. */
export interface Chosen {
  live: LiveDevice;
  attribute: string;
}
