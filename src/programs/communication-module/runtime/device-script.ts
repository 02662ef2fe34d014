/** One script of a device: its libraries, its entry, its commands one after another, its callbacks. */
import type { Limits } from '../../../lib/limits.ts';
import { TokenBucket } from '../../../lib/token-bucket.ts';
import {
  type HostFunction,
  type Library,
  type LuaFailure,
  LuaJson,
  type Script,
  type Scripts,
  textOf,
} from '../../../lua/index.ts';
import type { Clock } from '../../../platform/clock/index.ts';
import type {
  CallResult,
  ConfigurationGroups,
  FailureReason,
  ScriptEvent,
  ScriptStart,
  Surroundings,
  ThreadCall,
} from '../thread-messages.ts';
import { canonicalValues } from '../configuration-values.ts';
import { absentLibraries } from './absent-libraries.ts';
import { createCommandQueue, withoutPosition } from './command-queue.ts';
import { CONFIGURATION_LIBRARY, configurationFunctions } from './configuration-library.ts';
import { createDeviceLog, type DeviceLog } from './device-log.ts';
import { enapterFunctions, enapterLibrary } from './enapter-library.ts';
import { HTTP_LIBRARY, httpFunctions } from '../../script-http/index.ts';
import { modbusFunctions, modbusLibrary } from './modbus-library.ts';
import { PEER_LIBRARY, peerFunctions } from './peer-library.ts';
import type { ScriptHost } from './script-host.ts';
import { serialFunctions, serialLibrary } from './serial-library.ts';
import { storageFunctions, storageLibrary } from './storage-library.ts';
import { UCM_MODULES } from './ucm-modules.ts';

export interface DeviceScriptOptions {
  start: ScriptStart;
  scripts: Pick<Scripts, 'create'>;
  clock: Clock;
  limits: Limits;
  surroundings: () => Surroundings;
  ports: ReadonlyMap<string, string>;
  post: (event: ScriptEvent) => void;
  /** Carried out on the main thread. */
  call: (request: ThreadCall) => Promise<CallResult>;
}

export interface DeviceScript {
  command(id: string, name: string, argumentsText: string): void;
  configure(groups: ConfigurationGroups, changed: readonly string[]): void;
  check(id: string, group: string, values: Record<string, unknown>): void;
  read(id: string, group: string): void;
  connectionChanged(isConnected: boolean): void;
  close(): void;
}

/** Name of the compiled script in messages. */
const FILE = 'main.lua';
/** C docs/interface/lua-devices.md#life: the older generation waits longer for web services. */
const OLD_CALL_MS = 30_000;

export function startDeviceScript(options: DeviceScriptOptions): DeviceScript {
  const { start, clock, limits, post } = options;
  const callMs = start.facts.api === 'v1' ? OLD_CALL_MS : limits.lua.callMs;
  let groups = start.groups;
  let isOver = false;
  /** Values of groups that the script had nothing against, until they are written. */
  const agreed = new Map<string, string>();
  const log = createDeviceLog({
    clock,
    limits: limits.module,
    messageBytes: limits.deviceLogs.messageBytes,
    post: (entry) => post({ kind: 'log', ...entry }),
  });
  const commands = createCommandQueue({
    call: (...values) => script.machine.call(...values),
    callMs,
    waitingMax: limits.module.commandsWaiting,
    messageBytes: limits.module.messageBytes,
    post: (text) => post({ kind: 'response', text }),
    onFailure: failed,
  });
  const script = createScript(options, {
    log,
    groups: () => groups,
    respond: (...response) => commands.respond(...response),
    onJobFailure: failed,
  });

  /** A call ended badly: the script goes on, unless its machine is gone. */
  function failed(failure: LuaFailure): void {
    if (isOver || failure.reason === 'stopped') return;
    if (failure.reason === 'memory') return end(failure);
    log.error(describe(failure));
  }

  function end(failure: LuaFailure): void {
    if (isOver) return;
    close();
    const reason: FailureReason = failure.reason === 'stopped' ? 'error' : failure.reason;
    post({ kind: 'failed', reason, message: describe(failure) });
  }

  function close(): void {
    isOver = true;
    script.close();
    commands.close();
  }

  async function begin(): Promise<void> {
    await script.run(start.script, FILE, callMs);
    await script.machine.call('main', [], callMs);
  }

  begin().then(
    () => {
      if (!isOver) post({ kind: 'running' });
    },
    (failure: LuaFailure) => end(failure),
  );

  return {
    command: (id, name, argumentsText) => commands.add(id, name, argumentsText),
    configure: (next, changed) => {
      groups = next;
      // The older generation has no such callbacks.
      if (start.facts.api === 'v1') return;
      for (const name of changed) {
        const values = new LuaJson(JSON.stringify(next[name] ?? {}));
        const isStored = agreed.get(name) === canonicalValues(next[name]);
        agreed.delete(name);
        script.machine.call('configuration_changed', [name, values, isStored], callMs).catch(failed);
      }
    },
    check: (id, group, values) => {
      if (start.facts.api === 'v1') return post({ kind: 'verdict', id });
      const table = new LuaJson(JSON.stringify(values));
      script.machine.call('configuration_check', [group, table], limits.module.verdictMs).then(
        ([refusal]) => {
          const text = textOf(refusal);
          if (text === undefined) agreed.set(group, canonicalValues(values));
          post({ kind: 'verdict', id, ...(text === undefined ? {} : { refusal: text }) });
        },
        (failure: LuaFailure) => {
          failed(failure);
          post({ kind: 'verdict', id, refusal: withoutPosition(failure.message) });
        },
      );
    },
    read: (id, group) => {
      script.machine.call('configuration_read', [group], limits.module.verdictMs).then(
        ([values]) => post({ kind: 'values', id, ...(values instanceof LuaJson && tableOf(values)) }),
        (failure: LuaFailure) => {
          failed(failure);
          post({ kind: 'values', id });
        },
      );
    },
    connectionChanged: (isConnected) =>
      void script.machine.call('connection', [isConnected], callMs).catch(failed),
    close,
  };
}

