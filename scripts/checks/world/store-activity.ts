/** What the telemetry store of a running gateway is at, read from the end of its service log. */
import { closeSync, openSync, readSync, statSync } from 'node:fs';

export const STORE_ACTIVITIES = ['sealing', 'roll-up', 'retention'] as const;
export type StoreActivity = (typeof STORE_ACTIVITIES)[number];

const CHUNK_BYTES = 65_536;

/** Follows a log from its present end on. */
export class StoreActivityWatch {
  readonly #path: string;
  #offset: number;
  #rest = '';
  #present: StoreActivity | undefined;

  constructor(path: string) {
    this.#path = path;
    this.#offset = statSync(path).size;
  }

  /** What it began and has not ended, as of the last line written; undefined: nothing. */
  present(): StoreActivity | undefined {
    for (const line of this.#newLines()) {
      if (line.includes('"telemetry store begins its work"'))
        this.#present = STORE_ACTIVITIES.find((activity) => line.includes(`"activity":"${activity}"`));
      if (line.includes('"telemetry store has finished its work"')) this.#present = undefined;
    }
    return this.#present;
  }

  #newLines(): string[] {
    const file = openSync(this.#path, 'r');
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    try {
      for (;;) {
        const length = readSync(file, buffer, 0, CHUNK_BYTES, this.#offset);
        if (length === 0) break;
        this.#offset += length;
        this.#rest += buffer.toString('latin1', 0, length);
      }
    } finally {
      closeSync(file);
    }
    const lines = this.#rest.split('\n');
    this.#rest = lines.pop() ?? '';
    return lines;
  }
}
