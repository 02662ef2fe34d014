import { AUDIT_LIMITS, AUTH_LIMITS } from './access-limits.ts';
import { ALERT_LIMITS, NOTIFICATION_LIMITS } from './alert-limits.ts';
import { FIELD_LIMITS, MODULE_LIMITS, TRACE_LIMITS } from './module-limits.ts';
import { NETWORK_LIMITS } from './network-limits.ts';
import { SCRIPT_LIMITS } from './script-limits.ts';
import { STORAGE_LIMITS } from './storage-limits.ts';
import type { Numbers } from './time.ts';

/**
 * Every bound of the gateway in one place: value, unit in the name, and where the number comes from
 *.
 */
const VALUES = {
  ...NETWORK_LIMITS,
  ...SCRIPT_LIMITS,
  ...STORAGE_LIMITS,
  auth: AUTH_LIMITS,
  audit: AUDIT_LIMITS,
  alerts: ALERT_LIMITS,
  notifications: NOTIFICATION_LIMITS,
  telemetry: {
    /** Source: docs/interface/mqtt-devices.md#telemetry and docs/interface/mqtt-devices.md#messages. */
    attributesPerMessage: 1_000,
    stringBytes: 4_096,
    jsonBytes: 16_384,
    arrayItems: 256,
    keyLength: 128,
    jsonDepth: 16,
    /** Measured: values of one message, nested ones too; so many take 8 ms on x64, whatever they are. */
    messageValues: 16_384,
    /** Source: docs/interface/mqtt-devices.md#time. */
    futureToleranceMs: 60_000,
    lateMs: 7 * 86_400_000,
    /** 2100-01-01: no sample is later. Times are kept as 32-bit numbers, which reach a little further. */
    timeEndS: 4_102_444_800,
    /** Source: docs/interface/http.md#latest-values. */
    latestDevices: 100,
    latestAttributes: 200,
    relevanceIntervalMs: 31_536_000_000,
    relevanceIntervalDefaultMs: 30_000,
    /** Source: docs/interface/http.md#time-series: items of one time series query. */
    queryItems: 100,
    /** Columns after arrays and matchers are resolved; a row still fits one piece of the answer. */
    queryColumns: 1_000,
    /** Comparisons of names and labels to find them; they block the event loop for part of a second. */
    queryComparisons: 2_000_000,
    /** One import file; scripts/telemetry-transfer.ts makes smaller ones. */
    importBytes: 64 * 1_048_576,
    /** Source: docs/interface/http.md#time-series: cost of one query. */
    queryBuckets: 200_000,
    queryCells: 2_000_000,
    /** Samples, and bytes of their text, in one step of a reader that goes through time. */
    readSamples: 2_000,
    readBytes: 262_144,
    /** Queries running at once; further ones wait for their turn. */
    queriesAtOnce: 8,
    queriesWaiting: 64,
    /** Journal records between two that can be read alone; a damaged record costs that much at most. */
    recordsPerKey: 60,
    /** Measured: samples of the journal before they are sealed: half an hour of a large site, 0.2 s of a restart. */
    openSamples: 2_000_000,
    /** Measured: of these, uncompressed samples per series; larger chunks are barely shorter, and reads decode all of them. */
    openChunkSamples: 256,
    /** Further samples wait until the store has caught up. */
    openSamplesMax: 8_000_000,
    /** Pauses before the thread of the store starts again; the first and the longest. */
    storeRestartFirstMs: 500,
    storeRestartMaxMs: 60_000,
    /** Journal records on their way to the store before acknowledgements wait for it. */
    storeBacklogBytes: 8 * 1_048_576,
    /** JavaScript memory of the store's thread; a large query and a sealing together stay below half of it. */
    storeHeapMib: 256,
    /** Measured: with Node's own 48 MiB the process is 30 MiB larger and no faster. */
    storeYoungHeapMib: 6,
    /** A quiet site seals this often. */
    sealIntervalMs: 2 * 3_600_000,
    /** Sealings that readers of changes have not passed, a week of a large site; beyond, each two become one. */
    changeEntries: 512,
    /** Sealed journal records kept in memory for readers that follow closely. */
    changeRecentBytes: 2 * 1_048_576,
    /** A smaller backlog is sent in order also by a reader that begins with the newest: half a second. */
    changeBacklogSamples: 65_536,
    /** Outages that such a reader still owes; beyond, the two oldest become one. */
    changeOwedRanges: 32,
    /** Messages without a time of their own that wait for a clock that was never set. */
    messagesBeforeClock: 10_000,
    /** Messages that wait unacknowledged while the history cannot be opened; further ones are refused. */
    messagesBeforeHistory: 1_000,
  },
  deviceLogs: {
    /** Source: docs/interface/mqtt-devices.md#logs. */
    messageBytes: 16_384,
    perSecond: 20,
    burst: 200,
    /** Source: docs/interface/http.md#device-logs. */
    pageItems: 50,
    persistentDays: 90,
    persistentEntries: 50_000,
    ephemeralHours: 24,
    ephemeralEntries: 5_000,
    /** At most one summary of dropped entries per device in this time. */
    summaryIntervalMs: 10_000,
    retentionIntervalMs: 600_000,
    /** Time for which one batch of a deletion may block the event loop. */
    retentionBatchMs: 20,
    /** Rows deleted in one transaction. */
    deletedAtOnce: 500,
    retentionPauseMs: 50,
  },
  commands: {
    /** Source: docs/interface/http.md#commands. */
    timeoutMs: 60_000,
    /** For so long after a request or its last response log entries of the device count as signs of life. */
    logLifeMs: 300_000,
    /** A command of a script is sent within this time or its own timeout, or not at all, because a disk may hang. */
    sentWithinMs: 5_000,
    keepAliveFirstMs: 2_000,
    keepAliveIntervalMs: 2_000,
    ephemeralLifetimeMs: 24 * 3_600_000,
    persistentLifetimeMs: 90 * 86_400_000,
    persistentPerDevice: 10_000,
    pageItems: 50,
    /** Responses stored per execution; further ones are counted. */
    responsesPerExecution: 1_000,
    /** Executions in flight per device. */
    inFlightPerDevice: 64,
    responsePayloadBytes: 65_536,
    /** All responses of one execution; beyond, progress is counted, not stored. */
    responseBytesPerExecution: 1_048_576,
    /** Arguments as JSON; far below what one MQTT message may carry. */
    argumentsBytes: 65_536,
    /** Responses waiting for a disk that takes no data; beyond, they are not acknowledged. */
    bufferedResponseBytes: 8 * 1_048_576,
    /** Measured: filtering a site-wide list by state or name over so many took 13 ms on x64. */
    executions: 50_000,
    /** Executions of all devices that are kept when the room for state on a full disk becomes scarce. */
    executionsWhenScarce: 1_000,
    /** Executions deleted at once, each with up to `responsesPerExecution` rows. */
    deletedAtOnce: 20,
    retentionIntervalMs: 60_000,
    /** Pause between two batches of a larger deletion. */
    retentionPauseMs: 50,
  },
  connectivity: {
    /** Source: docs/interface/mqtt-devices.md#connectivity. */
    graceMs: 10_000,
    /** Source: docs/interface/mqtt-devices.md#connectivity: a carried device that is silent for so long is OFFLINE. */
    silenceMs: 60_000,
  },
  devices: {
    /** Registry is held in memory; see docs/decisions. */
    devices: 2_000,
    /** Two pages of text; all of them are in memory. */
    notesLength: 4_000,
    propertyBytes: 16_384,
    propertyNameLength: 128,
    propertiesPerDevice: 1_000,
    /** Names and values together; every change of one writes them all. */
    propertiesBytesPerDevice: 262_144,
    /** Hours of running for which the history of an unknown device is kept: 30 days. */
    unknownKeptHours: 720,
    /** Deletions remembered, so that the history follows them. */
    deletionsKept: 10_000,
    /** Source: docs/interface/mqtt-devices.md#telemetry: a fault of a value is reported once an hour. */
    reportIntervalMs: 3_600_000,
    /** Faults of one device reported in that time, because a device that invents names would fill its log. */
    reportsPerDevice: 100,
    /** Devices whose faults are counted individually, 10 KB each at most. */
    reportedDevices: 2_000,
  },
  siteFile: {
    /** Lists of a site file; some 100 bytes an entry. */
    entries: 1_000,
    fileBytes: 1_048_576,
    /** A password, a token, or certificates as PEM. */
    secretBytes: 65_536,
  },
  blueprints: {
    /** Source: docs/interface/blueprints.md#archive. */
    unpackedBytes: 100 * 1_048_576,
    entries: 2_000,
    manifestBytes: 2 * 1_048_576,
    luaFileBytes: 2 * 1_048_576,
    problems: 200,
    /** Values of one YAML file with every alias expanded; the largest published manifest has about 5 000. */
    manifestNodes: 200_000,
    /** Measured: words, marks and blanks of one YAML file, some eight to a value; so many take 1.5 s. */
    manifestTokens: 300_000,
    /** Nesting of YAML and JSON Schema values; published manifests reach 8. */
    manifestDepth: 64,
    /** One profile file; the largest of ours has 1 KiB. */
    profileBytes: 65_536,
    /** All profile files of one upload together. */
    profileTreeBytes: 4 * 1_048_576,
    /** Uploaded blueprints without a device; beyond, those unused the longest are removed. */
    unused: 100,
    /** An uploaded blueprint that no device had for so many days of running is removed. */
    unusedDays: 30,
    cleaningIntervalMs: 86_400_000,
    /** Measured: a large blueprint (400 attributes, 30 Lua files) takes 0.13 s and 36 MiB on a desktop core. */
    compileTimeoutMs: 30_000,
    compileHeapBytes: 128 * 1_048_576,
    /** Uploads that wait for the compiling thread, and as many again that are only validated. */
    compileWaiting: 8,
    /** Measured: validation takes no longer, with the start of the thread on a busy board; uploads wait for it. */
    validateTimeoutMs: 10_000,
    /** Time of the compiling thread for one token, and for all callers without one together. */
    validateWorkMsPerMinute: 15_000,
    compileIdleMs: 30_000,
  },
  library: {
    /** One device template; the largest of the library has 5 KiB. */
    templateBytes: 65_536,
    /** Uploaded templates; reading all of them takes a second on a small board. */
    ownTemplates: 200,
    /** Mistakes of one template that are reported. */
    faults: 50,
    /** Measured: reading the whole library takes 0.6 s on a desktop core. */
    taskTimeoutMs: 20_000,
    heapBytes: 96 * 1_048_576,
    waiting: 16,
    idleMs: 30_000,
  },
  deviceConfiguration: {
    /** One value as JSON; a certificate or a small table fits. */
    valueBytes: 16_384,
  },
  commits: {
    /** Source: decision 0002: adaptive window of the group commit. */
    windowMinMs: 10,
    windowMaxMs: 1_000,
    /** Window for values that the gateway and modules measure of themselves: each commit costs the card four pages. */
    unawaitedWindowMs: 60_000,
    /** Part of the longest window left for the sync itself. */
    syncAllowanceMs: 100,
    /** Commits in a row that may use the short window (flash wear). */
    shortWindows: 4,
    /** Time without a waiting request that allows one more; less than a second, for a device that sends every second. */
    shortWindowPauseMs: 900,
    /** Syncs for senders that wait for each acknowledgement: a day of one message a second, all at once. */
    quickSyncs: 86_400,
    /** As many as steady traffic takes at worst; it leaves fewer for others. */
    quickSyncsPerSecond: 2,
    quickWindowMs: 2,
    /** A group of this size means load; it is committed at the next pause of `quietMs`. */
    busyRequests: 256,
    busyBytes: 65_536,
    quietMs: 2,
    /** Load without a pause is committed this often. */
    busyWindowMs: 100,
    /** One commit of this size is long enough to be efficient; it does not wait. */
    largeBytes: 1_048_576,
    /** Bytes buffered while the disk does not take them; beyond, data is refused, not acknowledged. */
    bufferedBytes: 32 * 1_048_576,
    retryMs: 1_000,
  },
  processes: {
    /** Node with our modules starts in well under 1 s; an ARM board under load takes a few. */
    helloMs: 15_000,
    /** A child that answers none of three heartbeats is stuck. */
    heartbeatIntervalMs: 5_000,
    missedHeartbeats: 3,
    /** Pause before the next start; doubles to the maximum, falls back after a stable run. */
    restartFirstMs: 500,
    restartMaxMs: 60_000,
    stableMs: 10_000,
    /**
     * A program that was asked to end gets SIGTERM after the first time, SIGKILL after the second, and is given up after
     * the third; all programs in parallel, in much less time than the gateway itself has.
     */
    stopMs: 2_000,
    termMs: 500,
    reapMs: 500,
    /** An unused program ends after this, so that trying things out does not start it each time. */
    idleMs: 30_000,
    /** One message between programs: a payload from a device with its surroundings. */
    messageBytes: 1_048_576,
    /** On the way to one program before messages are dropped. */
    queuedBytes: 8 * 1_048_576,
  },
  journal: {
    /** Measured: at 1 000 values/s a segment lasts a quarter of an hour. */
    segmentBytes: 1_048_576,
    /** Released segments kept for reuse; others are removed. */
    spareSegments: 4,
    /** Damaged segments kept for a person to look at; beyond, the oldest are removed once their content is stored. */
    damagedSegments: 16,
  },
  field: FIELD_LIMITS,
  module: MODULE_LIMITS,
  trace: TRACE_LIMITS,
  stop: {
    /** Required: SIGTERM finishes within this. */
    totalMs: 10_000,
  },
} as const;

