/** Bounds of what lies on the disk, as far as control needs it. As in `limits.ts`: C contract, M measured, G guess. */
export const STORAGE_LIMITS = {
  energy: {
    /** G: a year and a day of days, two years of months; a day costs the thread of the store some 50 ms. */
    daysMax: 732,
    hourDaysMax: 62,
    queriesAtOnce: 4,
    /** G: attributes that people say are the energy of the site; each is three series at most. */
    sourcesMax: 32,
    /** G: some missed messages of a device that sends every minute. */
    gapAfterDefaultS: 300,
    gapAfterMinS: 15,
    gapAfterMaxS: 7_200,
    /** G: an evenly spread rise of a counter says little of the hours of a longer outage. */
    bridgeS: 6 * 3_600,
    /** G: what no single device of a site delivers; a counter that rises faster was set. */
    powerMaxW: 2_000_000,
    /** G: books of days in memory, of 12 KB each, and how long they are good: today, while late messages come, later. */
    cachedDays: 400,
    keptTodayMs: 20_000,
    keptLateMs: 300_000,
    keptMs: 3_600_000,
  },
  state: {
    /** G: kept allocated on the disk, so that changes go on when it is full; one transaction fits. */
    walBytes: 4 * 1_048_576,
    /** G: a log of this size is moved into the file beside the event loop; at the second one at once, here. */
    checkpointBytes: 1_048_576,
    checkpointAtOnceBytes: 3 * 1_048_576,
    /** G: free pages inside state.db: some 20 000 commands with their trace on a disk that is full. */
    freeBytes: 12 * 1_048_576,
    /** G: below this part of them they are made anew, as soon as the disk has room. */
    freePercentMin: 75,
    /** G: below this part of them, on a disk short of room, old executions and audit entries give way early. */
    scarcePercent: 50,
    /** G: a file that gives its room at a start on a full disk: log, its index, keys, codes. */
    startReserveBytes: 8 * 1_048_576,
    /** G: long enough for the next visit of somebody who looks once a week. */
    recoveryShownMs: 7 * 86_400_000,
    quarantine: {
      /** G: a journal stays readable; the others are in the table. */
      rowsLogged: 100,
      /** A row leaves at most one row that refers to nothing per generation; there are four. */
      rounds: 12,
    },
    upkeepIntervalMs: 5_000,
    /** G: local copies, each of the size of what is stored: half a day by the hour, a week by the day. */
    copyIntervalMs: 3_600_000,
    copiesHourly: 12,
    copiesDaily: 7,
    upkeepTimeoutMs: 600_000,
    upkeepHeapBytes: 64 * 1_048_576,
    upkeepIdleMs: 10_000,
  },
  history: {
    /** G: left free for everybody else by giving up history; on a small disk this part of it at most. */
    freeBytes: 256 * 1_048_576,
    freePercent: 5,
    freePercentMax: 20,
    /** G: history never has to be smaller, however full the disk is. */
    floorBytes: 32 * 1_048_576,
    /** G: parts of the whole: journal of telemetry; of the file: logs of devices, logs of rules; telemetry has the rest. */
    journalPercent: 12,
    deviceLogPercent: 20,
    ruleLogPercent: 5,
    /** G: what was set aside leaves this part to what is used; beyond, damaged copies that gave all they had go. */
    setAsidePercentMax: 50,
    /** G: changes below this part of the limit are not worth telling. */
    stepPercent: 1,
    checkIntervalMs: 10_000,
    /** G: part of the room of logs that is made free at once, and may come before it is looked at again. */
    logStepPercent: 5,
    /** G: early removal is shown for a day. */
    removalShownMs: 86_400_000,
  },
  disk: {
    /** G: less free room than this, or than this part of a small disk, is for state alone. */
    lowBytes: 64 * 1_048_576,
    lowPercent: 5,
    lowFiles: 64,
    /** G: less than one page of a large file system with its bookkeeping. */
    fullBytes: 131_072,
    checkIntervalMs: 2_000,
  },
  start: {
    /** G: a local command or a gateway that is stopping holds the data folder so long at most. */
    lockWaitMs: 3_000,
  },
} as const;
