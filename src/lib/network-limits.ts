/** Bounds of everything that arrives over the network, a part of `LIMITS`; letters as there: C contract, M measured, G guess. */
export const NETWORK_LIMITS = {
  mqttGuests: {
    /** Accounts of devices of other makers; a bridge or a zigbee2mqtt stands for many devices. */
    guests: 100,
    topics: 50,
    /** Announcements of all accounts; a zigbee2mqtt with a hundred devices has some thousand. */
    announcements: 10_000,
    /** The largest announcements, of whole devices, have some ten kilobytes. */
    announcementBytes: 65_536,
    /** Entities of one announced device. */
    entities: 300,
    /** Announcements of one device come one by one. */
    settleMs: 3_000,
  },
  http: {
    /** Source: docs/interface/http.md#requests: JSON body. */
    jsonBodyBytes: 1_048_576,
    /** Source: docs/interface/http.md#blueprints-and-profiles: compressed archive. */
    zipBodyBytes: 20 * 1_048_576,
    /**
     * Source: docs/interface/http.md#requests: request line and headers together; latest values of 100 devices are asked
     * for in the query.
     */
    headerBytes: 65_536,
    /** A client that needs longer to send its headers is not one of ours (slowloris). */
    headersTimeoutMs: 10_000,
    /** Whole request including its body. */
    requestTimeoutMs: 60_000,
    /** A request that sent so much in that time gets the same time again, for a package or backup over a slow network. */
    requestProgressBytes: 262_144,
    keepAliveTimeoutMs: 65_000,
    /** How often these times are checked; a slow request lives so much longer at most. */
    timeoutCheckIntervalMs: 2_000,
    /** A connection on which nothing moves, not even the blanks of a waiting command call, is closed. */
    silenceTimeoutMs: 120_000,
    /** Sockets in all; far above what one site needs, far below the file limit. */
    connections: 1_000,
    /** Sockets of one remote address, so that one machine cannot take them all. */
    connectionsPerAddress: 400,
    /** Sockets that one token keeps when there is no room; the others give way like those without a token. */
    connectionsPerIdentity: 200,
    /** Connections from one address; a program that opens a connection for each request stays far below. */
    connectsPerSecond: 200,
    connectBurst: 2_000,
    /** Nesting of a JSON body; code that walks deeper ones would overflow its stack. */
    jsonDepth: 64,
    /** Source: docs/interface/http.md#rates: requests per second and token, and its burst. */
    requestsPerSecond: 50,
    requestBurst: 200,
    /** Requests per second and address of callers without a token, and their burst: a page with its files. */
    unauthenticatedPerSecond: 100,
    unauthenticatedBurst: 400,
    /** Requests that one connection sends ahead; more than any client does, few enough to forget. */
    pipelinedRequests: 32,
    /** A connection that sent more ahead counts as so many connections of its address. */
    connectsPerPipeline: 20,
    /** Source: docs/interface/http.md#rates: failed authentications per minute and address. */
    failedAuthenticationsPerMinute: 20,
    /** Source: docs/interface/http.md#rates: anonymous Validate per minute and address. */
    anonymousValidatePerMinute: 10,
    /** Anonymous reads of the API description per minute and address; a person reloads a page less often. */
    anonymousDescriptionPerMinute: 120,
    /** Source: docs/interface/http.md#lists: page size, default and maximum. */
    pageItems: 1_000,
    /** Source: docs/interface/http.md. */
    tokenLength: 512,
    nameLength: 255,
    requestIdLength: 128,
    /** Entries of one refusal; a caller with more mistakes corrects these first. */
    problems: 50,
  },
  webSocket: {
    /** Source: docs/interface/http.md#streams. */
    connections: 200,
    /** Connections that one identity keeps when all places are taken; further ones give way to others. */
    connectionsPerIdentity: 100,
    /** Connections of one token among several of a person; part of the above. */
    connectionsPerToken: 50,
    /** The same for one remote address. */
    connectionsPerAddress: 150,
    /** Source: docs/interface/http.md#streams: frame from a client. */
    inboundFrameBytes: 65_536,
    /** Source: docs/interface/http.md#streams: queued for a slow reader before 1013. */
    queuedBytes: 1_048_576,
    pingIntervalMs: 30_000,
    missedPongs: 2,
    /** A peer that does not answer our close frame has this long before its socket is destroyed. */
    closeTimeoutMs: 2_000,
  },
  tls: {
    /** Time until a new address of the gateway is in its certificates. */
    checkIntervalMs: 300_000,
    /** One maker of browsers refuses server certificates of more than 825 days, of private authorities too. */
    webValidityMs: 820 * 86_400_000,
    /** Renewed so long before its end; a gateway that is off for half a year starts with a valid one. */
    webRenewalMs: 200 * 86_400_000,
    /** For clocks of other machines that are a little late. */
    webBackdatingMs: 86_400_000,
    /** An operator's certificate is warned of so long before its end; most are renewed a month before. */
    operatorWarningMs: 14 * 86_400_000,
  },
  mdns: {
    /** RFC 6762 section 17. */
    packetBytes: 9_000,
    /** Packets of one network, so that a flood costs no more. */
    packetsPerSecond: 50,
    packetBurst: 200,
    /** Networks of one machine; more are bridges of containers. */
    networks: 8,
    /** RFC 6762 section 8.1: so many conflicts, then a pause before each further name. */
    conflictsAtOnce: 15,
    conflictPauseMs: 5_000,
    /** How soon a new network is noticed. */
    lookMs: 10_000,
    /** How often it is logged that a network cannot be joined. */
    sameWarningMs: 3_600_000,
  },
  /** Connections to brokers of others. */
  mqttClient: {
    /** Largest packet that a broker may send; a request of a target has at most a quarter. */
    packetMaxBytes: 262_144,
    /** Packets of one connection that answer nothing; a broker in order sends none. */
    unaskedMax: 16,
    /** Messages that are handled before everything else gets its turn. */
    messagesAtOnce: 32,
  },
  mqtt: {
    /** Source: docs/interface/mqtt-devices.md#limits. */
    payloadBytes: 262_144,
    topicBytes: 256,
    topicLevels: 10,
    sessionsPerIdentity: 8,
    sessions: 2_000,
    subscriptionsPerSession: 32,
    failedLoginsPerMinute: 20,
    /** How long the answer to a failed login waits once the address is past its limit. */
    failedLoginDelayMs: 5_000,
    /** Source: docs/interface/mqtt-devices.md#limits; options of these names replace the two. */
    messagesPerSecond: 100,
    messageBurst: 500,
    /** A message that is larger or takes longer counts as several of this size or time. */
    countedBytes: 10_240,
    countedWorkMs: 2,
    /** Work for clients in one turn of the event loop, and for one identity of them. */
    turnWorkMs: 10,
    sliceWorkMs: 2,
    /** Packet = payload + topic + fixed parts. */
    packetBytes: 262_144 + 1_024,
    /** Every other packet; a SUBSCRIBE with the longest filters that may be granted fits in. */
    requestPacketBytes: 16_384,
    /** CONNECT carries client id, will and credentials; will payload is bounded by this too. */
    connectPacketBytes: 16_384,
    /** A socket that does not send CONNECT in this time is closed. */
    connectTimeoutMs: 10_000,
    /** Source: docs/interface/mqtt-devices.md#broker: used when the client asks for keepalive 0. */
    keepAliveDefaultS: 300,
    /** Bytes queued towards one client before it is cut off as too slow. */
    outboundQueuedBytes: 1_048_576,
    /** Open sockets per remote address; communication modules share one address. */
    connectionsPerAddress: 1_000,
    /** Sockets in all, before login too: every session plus room for those still logging in. */
    connections: 2_500,
    /** Required: 100 known devices a second are not refused; twice that, in case all are behind one address. */
    connectsPerSecond: 200,
    /** All connections of one address after a power cut, with a second attempt of each. */
    connectBurst: 2_000,
    /** Messages of one connection handed over and not yet acknowledged; then its socket is not read. */
    inFlightMessages: 1_000,
    /** Payload bytes of these, a few of the largest messages; and of all connections. Memory is two to three times as much. */
    inFlightBytes: 1_048_576,
    inFlightBytesInAll: 4 * 1_048_576,
    /** A message so soon after the last acknowledgement has waited for it; so often in a row is no chance. */
    awaitedMs: 100,
    awaitedInRow: 2,
    /** Largest number in a row, reached after repeated false guesses: a minute at one message a second. */
    awaitedInRowMax: 64,
    /** A client that sends every second does not wait, although its acknowledgement arrives just before. */
    steadyMs: 970,
    /** A client that was silent for so long sends rarely; so many of them in `rareWindowMs` are acknowledged at once. */
    rareMs: 400,
    rareSenders: 4,
    /** Longer than a second, for clients that all send at the same moment of each second. */
    rareWindowMs: 1_500,
    /** Deliveries at QoS 1 without acknowledgement before a client is cut off. */
    unacknowledgedDeliveries: 1_000,
    /** Payload bytes of the same; they are kept for its return. */
    unacknowledgedBytes: 1_048_576,
    /** Retained messages of devices of other makers, a few for each of them; in memory. */
    retainedMessages: 2_000,
    retainedBytes: 4 * 1_048_576,
    /** Sessions with CleanSession 0 remembered per identity while away; the oldest is forgotten. */
    keptSessionsPerIdentity: 8,
    /** Time for a connection that ends to take its last bytes. */
    closeTimeoutMs: 1_000,
    /** At stop, the wait for pending acknowledgements; leaves most of `stop.totalMs` to the others. */
    stopTimeoutMs: 3_000,
  },
  /** The search for devices on request. */
  deviceSearch: {
    /** Hosts of one search; four networks of 254. */
    hosts: 1_024,
    /** A larger network of the gateway is searched around the gateway's own address. */
    narrowPrefix: 24,
    /** On one network a host takes a connection within milliseconds; small devices that sleep need some more. */
    connectMs: 800,
    connectsAtOnce: 128,
    /** With a line most of the scans that go on at once; a person can test a connection beside the search. */
    modbusAtOnce: 2,
    linesAtOnce: 1,
    httpAtOnce: 8,
    httpAnswerMs: 2_000,
    httpAnswerBytes: 65_536,
    /** One address that a person waits for, as long as templates wait by default. */
    httpReadMs: 5_000,
    /** Collecting answers to multicast DNS, and how many. */
    browseMs: 3_000,
    services: 500,
    /** Units on a serial line, from 1 on. */
    lineUnits: 10,
    /** Messages about the progress through the network. */
    progressSteps: 50,
    /** All of it. */
    searchMs: 600_000,
  },
} as const;
