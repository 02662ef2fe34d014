/** Bounds of alerts and of what is sent because of them; a part of `LIMITS`, see there for C, M, G. */
export const ALERT_LIMITS = {
  /** G: raised at once by one device, and by all; more are counted and told once there is room. */
  raisedPerDevice: 256,
  raised: 5_000,
  /** G: changes of one device that are kept at once; beyond, what it says is looked at every `checkIntervalMs`. */
  changesPerDevice: 20,
  changesPerDevicePerMinute: 6,
  /** G: grace periods, absences and what came without a word are looked at so often. */
  checkIntervalMs: 10_000,
  /** G: one that comes back sooner is the same alert, so that a trembling value leaves one line. */
  sameAlertMs: 60_000,
  /** G: cleared ones remembered for that. */
  remembered: 2_000,
  /** G: a device that is away for longer is told of; modules and routers restart faster. */
  offlineAfterMs: 300_000,
  /** G: how often a device sends is learned from the longest pauses of its last days, nights included. */
  rhythmDayMs: 86_400_000,
  rhythmDays: 7,
  rhythmDaysMin: 2,
  /** G: what pauses for longer on a usual day sends when something changes, or sleeps at night: no rhythm. */
  rhythmPauseMs: 5_400_000,
  /** G: longest pauses of a usual day after which a connected device is told of as silent, and the least time. */
  silentPauses: 4,
  silentAfterMs: 900_000,
  /** G: of what the device says beside an alert. */
  detailsBytes: 1_024,
  nameBytes: 255,
  /** G: two years; some 6 MiB at most, of one device 1/20 of it. */
  lifetimeMs: 730 * 86_400_000,
  kept: 20_000,
  keptPerDevice: 1_000,
  /** G: kept when the room for state on a full disk becomes scarce. */
  keptWhenScarce: 1_000,
  /** G: a list without a limit of its own. */
  listItems: 50,
  deletedAtOnce: 500,
  retentionIntervalMs: 3_600_000,
  retentionPauseMs: 50,
} as const;

export const NOTIFICATION_LIMITS = {
  /** G: people and services of one site. */
  channels: 16,
  devicesPerChannel: 500,
  /** G: receivers of one mail. */
  addresses: 10,
  secretLength: 256,
  urlLength: 2_048,
  /** G: what happens within this goes into one message. */
  gatherMs: 10_000,
  /** G: messages of one channel; what happens meanwhile waits for the next one. */
  burst: 5,
  perHour: 12,
  /** G: alerts that a message names; of the others it tells how many. */
  namedAlerts: 50,
  /** G: what a channel is to tell while nothing gets through; beyond, it is counted. */
  pendingPerChannel: 1_000,
  /** C ntfy: a message of more than 4 096 bytes becomes an attachment. */
  ntfyTextCharacters: 1_000,
  timeoutMs: 20_000,
  /** G: 30 s, 1 min … 1 h: the last of so many attempts comes a day after the first. */
  retryFirstMs: 30_000,
  retryMaxMs: 3_600_000,
  attempts: 30,
  testBurst: 3,
  testsPerMinute: 6,
  deliveryItems: 50,
  /** G: of each channel. */
  deliveriesKept: 200,
} as const;
