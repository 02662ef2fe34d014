/**
 * What rules wait for: samples of attributes and changes of connectivity. When the sandbox does not read fast
 * enough, only the newest of each watch is kept for it. What can come no more is told in the rule's log.
 */
import type { EpochMs } from '../../lib/time.ts';
import type { LogSeverity } from '../../protocol/device-log.ts';
import type { ToSandbox } from '../../protocol/rule-sandbox.ts';
import type { JsonValue } from '../../protocol/telemetry.ts';
import type { Device, Devices } from '../devices/index.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { readableAttribute } from './methods.ts';

type Changed = ToSandbox & { type: 'changed' };

/** One of a script: `watchId` is its number within the run. */
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
  /** `deviceId attribute`, or `deviceId` for connectivity; undefined: the device has no such attribute now. */
  target: string | undefined;
}

interface WatchesOptions {
  devices: Pick<Devices, 'events' | 'manifest'>;
  telemetry: Pick<Telemetry, 'events'>;
  appendLog: (ruleId: string, severity: LogSeverity, message: string) => void;
  /** False: not taken now. */
  send: (message: Changed) => boolean;
}

export class Watches {
  readonly #options: WatchesOptions;
  readonly #entries = new Map<string, Entry>();
  /** Those of each target. */
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

  /** False: the device has no such attribute, or not for rules. */
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

  /** Ends all watches of one life of a script. */
  endRun(run: number): void {
    for (const { watch } of this.#entries.values()) if (watch.run === run) this.remove(watch);
  }

  /** The sandbox is gone, and its watches with it. */
  clear(): void {
    this.#entries.clear();
    this.#byTarget.clear();
    this.#kept.clear();
    this.#stopListening();
  }

  /** Sends what was kept back. */
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

  /** @param target undefined: it watches nothing any more */
  #setTarget(entry: Entry, target: string | undefined): void {
    const key = keyOf(entry.watch);
    const former = this.#byTarget.get(entry.target ?? '');
    if (former?.delete(key) && former.size === 0) this.#byTarget.delete(entry.target ?? '');
    entry.target = target;
    if (target === undefined) this.#kept.delete(key);
    else {
      const watches = this.#byTarget.get(target) ?? new Map<string, WatchKey>();
      this.#byTarget.set(target, watches.set(key, entry.watch));
      if (entry.watch.name !== undefined) this.#listen();
    }
    if (this.#byTarget.size === 0) this.#stopListening();
  }

  /** Another blueprint may call the attribute otherwise, or has none of that name. */
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

  /** Building the event costs the hot path something, so it is asked for only when somebody watches. */
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
