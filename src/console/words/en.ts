/** Everything that the console says, by subject. English comes first: its shape is what other languages must fill. */
import { everywhere } from './en/everywhere.ts';
import { frame } from './en/frame.ts';
import { values } from './en/values.ts';

export const en = { everywhere, frame, values };

export type Words = typeof en;
