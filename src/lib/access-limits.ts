/** Bounds of users, logins, access tokens and the audit trail; a part of `LIMITS`, see there for C, M, G. */
export const AUTH_LIMITS = {
  /** G: a login in a browser is repeated once a month. */
  sessionLifetimeMs: 30 * 86_400_000,
  /** G: browsers of one person; the oldest login ends. */
  sessionsPerUser: 16,
  /** G: people who know one site. */
  users: 100,
  /** G: integrations, scripts and phones of one site; revoking one reads all of them. */
  tokens: 1_000,
  /** G: of these, those of one person, or of one program and the programs that it made tokens for. */
  tokensPerPerson: 100,
  /** G: of these, those that its tokens made, so that a token leaves its person room. */
  tokensByTokens: 50,
  /** G: a token that never expires has no lifetime; the interface cannot write moments beyond the year 9999. */
  tokenLifetimeMaxMs: 100 * 365 * 86_400_000,
  /** C issue: least length; the greatest bounds the work of hashing. */
  passwordLengthMin: 8,
  passwordLengthMax: 256,
  /** C issue (19 MiB, 2 passes of argon2id), as OWASP's password storage sheet has it. */
  argon2MemoryKib: 19_456,
  argon2Passes: 2,
  /** G: one hash is made at a time, because each takes much memory; so many wait. */
  hashesWaiting: 16,
  /** G: further ones, of people who have logged in from their address before. */
  hashesWaitingKnown: 16,
  /** G: mistyped passwords of an address before its next attempts are delayed. */
  failuresWithoutDelay: 3,
  /** G: the delay doubles from 1 s to this; some 8 000 guesses a day. */
  failureDelayMaxMs: 10_000,
  /** G: after so long without a failure an address starts anew. */
  failureForgottenMs: 900_000,
  /** G: attempts of one address that wait at once. */
  attemptsPerAddress: 4,
  /** G: addresses, and accounts, whose failures are remembered; the one that failed longest ago is forgotten first. */
  addresses: 1_000,
  /** G: accounts of an address whose failures are counted apart, so that a success forgives them. */
  accountsPerAddress: 16,
  /** G: wrong passwords of an account from all unknown addresses before attempts from unknown addresses are delayed. */
  accountFailuresWithoutDelay: 20,
  /** G: then one attempt a second, so that an honest newcomer gets through and 86 400 guesses a day remain. */
  accountFailureDelayMs: 1_000,
  /** G: unknown addresses that wait for one account at once. */
  attemptsPerAccount: 64,
  /** G: addresses from which a person has logged in that count as known; the latest ones. */
  knownAddressesPerUser: 16,
  /** G: open streams end within this after another process revoked their token. */
  sweepIntervalMs: 1_000,
  /** G: between two attempts to write the claim code; each failure is logged. */
  claimRetryMs: 60_000,
  /** G: the last use of a token is accurate to this, to spare the flash card. */
  lastUseIntervalMs: 3_600_000,
  lastUseWriteIntervalMs: 60_000,
} as const;

export const AUDIT_LIMITS = {
  /** C issue: 90 days. */
  lifetimeMs: 90 * 86_400_000,
  /** G: 20 MiB; a program that sends a command every second fills it in a day. */
  entries: 100_000,
  /** G: of these, entries of rules and device scripts, so that they cannot displace those of people. */
  automaticEntries: 50_000,
  /** G: refusals of one person, rule, device or unauthenticated address that are kept individually, so that they hide no others. */
  refusalsOfOne: 10,
  refusalsOfOnePerHour: 6,
  /** G: of all unauthenticated addresses together, so that they cannot displace changes. */
  refusalBurst: 100,
  refusalsPerHour: 60,
  /** G: subjects that are counted individually; the one that was refused longest ago is then counted with the others. */
  refusalSubjects: 1_000,
  /** G: refusals that were not kept are summed up this often. */
  refusalSummaryIntervalMs: 1_800_000,
  /** G: a device with wrong credentials tries every few seconds for ever; the same attempt is recorded this often. */
  repeatedRefusalMs: 3_600_000,
  /** G: entries waiting for a disk that takes no data. */
  waiting: 10_000,
  /** G: one parameter of a path. */
  targetBytes: 255,
  /** G: default size of a page; entries of one piece of the export. */
  listItems: 50,
  pageItems: 500,
  /** G: kept when the room for state on a full disk becomes scarce. */
  entriesWhenScarce: 1_000,
  retentionIntervalMs: 3_600_000,
  retentionPauseMs: 50,
  deletedAtOnce: 500,
} as const;
