/** Effects of a rule on recorded telemetry. */
import type { Piece } from '../piece.ts';

export const dryRun = {
  days: { 1: 'the last 24 hours', 3: 'the last 3 days', 7: 'the last 7 days' },
  period: 'Recorded period',
  tryOn: 'Test on',
  trying: 'Testing…',
  end: {
    period_ended: 'The script ran through the whole period.',
    finished: 'The script finished: it had nothing left to do.',
    failed: 'The script failed.',
    limit_reached: 'The script takes too long to be tested on the whole period.',
  },
  cameTo: (moment: string) => `It got as far as ${moment}. Nothing was commanded, sent or stored.`,
  changedSince: 'The script has changed since. The result below is of the earlier version.',
  truncated: 'Not everything it did is listed.',
  nothing: 'It did nothing',
  nothingText: 'With the values measured in this period, the script logs nothing and commands nothing.',
  removed: (store: string, key: string) => `${store} ${key} removed`,
  notSent: (method: string, url: string) => `${method} ${url} (not sent)`,
  startsAgain: (pause: string) => `restarts in ${pause}`,
  kind: {
    log: 'log',
    command: 'command',
    storage: 'stored',
    http: 'request',
    notification: 'message',
    error: 'error',
    restart: 'restart',
  },
  whatItDid: 'What the rule did',
  whatItRead: 'What the rule read',
  noneDrawn: 'It read no values that can be charted.',
  moreRead: (count: number) =>
    `${count} more ${count === 1 ? 'value that it read is' : 'values that it read are'} not shown.`,
  marks: (signs: readonly Piece[]): Piece[] => ['Marks: ', ...signs],
  keys: 'Step through the list with the arrow keys; the chart marks the selected entry.',
  wholeTime: 'Whole period',
  inHistory: 'Open in History',
};
