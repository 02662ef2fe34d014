/** The console in German. Loaded when it is wanted. */
import { everywhere } from './de/everywhere.ts';
import { frame } from './de/frame.ts';
import { values } from './de/values.ts';
import type { Words } from './en.ts';

export const de: Words = { everywhere, frame, values };
