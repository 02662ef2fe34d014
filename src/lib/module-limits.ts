/** Limits of communication modules, a part of `LIMITS`; letters as there. */

/** Modbus and serial ports. */
export const FIELD_LIMITS = {
  /** Source: docs/interface/lua-devices.md#modbus: time limit of a request that names none; and the longest one granted. */
  requestMs: 1_000,
  requestMsMax: 60_000,
  /** Requests waiting for one address or port; a batch of 100 queries fits twice. */
  queuedRequests: 256,
  /** Connections to one address that a script may ask for; Modbus on TCP 4.2.1: a device takes 1 to 16 transactions. */
  connectionsMax: 8,
  /** One attempt to connect; a device on the same network answers within milliseconds. */
  connectMs: 3_000,
  /** Pause after a failed attempt, doubling; the longest keeps the return of a device within 30 s. */
  reconnectFirstMs: 250,
  reconnectMaxMs: 10_000,
  /** Addresses in use at once; a hundred scripts with a few devices each. */
  addresses: 512,
  /** Silences in a row after which a unit is taken for switched off. */
  silentRequests: 3,
  /** Source: docs/interface/lua-devices.md#modbus. */
  idleMs: 60_000,
  /** The longest pause of a silent unit where others answer; it grows with each silence. */
  unitRestMsMax: 20_000,
  /** Measured: least time for an answer on a serial line where others answer; devices take 5 to 60 ms. */
  serialAnswerMinMs: 100,
  /** Part of the time of a connection or line for silent units; the others keep their pace. */
  silencePercent: 5,
  /** Silence on a serial line after noise, and before a unit that answers twice is asked. */
  lateAnswerMs: 100,
  twiceMs: 10_000,
  /** So long after a timeout on a serial line the answer may still come; and others may wait for it so long. */
  lateAnswerMsMax: 3_000,
  listenMsMax: 500,
  /** Source: Modbus over serial line 2.4.1: after a broadcast. */
  broadcastMs: 100,
  /** A serial server that sends nothing for so long, and does not answer, is dialled again; three requests fit in it. */
  serverSilenceMs: 3_000,
  /** Source: docs/interface/lua-devices.md#serial: received bytes that nobody has read; the oldest are dropped. */
  serialBufferBytes: 4_096,
  /** One raw write. */
  serialWriteBytes: 4_096,
  /** Others wait so long for a script that has written to read the answer, and that has read to read the rest. */
  serialThinkMs: 1_000,
  serialRestMs: 100,
  /** A program of the system that reads or writes a port once; it ends within milliseconds. */
  programMs: 5_000,
  /** A scan for units: all of it, at once on all lines, and waiting for a line that a script keeps to itself. */
  scanMs: 600_000,
  scansAtOnce: 4,
  scanWaitMs: 10_000,
  /** Units at which a device hangs up, in a row, before the scan gives up. */
  scanClosings: 3,
  /** An answer to a scan. Converters to serial lines take their time; on a line itself units take 5 to 60 ms. */
  scanAnswerMs: 1_000,
  scanSerialAnswerMs: 300,
  scanAnswerMsMax: 5_000,
  /** Registers by which a device is known: those of all templates twice; and the longest text of a device. */
  scanReads: 128,
  scanReadRegisters: 64,
  /** Timeouts in a row after which the other registers are not read. */
  scanSilentReads: 3,
  /** SunSpec models of one unit; the largest devices have some twenty. */
  scanModels: 60,
  /** An hour; longer ones are up to the script. */
  impulseMsMax: 3_600_000,
  /** Monitors and queues of one script, and the frames that they can hold together: 2 MiB. */
  canMailboxes: 64,
  canFramesKept: 16_384,
  /**
   * Frames kept for a script of the older generation, which gets everything that arrives: 4 s of a full bus at 125
   * kbit/s.
   */
  canRowFrames: 4_096,
} as const;

/** Field traces: what devices asked and were answered, kept for people who look for a fault. */
export const TRACE_LIMITS = {
  /** A trace ends by itself, since it is easily forgotten. */
  durationMs: 900_000,
  durationMsMax: 3_600_000,
  /**
   * Entries of one device; a template device with ten requests a second fills it in two minutes, and the oldest are
   * dropped.
   */
  entries: 1_000,
  /** Requests and answers of one device together. */
  bytes: 262_144,
  /** One request or answer; longer ones are cut. A frame of Modbus has 260 bytes, an answer in JSON some kilobytes. */
  messageBytes: 4_096,
  /** Devices that are traced at once, and as many traces that are over are kept. */
  devices: 4,
  /** Entries are sent together so often, and so many of one device; beyond they are dropped and counted. */
  sendMs: 500,
  entriesAtOnce: 100,
  bytesAtOnce: 49_152,
  addressLength: 512,
} as const;

