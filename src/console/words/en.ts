/** Everything that the console says, by subject. English comes first: its shape is what other languages must fill. */
import { everywhere } from './en/everywhere.ts';
import { frame } from './en/frame.ts';
import { values } from './en/values.ts';
import { devices } from './en/devices.ts';
import { site } from './en/site.ts';
import { history } from './en/history.ts';

export const en = { everywhere, frame, values, devices, site, history };

export type Words = typeof en;
