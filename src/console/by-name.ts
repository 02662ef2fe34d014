/** In which order names stand in lists. Pure. */

/** `Roof 2` before `Roof 10`. Made once: a list of hundreds asks it thousands of times. */
export const compareNames = new Intl.Collator('en', { numeric: true }).compare;