/** Scripts of a communication module, and its messages to and from the gateway. */
export const MODULE_LIMITS = {
  /** Source: docs/interface/lua-devices.md#limits. */
  scripts: 100,
  /** Piece of a script in one message; in base64 it fits the payload of one publication. */
  chunkBytes: 131_072,
  /** Source: docs/interface/blueprints.md#archive: a compiled script; the facts about its blueprint are far smaller. */
  contentBytes: 2 * 1_048_576,
  /** Source: docs/interface/lua-devices.md#storage. */
  storageKeyBytes: 64,
  storageValueBytes: 65_536,
  storageBytes: 1_048_576,
  /** An answer of the gateway to a question of the module. */
  answerMs: 5_000,
  /** Hello is repeated when nothing is assigned within this. */
  helloMs: 10_000,
  /** A module sends something each second; after so much silence another run may take its place. */
  silentRunMs: 10_000,
  /** How often assignments, which carry the time, are repeated. */
  assignAgainMs: 3_600_000,
  /** How far the clock of a module's board may be from the gateway's; a message may be under way for seconds. */
  clockMs: 30_000,
  /** Before that is reported; meanwhile the gateway is asked, whose clock may have been set too. */
  clockDoubtMs: 10_000,
  /** Source: docs/interface/lua-devices.md#configuration: how long a script may think about a configuration. */
  verdictMs: 5_000,
  /** The same with the way to the module and back; then values go through. */
  configurationMs: 6_000,
  /** Measured: the built-in module starts within 2 s, on slow boards some more; a module that scans is silent for longer. */
  scanReadyMs: 30_000,
  scanSilenceMs: 90_000,
  /** Source: docs/interface/lua-devices.md#other-devices, and the longest wait for the command of another device. */
  peerMs: 1_000,
  peerMsMax: 60_000,
  /** Source: docs/interface/lua-devices.md#life: pause before a failed script is started again, doubling. */
  retryFirstMs: 10_000,
  retryMaxMs: 300_000,
  /**
   * Measured: a second thread takes 17 MiB, and 100 scripts that poll take a tenth of a processor. Those that share one are all
   * started again when one of them is stuck.
   */
  scriptsPerThread: 100,
  /** JavaScript memory of such a thread; the scripts' own memory is not in it. */
  threadHeapMib: 64,
  threadYoungHeapMib: 4,
  /** Source: docs/interface/lua-devices.md#limits. */
  scriptBytes: 64 * 1_048_576,
  /** Messages of one script; a device that measures ten times a second passes. */
  messagesPerSecond: 20,
  messageBurst: 100,
  /** One message of a script; a larger publication would cost the module its connection. */
  messageBytes: 131_072,
  /** More than a board with two adapters of eight lines has. */
  serialPorts: 32,
  /** Two boards of ten inputs, eight relays and four channels. */
  ioPorts: 64,
  /** Source: docs/interface/mqtt-devices.md#logs, as the gateway counts. */
  logsPerSecond: 20,
  logBurst: 200,
  /** Source: docs/interface/lua-devices.md#life: an error with the same text is logged once in this time. */
  sameErrorMs: 60_000,
  errorsRemembered: 200,
  /** Commands that wait for those before them; the gateway allows no more in flight. */
  commandsWaiting: 64,
  /** Pause before connecting to the gateway again, doubling; a gateway that starts is found within seconds. */
  reconnectFirstMs: 250,
  reconnectMaxMs: 5_000,
  /** Messages without an acknowledgement; then scripts get the error that nothing can be sent. */
  unacknowledged: 1_000,
  /** Responses and persistent log entries that wait for an acknowledgement. */
  keptBytes: 8 * 1_048_576,
  /** Those of one device after a loss; half of what the gateway takes, the other half is for new ones. */
  keptLogsPerSecond: 10,
  goodbyeMs: 1_000,
  /** Asking the local network for a name; hosts answer within milliseconds. */
  localNameMs: 3_000,
  /** The reason of a failure, for people. */
  reasonBytes: 4_096,
} as const;
