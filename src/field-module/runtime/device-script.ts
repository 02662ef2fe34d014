/** One script of a device: its libraries, its entry, its commands one after another, its callbacks. */
import { RepeatFilter } from '#scripting/host';
import { HTTP_LIBRARY, type HttpAnswer, type HttpExchange, httpFunctions } from '#scripting/http';
import {
  type HostFunction,
  type HostResult,
  type Library,
  type LuaFailure,
  LuaJson,
  type Script,
  type Scripts,
  textOf,
} from '#scripting/lua';
import { exactJson, parseExactJson } from '../../lib/json.ts';
import type { Limits } from '../../lib/limits.ts';
import { cutToBytes } from '../../lib/text.ts';
import type { DurationMs, EpochMs } from '../../lib/time.ts';
import { TokenBucket } from '../../lib/token-bucket.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { UdpSockets } from '../field/udp-port.ts';
import {
  type CallResult,
  canonicalValues,
  type ConfigurationGroups,
  type DeviceLogEntry,
  type FailureReason,
  noAnswer,
  type Question,
  type ScriptEvent,
  type ScriptOrder,
  type ScriptStart,
  type Surroundings,
  type ThreadCall,
} from '../thread-messages.ts';
import { httpText } from '../trace.ts';
import { canFunctions, canLibrary } from './can-library.ts';
import { type CommandQueue, createCommandQueue, withoutPosition } from './command-queue.ts';
import { CONFIGURATION_LIBRARY, configurationFunctions } from './configuration-library.ts';
import { enapterFunctions, enapterLibrary } from './enapter-library.ts';
import { ioFunctions, ioLibrary } from './io-library.ts';
import { modbusFunctions, modbusLibrary } from './modbus-library.ts';
import { MQTT_LIBRARY, mqttFunctions } from './mqtt-library.ts';
import { PEER_LIBRARY, peerFunctions, type ScriptHost } from './script-host.ts';
import { serialFunctions, serialLibrary } from './serial-library.ts';
import { SOCKET_LIBRARY, socketFunctions } from './socket-library.ts';
import { storageFunctions, storageLibrary } from './storage-library.ts';
import { UCM_MODULES } from './ucm-modules.ts';

interface DeviceScriptOptions {
  start: ScriptStart;
  scripts: Pick<Scripts, 'create'>;
  clock: Clock;
  limits: Limits;
  /** Shared by all scripts of the thread. */
  udpSockets: UdpSockets;
  surroundings: () => Surroundings;
  post: (event: ScriptEvent) => void;
  /** Carried out on the main thread. */
  call: (request: ThreadCall) => Promise<CallResult>;
}

/** Name of the compiled script in messages. */
const FILE = 'main.lua';
/** Source: docs/interface/lua-devices.md#life: the older generation waits longer for web services. */
const OLD_CALL_MS = 30_000;

export class DeviceScript {
  readonly #options: DeviceScriptOptions;
  /** True for a script of the older generation. */
  readonly #isOld: boolean;
  readonly #callMs: DurationMs;
  #groups: ConfigurationGroups;
  #isOver = false;
  #isRunning = false;
  /** Values of groups that the script accepted, until they are written. */
  readonly #agreed = new Map<string, string>();
  readonly #log: DeviceLog;
  readonly #commands: CommandQueue;
  readonly #script: Script;
  #closeSockets: () => void = () => undefined;

