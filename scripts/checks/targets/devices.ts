/** The devices of workload W: each sends at QoS 1, in order, and again what was not acknowledged before its connection ended. */
import type { Clock } from '../../../src/platform/clock/index.ts';
import { type DeviceLink, LinkLost, openDeviceLink } from '../../support/device-link.ts';
import type { ConnectionConfiguration } from '../../support/connection-configuration.ts';

const RECONNECT_DELAY_MS = 100;
/** Messages that wait for their acknowledgement; then the workload waits. */
const WAITING_MAX = 60;

export class SendingDevice {
  readonly #link: DeviceLink;
  /** Values that are not acknowledged yet, by second. */
  readonly #waiting = new Map<number, Record<string, unknown>>();

  constructor(config: ConnectionConfiguration, clock: Clock) {
    this.#link = openDeviceLink({
      config,
      clock,
      qos: 1,
      reconnectDelayMs: RECONNECT_DELAY_MS,
      onConnected: () => {
        for (const [atS, body] of this.#waiting) this.#publish(atS, body);
      },
      onLost: () => undefined,
      onCommand: () => undefined,
      onUnreadable: (topic, reason) => {
        throw new Error(`unreadable message on ${topic}: ${reason}`);
      },
    });
  }

  get isConnected(): boolean {
    return this.#link.isConnected;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get isBusy(): boolean {
    return this.#waiting.size >= WAITING_MAX;
  }

  send(atS: number, values: Record<string, unknown>): void {
    const body = { timestamp: atS, ...values };
    this.#waiting.set(atS, body);
    if (this.#link.isConnected) this.#publish(atS, body);
  }

  close(): Promise<void> {
    return this.#link.close(0);
  }

  #publish(atS: number, body: Record<string, unknown>): void {
    this.#link.publish('telemetry', body).then(
      () => this.#waiting.delete(atS),
      (error: unknown) => {
        // The next connection sends it again.
        if (!(error instanceof LinkLost)) throw error;
      },
    );
  }
}
