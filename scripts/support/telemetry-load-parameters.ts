import type { NumberForm } from './workload.ts';

/** Orders for `telemetry-load.ts`. */
export interface TelemetryLoad {
  port: number;
  seed: number;
  /** Default: as JSON has them. */
  numbers?: NumberForm;
  devices: number;
  startS: number;
  seconds: number;
  /** Messages sent and not yet acknowledged, per connection. */
  window: number;
  /** Time for one second of the workload; 0: as fast as possible. */
  paceMs: number;
  /** Devices send one after another over that time. Default: all at once. */
  isSpread?: boolean;
  /** Seconds of the workload from one message of a device to the next. Default: 1. */
  stepS?: number;
  /** How each device of the workload logs in; without it, as itself with any password. */
  logins?: readonly DeviceLogin[];
  /** Time each message until its acknowledgement. */
  isTimed?: boolean;
}

export interface TelemetryLoadFigures {
  values: number;
  elapsedMs: number;
  /** From each message to its acknowledgement; empty when nothing was timed. */
  latenciesMs: number[];
}

export interface DeviceLogin {
  hardwareId: string;
  channelId: string;
  username: string;
  password: string;
}
