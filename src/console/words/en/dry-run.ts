/** What a rule would have done on what was recorded. */
import type { Piece } from '../piece.ts';

export const dryRun = {
  days: { 1: 'the last 24 hours', 3: 'the last 3 days', 7: 'the last 7 days' },
  period: 'Time that was recorded',
  tryOn: 'Try on',
  trying: 'Trying…',
  end: {
    period_ended: 'The script went through the whole time.',
    finished: 'The script had nothing left to do.',
    failed: 'The script could not go on.',
    limit_reached: 'The script takes too long to be tried for the whole time.',
  },
  cameTo: (moment: string) => `It came to ${moment}. Nothing was commanded or stored.`,
  changedSince: 'The script was changed since. What stands below is what it was before.',
  truncated: 'Not all that it did is listed.',
  nothing: 'It did nothing',
  nothingText: 'On what was measured in this time, the script has nothing to say or to command.',
  removed: (store: string, key: string) => `${store} ${key} removed`,
  notSent: (method: string, url: string) => `${method} ${url} (not sent)`,
  startsAgain: (pause: string) => `starts again in ${pause}`,
  kind: {
    log: 'log',
    command: 'command',
    storage: 'stored',
    http: 'request',
    error: 'error',
    restart: 'restart',
  },
  whatItDid: 'What the rule did',
  whatItRead: 'What the rule read',
  noneDrawn: 'It read no values that can be drawn.',
  moreRead: (count: number) =>
    `Of what it read, ${count} more ${count === 1 ? 'value is' : 'values are'} not drawn.`,
  marks: (signs: readonly Piece[]): Piece[] => ['Marks: ', ...signs],
  keys: 'Arrow keys go from one to the next; its place is marked in the chart.',
  wholeTime: 'Whole time',
  inHistory: 'Open in History',
};
