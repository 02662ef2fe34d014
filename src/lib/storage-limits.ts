/** Bounds of data on the disk, a part of `LIMITS`; letters as there: C contract, M measured, G guess. */
import { AUTH_LIMITS } from './access-limits.ts';

export const STORAGE_LIMITS = {
  backup: {
    /** A state.db of thousands of devices has some hundred MiB. */
    unpackedBytes: 4 * 1_024 ** 3,
    /** Measured: 2^16 KiB of memory for scrypt, for a fraction of a second; it was 32 MiB of argon2id before. */
    workFactor: 16,
    /** As the command `age -p` makes it, 256 MiB; a hostile file may ask for any number. */
    workFactorMax: 18,
    /** JavaScript memory of the thread that seals. */
    threadHeapMib: 64,
    /** A backup with years of history that is uploaded for a restore; the disk bounds it before. */
    uploadBytes: 64 * 1_024 ** 3,
    /** Backups that a plan leaves at its target: a year of days. */
    keepMax: 366,
    alertAfterDaysMax: 366,
    checkIntervalMs: 60_000,
    /** Pause before a backup by plan that failed is tried again. */
    retryMs: 3_600_000,
    /** Copies from before restores, each of the size of the state then. */
    asideKept: 3,
    /** Starts, two seconds apart, that a restore is tried for when the disk refuses it. */
    restoreTries: 5,
    /** The answer of a restore is out before the gateway starts again. */
    restartPauseMs: 1_000,
    /** A caller that reads nothing of a backup for so long does not prevent another one. */
    readerIdleMs: 600_000,
    /** Measured: when a caller goes away, its thread ends within a second; so long the next one waits before it is refused. */
    readerLeavesMs: 2_000,
    /** After so long no further old backup is removed from the target; the next backup goes on. */
    removingMs: 300_000,
    /** An upload that was not taken over by then is deleted. */
    uploadKeptMs: 86_400_000,
    /** A stick that does not answer is not waited for when the gateway stops. */
    stopMs: 2_000,
    /** Opening the backup of a year of history on a slow card. */
    openTimeoutMs: 3 * 3_600_000,
    /** As for users. */
    passwordLengthMin: AUTH_LIMITS.passwordLengthMin,
    passwordLengthMax: AUTH_LIMITS.passwordLengthMax,
  },
  documents: {
    /** Manuals of makers mostly have 1 to 4 MiB; a photo from the console has at most 0.5. */
    documentBytes: 5 * 1_048_576,
    perDevice: 20,
    /** All devices together: a backup is larger by as much, and a card of a box holds it several times. */
    totalBytes: 128 * 1_048_576,
    /** A file that no row knows stays for so long: an older state may be replaced by a newer one. */
    unknownKeptMs: 30 * 86_400_000,
  },
  energy: {
    /** A year and a day of days, two years of months; measured: a day of nine series every 10 s is some 20 ms. */
    daysMax: 732,
    hourDaysMax: 62,
    queriesAtOnce: 4,
    /** Read by one query, so that a month reads each stored day once. */
    daysAtOnce: 31,
    /** Attributes that people say are the energy of the site; each is three series at most. */
    sourcesMax: 32,
    /** A new contract every few months for decades. */
    tariffsMax: 100,
    /** Money is counted by quarters of an hour, as exchanges have them. */
    quarterS: 900,
    /** A price of a device holds until its next one, for an hour at most, as exchanges have hours, too. */
    priceHeldQuarters: 4,
    /** The same weekday of so many weeks says what the site will use. */
    forecastWeeks: 4,
    /** Per kWh or day, in any currency. */
    priceMost: 1_000_000,
    /** Some missed messages of a device that sends every minute. */
    gapAfterDefaultS: 300,
    gapAfterMinS: 15,
    gapAfterMaxS: 7_200,
    /** An evenly spread rise of a counter is no measure of the hours of a longer outage. */
    bridgeS: 6 * 3_600,
    /**
     * More than any source of a single site has, and far below what the patterns for "not available" of 32 bits look
     * like: 0x80000000 and 0xFFFFFFFF in watts are 2.1 and 4.3 GW. An owner may say otherwise.
     */
    powerMaxDefaultW: 10_000_000,
    powerMaxLeastW: 1_000,
    powerMaxMostW: 1e12,
    /**
     * Books of hours or whole days in memory, of 0.6 and 2.8 KB: two years beside some months in hours. And how long they
     * are good: today, while late messages come, later, when only room for history makes others of them.
     */
    cachedBalances: 4_800,
    keptTodayMs: 20_000,
    keptLateMs: 300_000,
    keptMs: 86_400_000,
  },
  targets: {
    /** Some engines, some brokers, one of each for a trial. */
    targetsMax: 16,
    urlLength: 2_000,
    secretLength: 4_096,
    pemLength: 65_536,
    patternLength: 128,
    patternsMax: 200,
    /** How often a target that has everything looks for more. */
    intervalMs: 1_000,
    /** How often what waits is counted while a delivery is under way or fails. */
    lagIntervalMs: 2_000,
    /** Measured: samples read and sent together; writing them as lines takes some 5 ms on x64. */
    samplesAtOnce: 8_192,
    /** Records of all contents that are read and sent together. */
    recordsAtOnce: 500,
    /** Changed rows of each content that wait for targets; beyond, the oldest are dropped. */
    recordsKept: 50_000,
    /** Lines of one request, before they are compressed. */
    bodyBytes: 1_048_576,
    /** Bytes of a server's answer that are read. */
    answerBytes: 65_536,
    timeoutMs: 30_000,
    /** Messages to a broker that wait for their acknowledgement. */
    messagesInFlight: 100,
    topicLength: 512,
    payloadLength: 2_048,
    sparkplug: {
      /** Metrics of one message. */
      metricsMax: 500,
      /** Values that were measured longer ago are historical. */
      historicalAfterMs: 300_000,
    },
    commands: {
      /** One request. */
      requestBytes: 65_536,
      requestIdLength: 128,
      /** How long ahead a deadline may be: a request is remembered for as long. */
      deadlineMs: 86_400_000,
      /** Requests of one target that are remembered. */
      remembered: 10_000,
      /** An answer without acknowledgement is kept so long after the deadline. */
      answerKeptMs: 86_400_000,
      perMinuteDefault: 60,
      perMinuteMax: 600,
      /** Requests at once, after silence. */
      burst: 10,
      /** A person learns the reason of a refusal; a program that never stops gets no answer after a while. */
      refusalBurst: 20,
    },
    /** Wait for deliveries under way when a target is closed, because a server may not answer. */
    stopMs: 1_000,
    /** Pauses after a failure, each twice the last. */
    retryFirstMs: 1_000,
    retryMaxMs: 60_000,
    /** How often cursors are stored; after a power cut so much is sent again. */
    cursorIntervalMs: 10_000,
    /**
     * Samples that a target acknowledged in this time before its connection ended are sent again; VictoriaMetrics keeps
     * 5 s of them in memory.
     */
    resendMs: 20_000,
    /** For a person who wonders why a series is missing; further refusals are shown again. */
    refusalShownMs: 3_600_000,
    bytesPerSecondDefault: 10 * 1_048_576,
    bytesPerSecondLeast: 1_024,
    bytesPerSecondMost: 1_073_741_824,
    processorPercentDefault: 50,
    /** A folder: samples of so much time go to one file of each day. */
    pieceMinutesDefault: 60,
    pieceMinutesMax: 1_440,
    /** A larger file is finished before its time is over. */
    pieceBytes: 64 * 1_048_576,
    /** Late samples of so many days at once. */
    openFilesMax: 64,
  },
  state: {
    /** Stays allocated on the disk, so that changes are possible when it is full; one transaction fits. */
    walBytes: 4 * 1_048_576,
    /** A log of this size is moved into the file beside the event loop; at the second one at once, here. */
    checkpointBytes: 1_048_576,
    checkpointAtOnceBytes: 3 * 1_048_576,
    /** Free pages inside state.db: some 6 000 commands with their trace on a disk that is full. */
    freeBytes: 4 * 1_048_576,
    /** Below this part of them they are made anew, as soon as the disk has room. */
    freePercentMin: 75,
    /** Below this part of them, on a disk short of room, old executions and audit entries give way early. */
    scarcePercent: 50,
    /** A file that is removed at a start on a full disk, to make room for log, its index, keys, codes. */
    startReserveBytes: 8 * 1_048_576,
    /** Long enough for a person who looks once a week. */
    recoveryShownMs: 7 * 86_400_000,
    /** Damaged copies of state.db that are kept, as large as it is each. */
    damagedKept: 3,
    upkeepIntervalMs: 5_000,
    /** After a failed read the whole file is read no more often than this. */
    judgeIntervalMs: 60_000,
    /** Local copies, each of the size of what is stored: half a day by the hour, a week by the day. */
    copyIntervalMs: 3_600_000,
    /** Bytes that copies may write to the card; larger copies are made less often, but once a day. */
    copyBytesPerHour: 2 * 1_048_576,
    copyIntervalMaxMs: 86_400_000,
    copiesHourly: 12,
    copiesDaily: 7,
    /** Copies from before migrations, for a return to one of the last versions. */
    copiesBeforeMigrations: 5,
    upkeepTimeoutMs: 600_000,
    upkeepHeapBytes: 64 * 1_048_576,
    upkeepIdleMs: 10_000,
  },
  history: {
    /** Left free for others by removing history; at most this part of a small disk. */
    freeBytes: 256 * 1_048_576,
    freePercent: 5,
    freePercentMax: 20,
    /** Least size of the history, however full the disk is. */
    floorBytes: 32 * 1_048_576,
    /** Parts of the whole: journal of telemetry; of the file: logs of devices, logs of rules; telemetry has the rest. */
    journalPercent: 12,
    deviceLogPercent: 20,
    ruleLogPercent: 5,
    /**
     * Files that were set aside leave this part of the room to live data; beyond, damaged copies that were salvaged go
     * first, then histories of other sites but the newest.
     */
    setAsidePercentMax: 50,
    /** Smaller changes, as part of the limit, are not reported. */
    stepPercent: 1,
    checkIntervalMs: 10_000,
    /** Part of the room of logs that is freed at once, and that may be used before the next check. */
    logStepPercent: 5,
    /** Early removal is shown for a day. */
    removalShownMs: 86_400_000,
    /** A history that removes something more often than once a month is full, which is shown once. */
    removalQuietMs: 30 * 86_400_000,
    /** It is noted for the next start this often at most, for the sake of the card. */
    removalNotedMs: 3_600_000,
    /** So is a part that could not be read; files that were set aside are named as long as they are there. */
    damageShownMs: 86_400_000,
  },
  disk: {
    /** The last free room, or this part of a small disk, is for state alone. */
    lowBytes: 64 * 1_048_576,
    lowPercent: 5,
    lowFiles: 64,
    /** Less than one page of a large file system with its bookkeeping. */
    fullBytes: 131_072,
    checkIntervalMs: 2_000,
  },
  log: {
    /** Log lines of a program that nobody takes; some thousand lines. */
    waitingBytes: 1_048_576,
  },
  report: {
    /** Some thousand lines of the service log, kept in memory for a report. */
    recentBytes: 524_288,
  },
  update: {
    /** Our packages have 40 MB. */
    packageBytes: 200_000_000,
    /** The upload, and what the data needs meanwhile. */
    roomBytes: 250_000_000,
    /** Source: energy-gateway-update.service: after that an update was given up. */
    installMs: 3_600_000,
  },
  start: {
    /** A local command or a gateway that is stopping holds the data folder so long at most. */
    lockWaitMs: 3_000,
  },
} as const;
