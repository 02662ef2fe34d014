/** Newer versions of the box. */

export const updates = {
  versionName: (version: string) => `Version ${version}`,
  newerVersion: 'The newer version',
  oneBefore: 'the one before',
  startsAgain: (before: string) =>
    `The gateway starts again. It copies its state first, which takes minutes when there is much of it. A version that does not become ready goes away by itself, and ${before} comes back with its state.`,
  judgedAgain: (name: string) =>
    `${name} is judged once more and unpacked. The gateway works until it starts again. Nothing is to be done; this page tells when it is over.`,
  runs: (to: string, from: string) =>
    `Version ${to} runs. Should it not stay ready, ${from} comes back by itself, with its state from before.`,
  loadConsole: 'Load its console',
  tellMore: 'On the box, energy-gateway-versions status and the journal tell more.',
  installed: 'Installed',
  lastUpdate: 'Last update',
  noPackage:
    'This gateway was not installed by its package, so it takes none here: update it as it was installed.',
  installerCan: 'An installer can bring a newer version.',
  dropPackage: 'Drop the package of a newer version here, or choose one…',
  fileIsSent: (name: string) => `${name} is sent`,
  sending: 'It is sent…',
  judging: 'It is judged…',
  nothingChanges: 'Nothing changes before you say so.',
  isHere: (version: string) => `Version ${version} is here`,
  signed: 'Signed',
  byKnownKey: 'by a key that this version knows',
  size: 'Size',
  installedSize: (size: string) => `${size} installed`,
  processor: 'Processor',
  forget: 'Forget it',
  installTitle: (to: string, from: string) => `Install version ${to} in place of ${from}?`,
  installText:
    'The gateway stops and starts again with it: devices are not served for a minute or more. If it does not become ready, the version of now comes back with its state.',
  install: 'Install',
  installAsking: 'Install…',
  saysNothingNew: 'It does not say what is new.',
  whatIsNew: 'What is new',
  failedTitle: (version: string) => `Version ${version} went away by itself`,
  failed: (moment: string, why: string) =>
    `${moment}: ${why} The version before runs again, with its state from before the update.`,
  notReady: 'It did not become ready in time.',
  ended: (status: string) => `It ended by itself several times, the last time with ${status}.`,
  refused: 'It refused to run.',
  hung: 'It no longer did anything.',
  cutOff: 'Each of its starts was cut off before it was ready, as when the power fails.',
  noCopy: 'There was not enough free room for a copy of the state, so it was not started.',
  otherReason: 'On the box, energy-gateway-versions status says why.',
  itSaid: 'It said:',
  unknownStatus: 'no exit code',
  tryAgain: 'It can be installed once more.',
  makeRoom: 'Make room on the disk, then install it once more.',
  mendOrWait:
    'Mend what it names, then install it once more. Otherwise keep the version of now, send a problem report (Box → State) to whoever made it, and install the next one.',
  runsNot: (running: string, to: string) => `${running} runs, not ${to}.`,
};
