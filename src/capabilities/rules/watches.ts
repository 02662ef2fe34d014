/**
 * What rules wait for: samples of attributes and changes of connectivity. When the sandbox does not read fast
 * enough, only the newest of each watch is kept for it.
 */
import type { ToSandbox } from '../../protocol/rule-sandbox.ts';
import type { JsonValue } from '../../protocol/telemetry.ts';
import type { Devices } from '../devices/index.ts';
import type { Telemetry } from '../telemetry/index.ts';

type Changed = ToSandbox & { type: 'changed' };

interface Watch {
  run: number;
  watchId: number;
}

interface WatchesOptions {
  devices: Pick<Devices, 'events'>;
  telemetry: Pick<Telemetry, 'events'>;
  /** False: not taken now. */
  send: (message: Changed) => boolean;
}

export class Watches {
  readonly #options: WatchesOptions;
  /** `deviceId attribute`, or `deviceId` for connectivity, to the watches of it. */
  readonly #byTarget = new Map<string, Map<string, Watch>>();
  readonly #targets = new Map<string, string>();
  readonly #kept = new Map<string, Changed>();
  readonly #stopConnectivity: () => void;
  #stopTelemetry: (() => void) | undefined;

  constructor(options: WatchesOptions) {
    this.#options = options;
    this.#stopConnectivity = options.devices.events.on(
      'connectivity_changed',
      'rules',
      ({ device, status, atMs }) => {
        if (this.#byTarget.size > 0) this.#tell(device.id, status === 'ONLINE', atMs);
      },
    );
  }

  addTelemetry(watch: Watch, deviceId: string, attribute: string): void {
    this.#add(watch, `${deviceId} ${attribute}`);
    this.#listen();
  }

  addConnectivity(watch: Watch, deviceId: string): void {
    this.#add(watch, deviceId);
  }

  remove(watch: Watch): void {
    const key = keyOf(watch);
    const target = this.#targets.get(key);
    this.#targets.delete(key);
    this.#kept.delete(key);
    if (target === undefined) return;
    const watches = this.#byTarget.get(target);
    watches?.delete(key);
    if (watches?.size === 0) this.#byTarget.delete(target);
    if (this.#byTarget.size === 0) this.#stopListening();
  }

  /** Ends all watches of one life of a script. */
  endRun(run: number): void {
    const all = [...this.#byTarget.values()].flatMap((watches) => [...watches.values()]);
    for (const watch of all) if (watch.run === run) this.remove(watch);
  }

  /** The sandbox is gone, and its watches with it. */
  clear(): void {
    this.#byTarget.clear();
    this.#targets.clear();
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
    this.#stopConnectivity();
    this.#stopListening();
  }

  #add(watch: Watch, target: string): void {
    let watches = this.#byTarget.get(target);
    if (!watches) this.#byTarget.set(target, (watches = new Map()));
    watches.set(keyOf(watch), watch);
    this.#targets.set(keyOf(watch), target);
  }

  #tell(target: string, value: JsonValue, timestampMs: number): void {
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

function keyOf({ run, watchId }: Watch): string {
  return `${run} ${watchId}`;
}
