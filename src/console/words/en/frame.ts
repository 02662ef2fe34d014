/** The frame around the pages, the start, and what went wrong on the way to the gateway. */
import type { Problem } from '../../shapes.ts';
import type { Piece } from '../piece.ts';

export const frame = {
  noAnswer: 'The gateway did not answer. Check that it is running and on the same network as this device.',
  noAnswerToChange:
    'The gateway did not answer, so it is not known whether this was done. Check before you try again.',
  answeredWith: (status: number) => `The gateway answered with status ${status}.`,
  /** A page that a reverse proxy made itself. */
  proxyAnswered: (status: number) =>
    status === 413
      ? 'The proxy refused the upload as too large (413). The limit is a setting of the proxy, not of the gateway.'
      : status === 502 || status === 503 || status === 504
        ? `The proxy answered with status ${status}: it does not reach the gateway.`
        : `The proxy answered with status ${status}, not the gateway.`,
  /** In the language of the reader, where that is not the gateway's. */
  refused: (_problem: Problem): string | undefined => undefined,
  /** A sentence of the gateway about anything else, the same way. */
  said: (text: string): string => text,
  logged: (text: string): string => text,
  overview: 'Overview',
  alerts: 'Alerts',
  rules: 'Rules',
  blueprints: 'Blueprints',
  site: 'Site',
  access: 'Access',
  box: 'System',
  noSuchPage: 'Page not found',
  toTheDevices: 'Go to the overview',
  pages: 'Pages',
  more: 'More',
  timesOf: (zone: string) => `Times in ${zone}`,
  logOut: 'Log out',
  toTheContent: 'Skip to content',
  connectionLost: 'No live connection to the gateway. Values may be out of date. Reconnecting…',
  rehearsal:
    'This is a rehearsal of a backup: the gateway sends nothing, takes no commands and runs no rules until an owner ends it.',
  obstacles: {
    origin: (origin: string, name: string) =>
      `The address ${origin} is not known to the gateway; set public_host to ${name}. Values come every 10 s.`,
    stream: (_origin: string, _name: string) => 'The proxy does not pass WebSockets; values come every 10 s.',
  },
  claimTitle: 'Claim this gateway',
  claimSubmit: 'Claim gateway',
  claimCode: 'Claim code',
  yourNameHint: 'You log in with it.',
  newPassword: 'New password',
  logIn: 'Log in',
  passwordLost: 'Forgot your password?',
  unreachable: 'The gateway is not responding',
  unreachableHint: 'Check that it is running and on the same network as this device.',
  pageFailed: 'This page has failed',
  pageFailedHint: 'The gateway was not asked. Reload the page; if it fails again, try another browser.',
  tryAgain: 'Try again',
  atLeastCharacters: (count: number, hint: string) => `At least ${count} characters. ${hint}`,
  theSameAgain: 'Repeat password',
  theTwoDiffer: 'The passwords do not match.',
  product: 'Energy gateway',
  pageLost: 'This page could not be loaded. Reload it when the gateway is reachable again.',
  notEncrypted: 'This connection is not encrypted.',
  alsoAnswersAt: (address: Piece, authority: (text: string) => Piece): Piece => [
    'The gateway is also available at ',
    address,
    '. Your browser does not know its certificate yet and will ask once, unless it trusts ',
    authority('the certificate authority of the gateway'),
    '.',
  ],
  claimText: (file: Piece): Piece => [
    'Nobody has claimed it yet. The claim code is shown in the terminal where the gateway was installed or started. It is also in the file ',
    file,
    ' in the data folder.',
  ],
  passwordLostText: (installed: Piece, fromSources: Piece): Piece => [
    'On the gateway itself, run ',
    installed,
    ', or ',
    fromSources,
    ' if it runs from source code. This logs out all installers and shows a new claim code.',
  ],
  loginReasons: {
    ended: 'Your login has expired. Log in again to continue where you left off.',
    restored: 'The gateway has been restored. Log in with a user and password from the backup.',
    claimed: 'Somebody has claimed this gateway in the meantime. Log in.',
  },
  language: 'Language',
  otherLanguage: 'Change language?',
  typedIsLost: 'Your unsaved changes will be lost.',
  leaveTitle: 'Leave this page?',
  leave: 'Leave',
  loadAgain: 'Reload',
};