/** The same shape with any numbers, so that a test can give a part tighter ones. */
export type Limits = Numbers<typeof VALUES>;
export const LIMITS: Limits = VALUES;

/** Relations between limits that do not hold; must be empty. */
export function contradictions(limits: Limits): string[] {
  const { audit, blueprints, commands, commits, connectivity, deviceLogs, field, http, module, mqtt } =
    limits;
  const { stop, telemetry, tls, webSocket } = limits;
  const relations: [boolean, string][] = [
    [deviceLogs.pageItems <= http.pageItems, 'a log page is not larger than the largest page'],
    [mqtt.packetBytes > mqtt.payloadBytes + mqtt.topicBytes, 'a packet holds payload and topic'],
    [mqtt.inFlightBytes > mqtt.payloadBytes, 'the window of one connection holds the largest message'],
    [mqtt.outboundQueuedBytes > mqtt.packetBytes, 'the queue towards one client holds the largest packet'],
    [
      mqtt.requestPacketBytes > mqtt.subscriptionsPerSession * (mqtt.topicBytes + 3),
      'all subscriptions of a session fit one packet',
    ],
    [mqtt.sliceWorkMs < mqtt.turnWorkMs, 'several identities share a turn'],
    [mqtt.connections > mqtt.sessions, 'every session has a connection'],
    [
      tls.webRenewalMs + tls.webBackdatingMs < tls.webValidityMs,
      'a renewed certificate is not due for renewal',
    ],
    [mqtt.inFlightMessages < 65_535, 'packet identifiers outnumber the messages in flight'],
    [mqtt.stopTimeoutMs + mqtt.closeTimeoutMs < stop.totalMs, 'the broker stops within the total'],
    [audit.listItems <= http.pageItems, 'a page of the audit trail is not larger than the largest'],
    [connectivity.graceMs > 5_000, 'the grace period covers the 5 s reconnect of the public SDK'],
    [
      commands.bufferedResponseBytes < commits.bufferedBytes,
      'responses waiting for the disk do not fill the whole buffer of the group commit',
    ],
    [commands.argumentsBytes + 1_024 < mqtt.payloadBytes, 'a command request fits one message'],
    [commits.windowMaxMs <= 1_000, 'an acknowledgement waits 1 s at most (decision 0002)'],
    [telemetry.jsonBytes < mqtt.payloadBytes, 'a JSON value fits one message'],
    [(module.chunkBytes * 4) / 3 + 1_024 < mqtt.payloadBytes, 'a piece of a script fits one message'],
    [module.messageBytes < mqtt.payloadBytes, 'a message of a script fits one publication'],
    [module.contentBytes >= blueprints.luaFileBytes, 'a module takes the largest script'],
    [field.connectMs + field.reconnectMaxMs < 30_000, 'a field device that returns is reached within 30 s'],
    [webSocket.closeTimeoutMs < stop.totalMs, 'WebSockets close before the gateway has stopped'],
    [http.connectionsPerAddress < http.connections, 'one address cannot take every connection'],
    [http.connectionsPerIdentity < http.connections, 'one token cannot keep every connection'],
    [
      webSocket.connectionsPerIdentity <= webSocket.connectionsPerAddress &&
        webSocket.connectionsPerAddress < webSocket.connections,
      'one token, or one address, cannot keep every WebSocket',
    ],
    [http.keepAliveTimeoutMs < http.silenceTimeoutMs, 'idle connections end by their own limit'],
    ...programRelations(limits),
  ];
  return relations.filter(([holds]) => !holds).map(([, statement]) => statement);
}