  constructor(options: DeviceScriptOptions) {
    const { start, clock, limits, surroundings, post } = options;
    this.#options = options;
    this.#isOld = start.facts.api === 'v1';
    this.#callMs = this.#isOld ? OLD_CALL_MS : limits.lua.callMs;
    this.#groups = start.groups;
    this.#log = createDeviceLog({
      clock,
      limits: limits.module,
      messageBytes: limits.deviceLogs.messageBytes,
      post: (entry) => post({ kind: 'log', ...entry }),
    });
    this.#commands = createCommandQueue({
      call: (...values) => this.#script.machine.call(...values),
      clock,
      callMs: this.#callMs,
      waitingMax: limits.module.commandsWaiting,
      waitMs: () => waitMsOf(surroundings().commandMs, this.#callMs),
      messageBytes: limits.module.messageBytes,
      post: (response) => post({ kind: 'response', ...response }),
      onFailure: (failure) => this.#failed(failure),
    });
    this.#script = this.#createScript();
    this.#begin().then(
      () => this.#enterRunning(),
      (failure: LuaFailure) => this.#end(failure),
    );
  }

  close(): void {
    this.#isOver = true;
    this.#script.close();
    this.#commands.close();
    this.#closeSockets();
  }

  take(order: ScriptOrder): void {
    if (order.kind === 'command') return this.#commands.add(order);
    if (order.kind === 'configuration') return this.#configure(order.groups, order.changed);
    const { question } = order;
    if (question.type === 'configuration_check') this.#check(question);
    else this.#read(question);
  }

  connectionChanged(isConnected: boolean): void {
    void this.#call('connection', [isConnected]);
  }

  async #call(entry: string, values: HostResult): Promise<void> {
    await this.#script.machine.call(entry, values, this.#callMs).catch((failure) => this.#failed(failure));
  }

  #configure(next: ConfigurationGroups, changed: readonly string[]): void {
    this.#groups = next;
    // The older generation has no such callbacks.
    if (this.#isOld) return;
    for (const name of changed) {
      const values = new LuaJson(exactJson(next[name] ?? {}));
      const isStored = this.#agreed.get(name) === canonicalValues(next[name]);
      this.#agreed.delete(name);
      void this.#call('configuration_changed', [name, values, isStored]);
    }
  }

  #check(question: Question & { type: 'configuration_check' }): void {
    const { group, values } = question;
    const { verdictMs } = this.#options.limits.module;
    if (this.#isOld) return this.#answer(question);
    const table = new LuaJson(exactJson(values));
    this.#script.machine.call('configuration_check', [group, table], verdictMs).then(
      ([refusal]) => {
        const text = textOf(refusal);
        if (text !== undefined) return this.#refuse(question, text);
        this.#agreed.set(group, canonicalValues(values));
        this.#answer(question);
      },
      (failure: LuaFailure) => {
        this.#failed(failure);
        this.#refuse(question, withoutPosition(failure.message));
      },
    );
  }

  #read(question: Question): void {
    const { verdictMs } = this.#options.limits.module;
    this.#script.machine.call('configuration_read', [question.group], verdictMs).then(
      ([values]) => this.#answer(question, values instanceof LuaJson ? tableOf(values) : {}),
      (failure: LuaFailure) => {
        this.#failed(failure);
        this.#answer(question);
      },
    );
  }

  /** With as much of the text as the gateway takes. */
  #refuse(question: Question, text: string): void {
    this.#answer(question, { refusal: cutToBytes(text, this.#options.limits.module.reasonBytes) });
  }

  #answer(question: Question, members: { refusal?: string; values?: Record<string, unknown> } = {}): void {
    this.#options.post({ kind: 'answer', answer: { ...noAnswer(question), ...members } });
  }

  /** A failed call does not end the script, unless its machine is gone. */
  #failed(failure: LuaFailure): void {
    if (this.#isOver || failure.reason === 'stopped') return;
    if (failure.reason === 'memory' || this.#script.machine.failure) return this.#end(failure);
    this.#log.error(failure.text);
  }

  #end(failure: LuaFailure): void {
    if (this.#isOver) return;
    this.close();
    const reason: FailureReason = failure.reason === 'stopped' ? 'error' : failure.reason;
    this.#options.post({ kind: 'failed', reason, message: failure.text });
  }

  /** The entry may wait as long as it likes; after the time limit of a call the script counts as running. */
  async #begin(): Promise<void> {
    const timer = this.#options.clock.setTimer(this.#callMs, () => this.#enterRunning());
    try {
      await this.#script.run(this.#options.start.script, FILE);
      await this.#script.machine.call('main');
    } finally {
      timer.cancel();
    }
  }

  #enterRunning(): void {
    if (this.#isOver || this.#isRunning) return;
    this.#isRunning = true;
    this.#options.post({ kind: 'running' });
    this.#commands.open();
  }

  /** The script with everything it may call. */
  #createScript(): Script {
    const { start, scripts, clock, limits, surroundings, udpSockets } = this.#options;
    const log = this.#log;
    const host = this.#createHost();
    const sockets = socketFunctions(host, { clock, limits: limits.lua.sockets, udpSockets });
    this.#closeSockets = sockets.close;
    return scripts.create({
      kind: start.facts.api,
      memoryBytes: limits.module.scriptBytes,
      libraries: librariesOf(this.#isOld),
      functions: {
        ...functionsOf(host, limits.field),
        ...sockets.functions,
        ...httpFunctions({
          clock,
          limits: limits.lua,
          onExchange: (request, given, times) => noteHttp(host, request, given, times),
        }),
      },
      modules: (name) => {
        const source = UCM_MODULES.get(name);
        return source === undefined ? undefined : { source: Buffer.from(source), file: `${name}.lua` };
      },
      print: (message) => log.write({ message, severity: 'debug', persist: false }),
      warn: (message) => log.write({ message, severity: 'warning', persist: false }),
      overlaps: !this.#isOld,
      callMs: this.#callMs,
      timeZone: () => surroundings().timeZone,
      onJobFailure: (failure) => this.#failed(failure),
      onSettled: () => undefined,
      onPaused: () => log.error('the script takes too much of the processor and pauses again and again'),
      onFault: (name, error) => log.error(`internal fault of ${name}: ${String(error)}`),
    });
  }

  #createHost(): ScriptHost {
    const { start, clock, limits, surroundings, post, call } = this.#options;
    const { messagesPerSecond, messageBurst, messageBytes } = limits.module;
    const messages = new TokenBucket(messagesPerSecond, messageBurst, clock.monotonicMs());
    return {
      channelId: start.channelId,
      facts: start.facts,
      groups: () => this.#groups,
      surroundings,
      ports: new Map(Object.entries(start.ports)),
      ioPorts: new Map(Object.entries(start.ioPorts)),
      messageBytes,
      epochS: () => Math.floor(clock.wallMs() / 1_000),
      call: (request, deadlineMs) =>
        call(
          deadlineMs === undefined ? request : { ...request, remainingMs: deadlineMs - clock.monotonicMs() },
        ),
      run: (entry, values) => this.#call(entry, values),
      publish: (subject, text) => {
        if (!messages.take(clock.monotonicMs())) return false;
        post({ kind: 'publish', subject, text });
        return true;
      },
      log: this.#log.write,
      trace: () =>
        surroundings().traced.includes(start.channelId)
          ? (exchange) => post({ kind: 'exchange', exchange })
          : undefined,
      reads: (groups) => post({ kind: 'reads', groups }),
      respond: (...response) => this.#commands.respond(...response),
    };
  }
}

