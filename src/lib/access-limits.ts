/** Bounds of users, logins, access tokens and the audit trail; a part of `LIMITS`, see there for C, M, G. */
export const AUTH_LIMITS = {
  /** A login in a browser is repeated once a month. */
  sessionLifetimeMs: 30 * 86_400_000,
  /** Browsers of one person; the oldest login ends. */
  sessionsPerUser: 16,
  /** People who know one site. */
  users: 100,
  /** Integrations, scripts and phones of one site; revoking one reads all of them. */
  tokens: 1_000,
  /** Tokens of one person, or of one program and the programs that it made tokens for; part of the total. */
  tokensPerPerson: 100,
  /** Tokens made by a person's tokens, so that a token leaves its person room; part of those of the person. */
  tokensByTokens: 50,
  /** A token that never expires has no lifetime; the interface cannot write moments beyond the year 9999. */
  tokenLifetimeMaxMs: 100 * 365 * 86_400_000,
  /** Required: least length; the greatest bounds the work of hashing. */
  passwordLengthMin: 8,
  passwordLengthMax: 256,
  /** Required (19 MiB, 2 passes of argon2id), as OWASP's password storage sheet has it. */
  argon2MemoryKib: 19_456,
  argon2Passes: 2,
  /** One hash is made at a time, because each takes much memory; so many wait. */
  hashesWaiting: 16,
  /** Further ones, of people who have logged in from their address before. */
  hashesWaitingKnown: 16,
  /** Mistyped passwords of an address before its next attempts are delayed. */
  failuresWithoutDelay: 3,
  /** The delay doubles from 1 s to this; some 8 000 guesses a day. */
  failureDelayMaxMs: 10_000,
  /** After so long without a failure an address starts anew. */
  failureForgottenMs: 900_000,
  /** Attempts of one address that wait at once. */
  attemptsPerAddress: 4,
  /** Addresses, and accounts, whose failures are remembered; the one that failed longest ago is forgotten first. */
  addresses: 1_000,
  /** Accounts of an address whose failures are counted apart, so that a success forgives them. */
  accountsPerAddress: 16,
  /** Wrong passwords of an account from all unknown addresses before attempts from unknown addresses are delayed. */
  accountFailuresWithoutDelay: 20,
  /** Then one attempt a second, so that an honest newcomer gets through and 86 400 guesses a day remain. */
  accountFailureDelayMs: 1_000,
  /** Unknown addresses that wait for one account at once. */
  attemptsPerAccount: 64,
  /** Addresses from which a person has logged in that count as known; the latest ones. */
  knownAddressesPerUser: 16,
  /** Open streams end within this after another process revoked their token. */
  sweepIntervalMs: 1_000,
  /** Between two attempts to write the claim code; each failure is logged. */
  claimRetryMs: 60_000,
  /** The last use of a token is accurate to this, to spare the flash card. */
  lastUseIntervalMs: 3_600_000,
  lastUseWriteIntervalMs: 60_000,
} as const;

export const AUDIT_LIMITS = {
  /** Required: 90 days. */
  lifetimeMs: 90 * 86_400_000,
  /** 20 MiB; a program that sends a command every second fills it in a day. */
  entries: 100_000,
  /** Entries of rules and device scripts, so that they cannot displace those of people; part of the total. */
  automaticEntries: 50_000,
  /** Refusals of one person, rule, device or unauthenticated address that are kept individually, so that they hide no others. */
  refusalsOfOne: 10,
  refusalsOfOnePerHour: 6,
  /** Refusals of all unauthenticated addresses together, so that they cannot displace changes. */
  refusalBurst: 100,
  refusalsPerHour: 60,
  /** Subjects that are counted individually; the one that was refused longest ago is then counted with the others. */
  refusalSubjects: 1_000,
  /** Refusals that were not kept are summed up this often. */
  refusalSummaryIntervalMs: 1_800_000,
  /** A device with wrong credentials tries every few seconds for ever; the same attempt is recorded this often. */
  repeatedRefusalMs: 3_600_000,
  /** Entries waiting for a disk that takes no data. */
  waiting: 10_000,
  /** One parameter of a path. */
  targetBytes: 255,
  /** Default size of a page; entries of one piece of the export. */
  listItems: 50,
  pageItems: 500,
  /** Kept when the room for state on a full disk becomes scarce. */
  entriesWhenScarce: 1_000,
  retentionIntervalMs: 3_600_000,
  retentionPauseMs: 50,
  deletedAtOnce: 500,
} as const;