/** The script with everything it may call. */
function createScript(
  options: DeviceScriptOptions,
  parts: {
    log: DeviceLog;
    groups: () => ConfigurationGroups;
    respond: ScriptHost['respond'];
    onJobFailure: (failure: LuaFailure) => void;
  },
): Script {
  const { start, clock, limits, post } = options;
  const { log } = parts;
  const { messagesPerSecond, messageBurst } = limits.module;
  const messages = new TokenBucket(messagesPerSecond, messageBurst, clock.monotonicMs());
  const host: ScriptHost = {
    channelId: start.channelId,
    facts: start.facts,
    get groups() {
      return parts.groups();
    },
    get surroundings() {
      return options.surroundings();
    },
    ports: options.ports,
    messageBytes: limits.module.messageBytes,
    epochS: () => Math.floor(clock.wallMs() / 1_000),
    call: options.call,
    publish: (subject, text) => {
      if (!messages.take(clock.monotonicMs())) return false;
      post({ kind: 'publish', subject, text });
      return true;
    },
    log: log.write,
    reads: (names) => post({ kind: 'reads', groups: names }),
    respond: parts.respond,
  };
  const isOld = start.facts.api === 'v1';
  return options.scripts.create({
    kind: start.facts.api,
    memoryBytes: limits.module.scriptBytes,
    libraries: librariesOf(isOld),
    functions: { ...functionsOf(host), ...httpFunctions({ clock, limits: limits.lua }) },
    modules: (name) => {
      const source = UCM_MODULES.get(name);
      return source === undefined ? undefined : { source: Buffer.from(source), file: `${name}.lua` };
    },
    print: (message) => log.write({ message, severity: 'debug', persist: false }),
    overlaps: !isOld,
    timeZone: () => options.surroundings().timeZone,
    onJobFailure: parts.onJobFailure,
    onSettled: () => undefined,
    onPaused: (durationMs) =>
      log.error(`the script takes too much of the processor and pauses for ${Math.round(durationMs)} ms`),
    onFault: (name, error) => log.error(`internal fault of ${name}: ${String(error)}`),
  });
}

function functionsOf(host: ScriptHost): Record<string, HostFunction> {
  return {
    ...enapterFunctions(host),
    ...configurationFunctions(host),
    ...storageFunctions(host),
    ...modbusFunctions(host),
    ...serialFunctions(host),
    ...peerFunctions(host),
  };
}

function librariesOf(isOld: boolean): Library[] {
  return [
    enapterLibrary(isOld),
    ...(isOld ? [] : [CONFIGURATION_LIBRARY]),
    storageLibrary(isOld),
    modbusLibrary(isOld),
    serialLibrary(isOld),
    absentLibraries(isOld),
    PEER_LIBRARY,
    HTTP_LIBRARY,
  ];
}

/** A list is no table of parameters, unless it is empty. */
function tableOf({ text }: LuaJson): { values?: Record<string, unknown> } {
  return text.startsWith('{') ? { values: JSON.parse(text) as Record<string, unknown> } : {};
}

function describe(failure: LuaFailure): string {
  if (failure.traceback.length === 0) return failure.message;
  return [failure.message, 'stack traceback:', ...failure.traceback.map((line) => `\t${line}`)].join('\n');
}
