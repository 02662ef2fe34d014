/**
 * Watches of rules: samples of attributes and changes of connectivity. When the sandbox does not read fast
 * enough, only the newest value of each watch is kept. A watch that can never fire again is named in the rule's log.
 */
import type { EpochMs } from '../../lib/time.ts';
import type { LogSeverity } from '../../protocol/device-log.ts';
import type { ToSandbox } from '../../protocol/rule-sandbox.ts';
import type { JsonValue } from '../../protocol/telemetry.ts';
import type { Device, Devices } from '../devices/index.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { readableAttribute } from './methods.ts';

type Changed = ToSandbox & { type: 'changed' };

/** Key of a watch: `watchId` is its number within the run of a script. */
interface WatchKey {
  run: number;
  watchId: number;
}

interface Watch extends WatchKey {
  ruleId: string;
  deviceId: string;
  /** Name or alias of the attribute, as the script has it; undefined: connectivity. */
  name: string | undefined;
}

interface Entry {
  watch: Watch;
  /** `deviceId attribute`, or `deviceId` for connectivity; undefined when the device has no such attribute now. */
  target: string | undefined;
}

interface WatchesOptions {
  devices: Pick<Devices, 'events' | 'manifest'>;
  telemetry: Pick<Telemetry, 'events'>;
  appendLog: (ruleId: string, severity: LogSeverity, message: string) => void;
  /** False when there is no room now. */
  send: (message: Changed) => boolean;
}

export class Watches {
  readonly #options: WatchesOptions;
  readonly #entries = new Map<string, Entry>();
  /** Watches by target. */
  readonly #byTarget = new Map<string, Map<string, WatchKey>>();
  readonly #kept = new Map<string, Changed>();
  readonly #unsubscribe: (() => void)[];
  #stopTelemetry: (() => void) | undefined;

  constructor(options: WatchesOptions) {
    this.#options = options;
    const { events } = options.devices;
    const owner = 'rules';
    this.#unsubscribe = [
      events.on('connectivity_changed', owner, ({ device, status, atMs }) => {
        if (this.#byTarget.size > 0) this.#tell(device.id, status === 'ONLINE', atMs);
      }),
      events.on('blueprint_assigned', owner, ({ device }) => this.#blueprintAssigned(device)),
      events.on('device_deleted', owner, ({ device }) => this.#deviceDeleted(device)),
    ];
  }

  /** False when the device has no such attribute, or rules may not read it. */
  add(watch: Watch, device: Device): boolean {
    const target = this.#targetOf(watch, device);
    if (target === undefined) return false;
    const entry = { watch, target };
    this.#entries.set(keyOf(watch), entry);
    this.#setTarget(entry, target);
    return true;
  }

  remove(watch: WatchKey): void {
    const key = keyOf(watch);
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    if (entry) this.#setTarget(entry, undefined);
  }

  /** Ends all watches of one run of a script. */
  endRun(run: number): void {
    for (const { watch } of this.#entries.values()) if (watch.run === run) this.remove(watch);
  }

  /** The sandbox ended, and its watches with it. */
  clear(): void {
    this.#entries.clear();
    this.#byTarget.clear();
    this.#kept.clear();
    this.#stopListening();
  }

  /** Sends the values that were kept back. */
  flush(): void {
    for (const [key, message] of this.#kept) {
      if (!this.#options.send(message)) return;
      this.#kept.delete(key);
    }
  }

  stop(): void {
    for (const end of this.#unsubscribe) end();
    this.#stopListening();
  }

  #targetOf({ name }: Watch, device: Device): string | undefined {
    if (name === undefined) return device.id;
    const attribute = readableAttribute(this.#options.devices.manifest(device), name);
    return attribute && `${device.id} ${attribute}`;
  }

  /** @param target undefined when the watch matches nothing any more */
  #setTarget(entry: Entry, target: string | undefined): void {
    const key = keyOf(entry.watch);
    const former = this.#byTarget.get(entry.target ?? '');
    if (former?.delete(key) && former.size === 0) this.#byTarget.delete(entry.target ?? '');
    entry.target = target;
    if (target === undefined) this.#kept.delete(key);
    else {
      this.#byTarget.getOrInsertComputed(target, () => new Map()).set(key, entry.watch);
      if (entry.watch.name !== undefined) this.#listen();
    }
    if (this.#byTarget.size === 0) this.#stopListening();
  }

  /** Another blueprint may declare the name as an alias of another attribute, or not at all. */
  #blueprintAssigned(device: Device): void {
    for (const entry of this.#entries.values()) {
      const { watch, target: former } = entry;
      if (watch.deviceId !== device.id) continue;
      const target = this.#targetOf(watch, device);
      if (target === former) continue;
      this.#setTarget(entry, target);
      if (target === undefined)
        this.#log(watch, device, 'warning', 'waits in vain: its blueprint has no such attribute now');
      else if (former === undefined)
        this.#log(watch, device, 'info', 'goes on: its blueprint has the attribute');
    }
  }

  #deviceDeleted(device: Device): void {
    for (const { watch } of this.#entries.values()) {
      if (watch.deviceId !== device.id) continue;
      this.remove(watch);
      this.#log(watch, device, 'warning', 'waits in vain: the device was deleted');
    }
  }

  #log({ ruleId, name }: Watch, { slug }: Device, severity: LogSeverity, what: string): void {
    const called = name === undefined ? 'on_online_changed' : `on_update of "${name}"`;
    this.#options.appendLog(ruleId, severity, `${called} of device "${slug}" ${what}`);
  }

  #tell(target: string, value: JsonValue, timestampMs: EpochMs): void {
    for (const [key, { run, watchId }] of this.#byTarget.get(target) ?? []) {
      const message: Changed = { type: 'changed', run, watchId, value, timestampMs };
      if (this.#kept.has(key) || !this.#options.send(message)) this.#kept.set(key, message);
    }
  }

  /** Subscribes only while a watch needs it, because building the event costs time in the intake of telemetry. */
  #listen(): void {
    this.#stopTelemetry ??= this.#options.telemetry.events.on(
      'telemetry_received',
      'rules',
      ({ device, timestampS, values }) => {
        for (const [name, { value, isLatest }] of values)
          if (isLatest) this.#tell(`${device.id} ${name}`, value, timestampS * 1_000);
      },
    );
  }

  #stopListening(): void {
    this.#stopTelemetry?.();
    this.#stopTelemetry = undefined;
  }
}

function keyOf({ run, watchId }: WatchKey): string {
  return `${run} ${watchId}`;
}
