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

export interface Watches {
  addTelemetry(watch: Watch, deviceId: string, attribute: string): void;
  addConnectivity(watch: Watch, deviceId: string): void;
  remove(watch: Watch): void;
  /** Ends all watches of one life of a script. */
  endRun(run: number): void;
  /** The sandbox is gone, and its watches with it. */
  clear(): void;
  /** Sends what was kept back. */
  flush(): void;
  stop(): void;
}

export function createWatches(options: {
  devices: Devices;
  telemetry: Telemetry;
  /** False: not taken now. */
  send: (message: Changed) => boolean;
}): Watches {
  const { devices, telemetry, send } = options;
  /** `deviceId attribute`, or `deviceId` for connectivity, to the watches of it. */
  const byTarget = new Map<string, Map<string, Watch>>();
  const targets = new Map<string, string>();
  const kept = new Map<string, Changed>();
  const keyOf = ({ run, watchId }: Watch): string => `${run} ${watchId}`;

  function add(watch: Watch, target: string): void {
    let watches = byTarget.get(target);
    if (!watches) byTarget.set(target, (watches = new Map()));
    watches.set(keyOf(watch), watch);
    targets.set(keyOf(watch), target);
  }

  function remove(watch: Watch): void {
    const key = keyOf(watch);
    const target = targets.get(key);
    targets.delete(key);
    kept.delete(key);
    if (target === undefined) return;
    const watches = byTarget.get(target);
    watches?.delete(key);
    if (watches?.size === 0) byTarget.delete(target);
    if (byTarget.size === 0) stopListening();
  }

  function tell(target: string, value: JsonValue, timestampMs: number): void {
    for (const [key, { run, watchId }] of byTarget.get(target) ?? []) {
      const message: Changed = { type: 'changed', run, watchId, value, timestampMs };
      if (kept.has(key) || !send(message)) kept.set(key, message);
    }
  }

  const ends = [
    devices.events.on('connectivity_changed', 'rules', ({ device, status, atMs }) => {
      if (byTarget.size > 0) tell(device.id, status === 'ONLINE', atMs);
    }),
  ];
  let stopTelemetry: (() => void) | undefined;

  function stopListening(): void {
    stopTelemetry?.();
    stopTelemetry = undefined;
  }

  /** Building the event costs the hot path something, so it is asked for only when somebody watches. */
  function listen(): void {
    stopTelemetry ??= telemetry.events.on('telemetry_received', 'rules', ({ device, timestampS, values }) => {
      for (const [name, { value, isLatest }] of values)
        if (isLatest) tell(`${device.id} ${name}`, value, timestampS * 1_000);
    });
  }

  return {
    addTelemetry: (watch, deviceId, attribute) => {
      add(watch, `${deviceId} ${attribute}`);
      listen();
    },
    addConnectivity: (watch, deviceId) => add(watch, deviceId),
    remove,
    endRun: (run) => {
      const ended = [...byTarget.values()].flatMap((watches) =>
        [...watches.values()].filter((watch) => watch.run === run),
      );
      for (const watch of ended) remove(watch);
    },
    clear: () => {
      byTarget.clear();
      targets.clear();
      kept.clear();
      stopListening();
    },
    flush: () => {
      for (const [key, message] of kept) {
        if (!send(message)) return;
        kept.delete(key);
      }
    },
    stop: () => {
      for (const end of ends) end();
      stopListening();
    },
  };
}
