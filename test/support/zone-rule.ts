/** Moments of the console are shown and read in the time zone of the site, not of the browser. */
import type { TidyRule } from './tidy-rule.ts';

/** What the browser answers by its own clock, and what would have to name a zone each time. */
const OWN_CLOCK =
  /\bDateTimeFormat\b|\.toLocale(?:Date|Time)String\b|\.to(?:Date|Time)String\b|\.[gs]et(?:FullYear|Month|Date|Day|Hours|Minutes|TimezoneOffset)\b|\bnew Date\([^()]*(?:\([^()]*\))?[^()]*\)\.toLocaleString\b/g;

const HOME = /^src\/console\/(?:zone|period)\.ts$/;

export const ZONE_RULE: TidyRule = {
  name: 'the console knows the time zone in zone.ts and period.ts only',
  holdsIn: (path) => /^src\/console\/.*\.tsx?$/.test(path) && !HOME.test(path),
  *check(file) {
    for (const match of file.code.matchAll(OWN_CLOCK))
      yield { index: match.index, message: `${match[0]} is refused: use timesAs, momentText or edgesOf` };
  },
  planted: {
    path: 'src/console/alerts/planted.tsx',
    text: 'const since = <b>{moment.toLocaleTimeString(locale)}</b>;',
    message: '.toLocaleTimeString is refused: use timesAs, momentText or edgesOf',
    right:
      "const since = <b>{timesAs({ timeStyle: 'short' }).format(atMs)} {count.toLocaleString(locale)}</b>;",
  },
};
