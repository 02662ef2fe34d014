/** Text for property tests. */
import { nat } from 'fast-check';

const HALVES_FROM = 0xd800;
const HALVES = 0x800;
const LAST = 0x10_ffff;

/**
 * Any character, also one that nobody has seen, but no half of one. As `unit: 'binary'` of fast-check, which first
 * makes a table of all million: seconds and a hundred megabytes.
 */
export const CHARACTER = nat(LAST - HALVES).map(
  (number) => String.fromCodePoint(number < HALVES_FROM ? number : number + HALVES),
  (value) => {
    const code = typeof value === 'string' && /^.$/su.test(value) ? value.codePointAt(0) : undefined;
    if (code === undefined) throw new Error('not one character');
    if (code < HALVES_FROM) return code;
    if (code < HALVES_FROM + HALVES) throw new Error('half a character');
    return code - HALVES;
  },
);