/** Notes an HTTP request and its answer; a text is why there is none. */
function noteHttp(
  host: ScriptHost,
  request: HttpExchange,
  answer: HttpAnswer | string,
  { atMs, durationMs }: { atMs: EpochMs; durationMs: DurationMs },
): void {
  const { method, url, headers, body } = request;
  host.trace()?.({
    transport: 'http',
    address: url,
    atMs,
    durationMs,
    sent: httpText(`${method} ${url}`, headers, body),
    ...(typeof answer === 'string'
      ? { error: answer }
      : { received: httpText(String(answer.code), answer.headers, answer.body) }),
  });
}

/** A command that begins by then ends in time; where no call can, half of the time is allowed. */
function waitMsOf(commandMs: DurationMs, callMs: DurationMs): number {
  return Math.max(commandMs - callMs, commandMs / 2);
}

function functionsOf(host: ScriptHost, limits: Limits['field']): Record<string, HostFunction> {
  return {
    ...enapterFunctions(host),
    ...configurationFunctions(host),
    ...storageFunctions(host),
    ...modbusFunctions(host),
    ...serialFunctions(host),
    ...canFunctions(host, limits),
    ...ioFunctions(host),
    ...peerFunctions(host),
    ...mqttFunctions(host),
  };
}

function librariesOf(isOld: boolean): Library[] {
  return [
    enapterLibrary(isOld),
    ...(isOld ? [] : [CONFIGURATION_LIBRARY]),
    storageLibrary(isOld),
    modbusLibrary(isOld),
    serialLibrary(isOld),
    canLibrary(isOld),
    ioLibrary(isOld),
    ...(isOld ? [] : [ABSENT_LIBRARIES]),
    PEER_LIBRARY,
    HTTP_LIBRARY,
    MQTT_LIBRARY,
    SOCKET_LIBRARY,
  ];
}

/** A list is no table of parameters, unless it is empty. */
function tableOf({ text }: LuaJson): { values?: Record<string, unknown> } {
  return text.startsWith('{') ? { values: parseExactJson(text) as Record<string, unknown> } : {};
}

// Libraries of hardware that no module of software has: they are there and refuse
// (docs/interface/lua-devices.md#absent-libraries).

const SOURCE = String.raw`
local analogout = kit.library('analogout', {})
function analogout.new() return nil, 'analogout is not supported by this module' end

local led = kit.library('led', {})
for _, name in ipairs({ 'on', 'off', 'blink' }) do
  led[name] = function() return 'led is not supported by this module' end
end
`;

const ABSENT_LIBRARIES: Library = { name: 'absent', source: SOURCE };

// The log of one device, bounded where a flood costs least.

type DeviceLog = ReturnType<typeof createDeviceLog>;

const SUMMARY_AFTER_MS = 1_000;

export function createDeviceLog(options: {
  clock: Clock;
  limits: Limits['module'];
  /** Size limit of one entry; longer ones are cut, as the gateway would do. */
  messageBytes: number;
  post: (entry: DeviceLogEntry) => void;
}) {
  const { clock, limits, post } = options;
  const bucket = new TokenBucket(limits.logsPerSecond, limits.logBurst, clock.monotonicMs());
  const errors = new RepeatFilter({ intervalMs: limits.sameErrorMs, most: limits.errorsRemembered });
  let dropped = 0;
  let summary: Timer | undefined;

  function tellDropped(): void {
    summary?.cancel();
    summary = undefined;
    if (dropped === 0) return;
    const message = `${dropped} log entries were dropped, because there were too many`;
    dropped = 0;
    post({ message, severity: 'warning', persist: false });
  }

  /** Dropped entries are reported before the next entry that passes, or a while later. */
  function write(entry: DeviceLogEntry): void {
    if (!bucket.take(clock.monotonicMs())) {
      dropped += 1;
      summary ??= clock.setTimer(SUMMARY_AFTER_MS, tellDropped);
      return;
    }
    tellDropped();
    post({ ...entry, message: cutToBytes(entry.message, options.messageBytes) });
  }

  return {
    write,
    /** An error of the script; the same text at most once a minute. */
    error: (message: string) => {
      const text = cutToBytes(message, options.messageBytes);
      if (errors.isNews(text, clock.monotonicMs()))
        write({ message: text, severity: 'error', persist: false });
    },
  };
}
