/** Everything that is said, for pages that are loaded when they are first shown: the overview does not wait for their words. */
import { enLater, type Words } from './en-later.ts';
import { say as first } from './index.ts';

/** In German they are in `first` already: its words are one file. */
export const say: Words = { ...enLater, ...first };