function programRelations({ lua, processes, rules, stop, telemetry }: Limits): [boolean, string][] {
  const { nativeMs, turnMs, stuckMs, watchIntervalMs } = lua;
  return [
    [
      (processes.stopMs + processes.termMs + processes.reapMs) * 2 < stop.totalMs,
      'child programs end in less than half of the time that the gateway has',
    ],
    [processes.messageBytes <= processes.queuedBytes, 'one message fits the queue of a program'],
    [
      rules.scriptBytes * 2 < processes.messageBytes,
      'a rule with its script fits one message to the sandbox',
    ],
    [rules.storageValueBytes * 2 < processes.messageBytes, 'a stored value fits one message to the sandbox'],
    [
      rules.dryRun.entriesBytes * 2 <= processes.messageBytes &&
        telemetry.readBytes * 2 < processes.messageBytes,
      'the answer of a dry run and a piece of what it reads fit one message each',
    ],
    [
      rules.dryRun.steps * 1_000 >= rules.dryRun.periodMs,
      'a dry run has a step for every second of its longest period',
    ],
    [
      nativeMs < turnMs && turnMs < stuckMs && stuckMs + watchIntervalMs < 1_000,
      'a script ends by its own limit before its thread is ended, and all within 1 s (decision 0070)',
    ],
  ];
}

const broken = contradictions(LIMITS);
if (broken.length > 0) throw new Error(`limits contradict each other: ${broken.join('; ')}`);
