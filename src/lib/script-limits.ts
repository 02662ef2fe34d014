/** Limits of scripts and rules, a part of `LIMITS`; letters as there. */

export const SCRIPT_LIMITS = {
  lua: {
    /** Source: docs/interface/lua-devices.md#http: an HTTP body; JSON text of a script is no larger. */
    jsonBytes: 8 * 1_048_576,
    /** Source: docs/interface/lua-devices.md#values. */
    jsonDepth: 32,
    /** Source: docs/interface/lua-devices.md#limits; together with the end of a script in C code it is below 1 s. */
    turnMs: 800,
    /** A script that runs for longer yields to the others of its thread. */
    sliceMs: 5,
    /**
     * Measured: steps of one slice where it cannot be paused, inside the C library or a comparator; 0.1 to 0.3 s. The common
     * patterns take up to 7 for each byte of a text, sorting 100 000 numbers by a function takes 40 000 000.
     */
    sliceSteps: 80_000_000,
    /** One call inside the C library where steps take longer; well before its thread would be ended for it. */
    nativeMs: 600,
    /** Depth of calls, in places for values; 66 000 of the smallest calls, which fit the smallest memory. */
    stackSlots: 200_000,
    /** A slice of this length is stuck inside the C library; only the end of its thread ends it. */
    stuckMs: 850,
    /** How often the owner of the threads checks them; each check wakes an otherwise idle program. */
    watchIntervalMs: 50,
    /** Measured: the hook costs about 2 % at this count of instructions. */
    hookInstructions: 1_000,
    /** Measured: allocations in one slice for which there was no memory; each costs a collection of all garbage. */
    memoryRefusals: 8,
    /** A state that has not grown beyond this is cleared and used again instead of a new one. */
    resetBytes: 4 * 1_048_576,
    /** Source: docs/interface/lua-devices.md#scheduler. */
    jobs: 100,
    jobPeriodMs: 50,
    /** Part of its period by which a job may be late, 20 ms at most, to run together with others. */
    timerSlackPermille: 20,
    /**
     * Source: docs/interface/lua-devices.md#scheduler and docs/interface/lua-rules.md#runtime-v3: wall time of one call,
     * waiting included.
     */
    callMs: 10_000,
    /** Least wait, so that waiting in a loop does not bypass the limit on processor time. */
    delayMs: 1,
    /** Source: docs/interface/lua-devices.md#http. */
    httpBodyBytes: 8 * 1_048_576,
    httpTimeoutMs: 10_000,
    httpRedirects: 10,
    /** Connecting, sending and receiving of one request that asks for more. */
    httpTimeoutMaxMs: 300_000,
    /** Cookies that a client with a jar remembers. */
    httpCookies: 100,
    /** Servers with digest authentication that let the next request in at once; others are asked twice. */
    httpDigests: 32,
    /** Source: docs/interface/lua-rules.md#limits. */
    httpRequests: 8,
    /** Source: docs/interface/lua-devices.md#mqtt. */
    mqtt: {
      /** Clients of one script, and filters of one client. */
      clients: 8,
      filters: 64,
      /** Brokers of a module, each with its login. */
      brokers: 32,
      topicBytes: 1_024,
      /** One message of a script, and one for a script. */
      publishBytes: 131_072,
      messageBytes: 1_048_576,
      messagesPerSecond: 20,
      messageBurst: 100,
      /** Messages of a client that wait for its functions. */
      queuedMessages: 256,
      queuedBytes: 4 * 1_048_576,
      /** Newest messages that a connection keeps for `latest`; the oldest go. */
      latestBytes: 8 * 1_048_576,
      /** A larger packet costs the connection, because it has to be in memory before its topic is known. */
      packetBytes: 8 * 1_048_576,
      unaskedPackets: 16,
      messagesAtOnce: 32,
      /** To connect, and for each acknowledgement. */
      answerMs: 5_000,
      /** Pause before connecting again, doubling. */
      reconnectFirstMs: 500,
      reconnectMaxMs: 30_000,
      /** An account may get its topics after the script has started. */
      refusedAgainMs: 30_000,
    },
    /** Source: docs/interface/lua-devices.md#tcp-udp-and-websocket. */
    sockets: {
      /** Connections and sockets of one script; beyond it the one that was not used for longest is closed. */
      open: 16,
      /** TCP: bytes that wait for the script, after which the device has to wait; also the largest write. */
      bufferBytes: 65_536,
      writeBytes: 65_536,
      /** WebSocket. */
      messageBytes: 1_048_576,
      datagramBytes: 8_192,
      /** Messages and datagrams that wait for the script. */
      queuedMessages: 256,
      queuedBytes: 1_048_576,
      sendsPerSecond: 50,
      sendBurst: 200,
      /** Addresses of names that a socket has sent to. */
      senders: 64,
      /** Connecting, and a write that the device does not take. */
      connectMs: 3_000,
      handshakeMs: 5_000,
      writeMs: 5_000,
      timeoutMs: 1_000,
      timeoutMsMax: 60_000,
    },
    /** Share of one processor that a script may take in the long run, in a thousand; then its turns wait. */
    processorPermille: 250,
    /** Processor time that a script may take at once before the share counts. */
    processorBurstMs: 3_000,
  },
  outputs: {
    /** Source: docs/interface/lua-rules.md#outputs. */
    outputs: 200,
    partBytes: 64,
    priorityMax: 100,
    validDefaultS: 45,
    validMaxS: 3_600,
    repeatDefaultS: 300,
    repeatMinS: 10,
    repeatMaxS: 86_400,
    bounds: 8,
    commands: 16,
    /** Five days of quarters of an hour, as schedules of devices have. */
    planSteps: 480,
    planStepMaxS: 604_800,
    /** What a plan has said of the time that is over is kept for the longest day. */
    planKeptS: 90_000,
    /** With the time limit of a command, the safe command reaches the device within a minute. */
    graceMs: 45_000,
    pauseMs: 1_000,
    retryMs: 10_000,
    commandTimeoutMs: 10_000,
    /** Source: docs/interface/http.md#outputs: newest changes of an output that are kept. */
    changes: 100,
  },
  rules: {
    /** Source: docs/interface/lua-rules.md#limits. */
    rules: 200,
    scriptBytes: 262_144,
    memoryBytes: 32 * 1_048_576,
    execIntervalMinMs: 100,
    execIntervalMaxMs: 86_400_000,
    /** Source: docs/interface/lua-rules.md#storage. */
    storageKeyBytes: 128,
    storageValueBytes: 65_536,
    storageBytes: 1_048_576,
    /** An answer waits so long for the resulting state; a sandbox that is started takes a second. */
    startAnswerMs: 3_000,
    /** Source: docs/interface/lua-rules.md#logs. */
    logMessageBytes: 4_096,
    logsPerSecond: 50,
    /** Entries about a rule besides its own: errors, starts and ends. */
    ownLogsPerSecond: 10,
    logEntries: 1_000,
    logPageItems: 50,
    /** Source: docs/interface/http.md#rules: of one rule, with the present one; and of all of them together. */
    versions: 20,
    versionBytes: 524_288,
    /** Source: docs/interface/lua-rules.md#check: of one script. */
    warnings: 50,
    /** Source: docs/interface/lua-rules.md#notifications: of one rule; so many at once, too. */
    notificationsPerHour: 10,
    notificationTitleLength: 120,
    notificationTextLength: 2_000,
    /** Source: docs/interface/lua-rules.md#devices and docs/interface/lua-rules.md#commands. */
    relevanceMs: 30_000,
    averageMaxMs: 86_400_000,
    commandTimeoutMs: 10_000,
    commandsAtOnce: 16,
    /**
     * Source: docs/interface/lua-rules.md#runtime-v3: pause before a rule that failed starts again; doubles, falls back
     * after good running.
     */
    restartFirstMs: 10_000,
    restartMaxMs: 300_000,
    stableMs: 600_000,
    /**
     * Source: docs/interface/lua-rules.md#logs: an error of a scheduled function that repeats is counted in the log after the
     * first pause; the pause doubles up to the second one. Of its text so many bytes are remembered.
     */
    repeatedErrorMs: 60_000,
    repeatedErrorMaxMs: 3_600_000,
    repeatedErrorBytes: 512,
    errorsRemembered: 200,
    /** Questions to the gateway per second and rule; more of them wait. */
    requestsPerSecond: 500,
    requestBurst: 1_000,
    /**
     * Answers that a question brings along because they followed it before, and how long they may be used: as long as a
     * thread may wait for a processor on a small board.
     */
    readsAhead: 32,
    readAheadMs: 100,
    /** Characters of such a question together with the one before it, and of such an answer; remembered questions. */
    readAheadLength: 1_024,
    readsRemembered: 128,
    /** Commands and storage writes are synced to flash; more of them wait. */
    writesPerSecond: 10,
    writeBurst: 50,
    /** Measured: threads that share the rules, 18 MiB each; further ones are for rules that had to be ended with their thread. */
    threads: 1,
    solitaryThreads: 4,
    /** JavaScript memory of one thread; the scripts' own memory is not in it. */
    threadHeapMib: 128,
    threadYoungHeapMib: 4,
    /** Delay before the memory of ended states is collected; a collection takes some 10 ms. */
    releaseMs: 2_000,
    /** A wall clock corrected by less than this does not make a job of the calendar run twice. */
    clockStepMs: 86_400_000,
    /** Jobs that the clock skips come at once when it is put forward by no more than this; otherwise they are left out. */
    clockCatchUpMs: 600_000,
    /** A job of the calendar looks at the clock this often, so that a jump of it is noticed. */
    calendarCheckMs: 60_000,
    /** Source: docs/interface/http.md#rules. */
    trace: {
      /** Runs that acted otherwise than the one before, and others; characters of all of them. */
      changes: 25,
      others: 25,
      length: 32_768,
      /** Steps of one run, and their characters. */
      steps: 50,
      runLength: 8_192,
      /** Characters of a value or text. */
      valueLength: 256,
      /** Functions of events whose attribute is known. */
      watches: 200,
      /** The sandbox gives the runs within this time. */
      answerMs: 2_000,
      /** A run by hand waits for one that goes on. */
      freeMs: 1_000,
      /** A run by hand is waited for: the time of one call, and some more. */
      byHandMs: 12_000,
    },
    dryRun: {
      /** A week shows what a rule does on every day of it. */
      periodMs: 7 * 86_400_000,
      /** A function every second for the longest period, and something beside it. */
      steps: 1_000_000,
      /** As long as somebody waits in front of a browser; after the grace period its thread is ended. */
      durationMs: 60_000,
      graceMs: 5_000,
      /** It rests after so much work, so that rules and the gateway get the processor of a small board. */
      workMs: 40,
      restMs: 10,
      /** Entries of one kind in the answer, and bytes of all entries, which fit one message to the gateway. */
      entriesOfKind: 500,
      entriesBytes: 524_288,
      /** Length of a stored value or an address in the answer. */
      textBytes: 1_024,
      /** Attributes whose samples are held, some hundred kilobytes each. */
      attributes: 256,
      /** Answers that do not change, kept instead of being asked for again. */
      facts: 1_000,
    },
  },
} as const;
