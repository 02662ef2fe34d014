/** Messages of a broker on their way to a script; the oldest are dropped when it does not take them in time. */
import type { Limits } from '../../lib/limits.ts';
import type { MqttArrival } from '../../platform/mqtt-client/index.ts';

interface Delivery {
  kind: 'messages';
  messages: MqttArrival[];
  /** Dropped since the last delivery. */
  dropped: number;
}

/** Of one client of a script. */
export class MqttMailbox {
  readonly #limits: Limits['lua']['mqtt'];
  #messages: MqttArrival[] = [];
  #bytes = 0;
  #dropped = 0;
  #isClosed = false;
  /** Of the script that waits for the next message. */
  #deliver: ((delivery: Delivery | undefined) => void) | undefined;

  constructor(limits: Limits['lua']['mqtt']) {
    this.#limits = limits;
  }

  take(message: MqttArrival): void {
    const { queuedMessages, queuedBytes, messageBytes } = this.#limits;
    if (message.payload.length > messageBytes) {
      this.#dropped += 1;
    } else {
      this.#messages.push(message);
      this.#bytes += message.payload.length;
      while (this.#messages.length > queuedMessages || this.#bytes > queuedBytes) {
        this.#bytes -= this.#messages.shift()?.payload.length ?? 0;
        this.#dropped += 1;
      }
    }
    this.#handOver();
  }

  /** Resolves with what is there as soon as there is something; undefined once it is closed. */
  next(): Promise<Delivery | undefined> {
    return new Promise((resolve) => {
      this.#deliver = resolve;
      if (this.#isClosed) resolve(undefined);
      else if (this.#messages.length > 0 || this.#dropped > 0) this.#handOver();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#messages = [];
    this.#deliver?.(undefined);
  }

  #handOver(): void {
    if (!this.#deliver) return;
    this.#deliver({ kind: 'messages', messages: this.#messages, dropped: this.#dropped });
    this.#deliver = undefined;
    this.#messages = [];
    this.#bytes = 0;
    this.#dropped = 0;
  }
}
