/** Newer versions of the box. */

export const updates = {
  versionName: (version: string) => `Version ${version}`,
  newerVersion: 'The new version',
  oneBefore: 'the previous version',
  startsAgain: (before: string) =>
    `The gateway is restarting. It copies its state first, which can take minutes. If the new version does not become ready, ${before} returns with its state.`,
  judgedAgain: (name: string) =>
    `${name} is being checked once more and unpacked. The gateway keeps working until it restarts. You need not do anything; this page shows when it is finished.`,
  runs: (to: string, from: string) =>
    `Version ${to} is running. If it does not stay ready, ${from} returns with its earlier state.`,
  loadConsole: 'Load its console',
  tellMore: 'On the box, energy-gateway-versions status and the journal tell more.',
  installed: 'Installed',
  lastUpdate: 'Last update',
  noPackage:
    'This gateway was not installed from its package, so it cannot be updated here. Update it the way it was installed.',
  installerCan: 'An installer can install a newer version.',
  dropPackage: 'Drop the package of a newer version here, or choose one…',
  fileIsSent: (name: string) => `Uploading ${name}`,
  sending: 'Uploading…',
  judging: 'Checking…',
  nothingChanges: 'Nothing changes until you confirm.',
  isHere: (version: string) => `Version ${version} is ready to install`,
  signed: 'Signature',
  byKnownKey: 'valid, by a key that this version trusts',
  size: 'Size',
  installedSize: (size: string) => `${size} installed`,
  processor: 'Processor',
  forget: 'Discard',
  installTitle: (to: string, from: string) => `Install version ${to} in place of ${from}?`,
  installText:
    'The gateway restarts with the new version. Devices are not served for a minute or more. If the new version does not become ready, the current one returns with its state.',
  install: 'Install',
  installAsking: 'Install…',
  saysNothingNew: 'It has no release notes.',
  whatIsNew: 'Release notes',
  failedTitle: (version: string) => `The update to version ${version} was undone`,
  failed: (moment: string, why: string) =>
    `${moment}: ${why} The previous version is running again, with its state from before the update.`,
  ended: (status: string) => `It stopped several times, the last time with ${status}.`,
  failedBy: {
    NOT_READY: 'It did not become ready in time.',
    REFUSED: 'It refused to run.',
    HUNG: 'It stopped responding.',
    CUT_OFF: 'Each start was interrupted before it was ready, as in a power failure.',
    NO_COPY: 'There was not enough free disk space for a copy of the state, so it was not started.',
    OTHER: 'On the box, energy-gateway-versions status says why.',
  },
  itSaid: 'It reported:',
  unknownStatus: 'no exit code',
  tryAgain: 'You can install it again.',
  makeRoom: 'Free some disk space, then install it again.',
  mendOrWait:
    'Fix what it names, then install it again. Otherwise keep the current version, send a problem report (System → Status) to its manufacturer, and install the next version.',
  waitForNext:
    'Keep the current version, send a problem report (System → Status) to its manufacturer, and install the next version.',
  runsNot: (running: string, to: string) => `Version ${running} is running, not ${to}.`,
};
