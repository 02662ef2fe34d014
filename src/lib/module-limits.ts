/** Limits of communication modules, a part of `LIMITS`; letters as there. */

/** Modbus and serial ports. */
export const FIELD_LIMITS = {
  /** C docs/interface/lua-devices.md#modbus: time limit of a request that names none; and G: the longest one granted. */
  requestMs: 1_000,
  requestMsMax: 60_000,
  /** G: requests waiting for one address or port; a batch of 100 queries fits twice. */
  queuedRequests: 256,
  /** G: connections to one address that a script may ask for; Modbus on TCP 4.2.1: a device takes 1 to 16 transactions. */
  connectionsMax: 8,
  /** G: one attempt to connect; a device on the same network answers within milliseconds. */
  connectMs: 3_000,
  /** G: pause after a failed attempt, doubling; the longest keeps the return of a device within 30 s. */
  reconnectFirstMs: 250,
  reconnectMaxMs: 10_000,
  /** G: addresses in use at once; a hundred scripts with a few devices each. */
  addresses: 512,
  /** G: silences in a row after which a unit is taken for switched off. */
  silentRequests: 3,
  /** C docs/interface/lua-devices.md#modbus. */
  idleMs: 60_000,
  /** G: the longest pause of a silent unit where others answer; it grows with each silence. */
  unitRestMsMax: 20_000,
  /** M: least time for an answer on a serial line where others answer; devices take 5 to 60 ms. */
  serialAnswerMinMs: 100,
  /** G: part of the time of a connection or line for silent units; the others keep their pace. */
  silencePercent: 5,
  /** G: silence on a serial line after noise, and before a unit that answers twice is asked. */
  lateAnswerMs: 100,
  twiceMs: 10_000,
  /** G: so long after a timeout on a serial line the answer may still come; and others may wait for it so long. */
  lateAnswerMsMax: 3_000,
  listenMsMax: 500,
  /** C Modbus over serial line 2.4.1: after a broadcast. */
  broadcastMs: 100,
  /** G: a serial server that sends nothing for so long, and does not answer, is dialled again; three requests fit in it. */
  serverSilenceMs: 3_000,
  /** C docs/interface/lua-devices.md#serial: received bytes that nobody has read; the oldest are dropped. */
  serialBufferBytes: 4_096,
  /** G: one raw write. */
  serialWriteBytes: 4_096,
  /** G: others wait so long for a script that has written to read the answer, and that has read to read the rest. */
  serialThinkMs: 1_000,
  serialRestMs: 100,
  /** G: a program of the system that reads or writes a port once; it ends within milliseconds. */
  programMs: 5_000,
  /** G: a scan for units: all of it, at once on all lines, and waiting for a line that a script keeps to itself. */
  scanMs: 600_000,
  scansAtOnce: 4,
  scanWaitMs: 10_000,
  /** G: units at which a device hangs up, in a row, before the scan gives up. */
  scanClosings: 3,
  /** G: an answer to a scan. Converters to serial lines take their time; on a line itself units take 5 to 60 ms. */
  scanAnswerMs: 1_000,
  scanSerialAnswerMs: 300,
  scanAnswerMsMax: 5_000,
  /** G: an hour; longer ones are up to the script. */
  impulseMsMax: 3_600_000,
  /** G: monitors and queues of one script, and the frames that they can hold together: 2 MiB. */
  canMailboxes: 64,
  canFramesKept: 16_384,
  /** G: of the older generation, which takes everything that comes: 4 s of a full bus at 125 kbit/s. */
  canRowFrames: 4_096,
} as const;

/** Scripts of a communication module, and its messages to and from the gateway. */
export const MODULE_LIMITS = {
  /** C docs/interface/lua-devices.md#limits. */
  scripts: 100,
  /** G: piece of a script in one message; in base64 it fits the payload of one publication. */
  chunkBytes: 131_072,
  /** C docs/interface/blueprints.md#archive: a compiled script; the facts about its blueprint are far smaller. */
  contentBytes: 2 * 1_048_576,
  /** C docs/interface/lua-devices.md#storage. */
  storageKeyBytes: 64,
  storageValueBytes: 65_536,
  storageBytes: 1_048_576,
  /** G: an answer of the gateway to a question of the module. */
  answerMs: 5_000,
  /** G: hello is repeated when nothing is assigned within this. */
  helloMs: 10_000,
  /** G: a module sends something each second; after so much silence another run may take its place. */
  silentRunMs: 10_000,
  /** G: how often assignments, which carry the time, are repeated. */
  assignAgainMs: 3_600_000,
  /** G: how far the clock of a module's board may be from the gateway's; a message may be under way for seconds. */
  clockMs: 30_000,
  /** G: before that is reported; meanwhile the gateway is asked, whose clock may have been set too. */
  clockDoubtMs: 10_000,
  /** C docs/interface/lua-devices.md#configuration: how long a script may think about a configuration. */
  verdictMs: 5_000,
  /** G: the same with the way to the module and back; then values go through. */
  configurationMs: 6_000,
  /** M: the built-in module starts within 2 s, on slow boards some more; and G: silence of a module that scans. */
  scanReadyMs: 30_000,
  scanSilenceMs: 90_000,
  /** C docs/interface/lua-devices.md#other-devices, and G: the longest wait for the command of another device. */
  peerMs: 1_000,
  peerMsMax: 60_000,
  /** C docs/interface/lua-devices.md#life: pause before a failed script is started again, doubling. */
  retryFirstMs: 10_000,
  retryMaxMs: 300_000,
  /**
   * M: a second thread takes 17 MiB, and 100 scripts that poll take a tenth of a processor. Those that share one are all
   * started again when one of them is stuck.
   */
  scriptsPerThread: 100,
  /** G: JavaScript memory of such a thread; the scripts' own memory is not in it. */
  threadHeapMib: 64,
  threadYoungHeapMib: 4,
  /** C docs/interface/lua-devices.md#limits. */
  scriptBytes: 64 * 1_048_576,
  /** G: messages of one script; a device that measures ten times a second passes. */
  messagesPerSecond: 20,
  messageBurst: 100,
  /** G: one message of a script; a larger publication would cost the module its connection. */
  messageBytes: 131_072,
  /** G: more than a board with two adapters of eight lines has. */
  serialPorts: 32,
  /** G: two boards of ten inputs, eight relays and four channels. */
  ioPorts: 64,
  /** C docs/interface/mqtt-devices.md#logs, as the gateway counts. */
  logsPerSecond: 20,
  logBurst: 200,
  /** C docs/interface/lua-devices.md#life: an error with the same text is logged once in this time. */
  sameErrorMs: 60_000,
  errorsRemembered: 200,
  /** G: commands that wait for those before them; the gateway allows no more in flight. */
  commandsWaiting: 64,
  /** G: pause before connecting to the gateway again, doubling; a gateway that starts is found within seconds. */
  reconnectFirstMs: 250,
  reconnectMaxMs: 5_000,
  /** G: messages without an acknowledgement; then scripts are told that nothing can be sent. */
  unacknowledged: 1_000,
  /** G: responses and persistent log entries that wait for an acknowledgement. */
  keptBytes: 8 * 1_048_576,
  /** G: those of one device after a loss; half of what the gateway takes, the other half is for new ones. */
  keptLogsPerSecond: 10,
  goodbyeMs: 1_000,
  /** G: asking the local network for a name; hosts answer within milliseconds. */
  localNameMs: 3_000,
  /** G: the reason of a failure, for people. */
  reasonBytes: 4_096,
} as const;
