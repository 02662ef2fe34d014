/** Bounds of users, logins, access tokens and the audit trail; a part of `LIMITS`, see there for C, M, G. */
export const AUTH_LIMITS = {
  /** G: a login in a browser is repeated once a month. */
  sessionLifetimeMs: 30 * 86_400_000,
  /** G: browsers of one person; the oldest login ends. */
  sessionsPerUser: 16,
  /** G: people who know one site. */
  users: 100,
  /** G: integrations, scripts and phones of one site; all are looked through when one is revoked. */
  tokens: 1_000,
  /** G: of these, what one person or one program and those it made tokens for may have. */
  tokensPerPerson: 100,
  /** G: for ever is without one; a moment beyond the year 9999 has no form in the interface. */
  tokenLifetimeMaxMs: 100 * 365 * 86_400_000,
  /** C issue: least length; the greatest bounds the work of hashing. */
  passwordLengthMin: 8,
  passwordLengthMax: 256,
  /** C issue (19 MiB, 2 passes of argon2id), as OWASP's password storage sheet has it. */
  argon2MemoryKib: 19_456,
  argon2Passes: 2,
  /** G: one hash at a time, for its memory; so many wait for their turn. */
  hashesWaiting: 16,
  /** G: and so many more of people who have logged in from their address before. */
  hashesWaitingKnown: 16,
  /** G: mistyped passwords of an address before its next attempts are delayed. */
  failuresWithoutDelay: 3,
  /** G: the delay doubles from 1 s to this; some 8 000 guesses a day. */
  failureDelayMaxMs: 10_000,
  /** G: an address without a failure for so long starts anew. */
  failureForgottenMs: 900_000,
  /** G: attempts of one address that wait at once. */
  attemptsPerAddress: 4,
  /** G: addresses, and accounts, with failures remembered; the one that failed longest ago is forgotten. */
  addresses: 1_000,
  /** G: of an address with failures, accounts whose success forgives their own. */
  accountsPerAddress: 16,
  /** G: wrong passwords of an account from all strange addresses before strange addresses wait at it. */
  accountFailuresWithoutDelay: 20,
  /** G: then one attempt a second, so that an honest newcomer gets through and 86 400 guesses a day remain. */
  accountFailureDelayMs: 1_000,
  /** G: strange addresses that wait at one account at once. */
  attemptsPerAccount: 64,
  /** G: addresses of a person that count as known: where that person has logged in, the latest ones. */
  knownAddressesPerUser: 16,
  /** G: what another process revoked ends open streams within this. */
  sweepIntervalMs: 1_000,
  /** G: between two attempts to keep the claim code; each that fails is a line of the log. */
  claimRetryMs: 60_000,
  /** G: last use of a token is exact to this, for the sake of the flash card. */
  lastUseIntervalMs: 3_600_000,
  lastUseWriteIntervalMs: 60_000,
} as const;

export const AUDIT_LIMITS = {
  /** C issue: 90 days. */
  lifetimeMs: 90 * 86_400_000,
  /** G: and no more than so many, 20 MiB; a program that commands every second fills it in a day. */
  entries: 100_000,
  /** G: of these, what rules and scripts of devices did, so that they cannot push out what people did. */
  automaticEntries: 50_000,
  /** G: refusals of one person, rule, device or strange address that are kept one by one, so that no other is hidden. */
  refusalsOfOne: 10,
  refusalsOfOnePerHour: 6,
  /** G: of all strange addresses, so that they cannot push the changes out. */
  refusalBurst: 100,
  refusalsPerHour: 60,
  /** G: those who are counted apart; the one that was refused longest ago is counted with the others. */
  refusalSubjects: 1_000,
  /** G: refusals that were not kept are told together this often. */
  refusalSummaryIntervalMs: 1_800_000,
  /** G: a device with wrong credentials tries every few seconds for ever; the same attempt is told so often. */
  repeatedRefusalMs: 3_600_000,
  /** G: entries waiting for a disk that takes no data. */
  waiting: 10_000,
  /** G: one parameter of a path. */
  targetBytes: 255,
  /** G: a list without a limit of its own; a piece of the export. */
  listItems: 50,
  pageItems: 500,
  /** G: kept when the room for state on a full disk becomes scarce. */
  entriesWhenScarce: 1_000,
  retentionIntervalMs: 3_600_000,
  retentionPauseMs: 50,
  deletedAtOnce: 500,
} as const;
