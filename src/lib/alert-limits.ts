/** Bounds of alerts and of what is sent because of them; a part of `LIMITS`, see there for C, M, G. */
export const ALERT_LIMITS = {
  /** Raised at once by one device, and by all; further ones are counted, and raised once there is room. */
  raisedPerDevice: 256,
  raised: 5_000,
  /** Changes of one device that are stored at once; beyond, its reports are read every `checkIntervalMs`. */
  changesPerDevice: 20,
  changesPerDevicePerMinute: 6,
  /** How often grace periods, absences and changes without an event are checked. */
  checkIntervalMs: 10_000,
  /** An alert that comes back sooner is the same one, so that an unsteady value makes one entry. */
  sameAlertMs: 60_000,
  /** Cleared ones remembered for that. */
  remembered: 2_000,
  /** A device that is away for longer raises an alert; modules and routers restart faster. */
  offlineAfterMs: 300_000,
  /** The longest pauses of the last days, nights included, tell how often a device sends. */
  rhythmDayMs: 86_400_000,
  rhythmDays: 7,
  rhythmDaysMin: 2,
  /** A device that pauses for longer on a usual day sends on change, or sleeps at night: it has no rhythm. */
  rhythmPauseMs: 5_400_000,
  /** A connected device is silent after so many of its longest usual pauses, and after this time at least. */
  silentPauses: 4,
  silentAfterMs: 900_000,
  /** Details that the device sends with an alert. */
  detailsBytes: 1_024,
  nameBytes: 255,
  /** Two years; some 6 MiB at most, and 1/20 of it for one device. */
  lifetimeMs: 730 * 86_400_000,
  kept: 20_000,
  keptPerDevice: 1_000,
  /** Kept when the room for state on a full disk becomes scarce. */
  keptWhenScarce: 1_000,
  /** Default size of a page. */
  listItems: 50,
  deletedAtOnce: 500,
  retentionIntervalMs: 3_600_000,
  retentionPauseMs: 50,
} as const;

export const NOTIFICATION_LIMITS = {
  /** People and services of one site. */
  channels: 16,
  devicesPerChannel: 500,
  /** Receivers of one mail. */
  addresses: 10,
  secretLength: 256,
  urlLength: 2_048,
  /** Changes within this time go into one message. */
  gatherMs: 10_000,
  /** Messages of one channel; changes meanwhile wait for the next one. */
  burst: 5,
  perHour: 12,
  /** Alerts that a message names; the others are counted. */
  namedAlerts: 50,
  /** Changes that wait while nothing gets through; further ones are counted. */
  pendingPerChannel: 1_000,
  /** Source: ntfy: a message of more than 4 096 bytes becomes an attachment. */
  ntfyTextCharacters: 1_000,
  /** Messages of rules that wait; the oldest are given up. */
  messagesPerChannel: 20,
  timeoutMs: 20_000,
  /** 30 s, 1 min … 1 h: the last of so many attempts comes a day after the first. */
  retryFirstMs: 30_000,
  retryMaxMs: 3_600_000,
  attempts: 30,
  /** How often a channel is notified that the disk refuses writes. */
  diskNoticeMs: 86_400_000,
  testBurst: 3,
  testsPerMinute: 6,
  deliveryItems: 50,
  /** Deliveries kept for each channel. */
  deliveriesKept: 200,
} as const;
