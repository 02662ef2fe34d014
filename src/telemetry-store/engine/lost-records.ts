/** Parts of the journal that could not be read. */
import { type EpochS, formatTimestamp } from '../../lib/time.ts';
import type { JournalDamage } from '../journal/index.ts';
import type { EngineState } from './state.ts';

/**
 * Reports the loss by damage of the journal: from the last sample before it to the first one that is understood again.
 * Records after the damage are lost up to the next key record, because each builds on the one before.
 */
export class LostRecords {
  readonly #state: Pick<EngineState, 'damaged' | 'log'>;
  #lastS: EpochS | undefined;
  #stretch: { segment: string; sequence: number | undefined; records: number; bytes: number } | undefined;

  constructor(state: Pick<EngineState, 'damaged' | 'log'>) {
    this.#state = state;
  }

  begins({ segment, sequence, recordCount, bytes }: JournalDamage): void {
    this.#stretch ??= { segment, sequence, records: 0, bytes: 0 };
    this.#stretch.records += recordCount ?? 0;
    this.#stretch.bytes += bytes;
  }

  /** One more intact record that is not understood. */
  adds(): void {
    this.#stretch ??= { segment: 'unknown', sequence: undefined, records: 0, bytes: 0 };
    this.#stretch.records++;
  }

  /** A record with this last sample was understood; undefined: the journal ends. */
  ends(atS: EpochS | undefined): void {
    if (this.#stretch) {
      const { segment, sequence, records, bytes } = this.#stretch;
      this.#stretch = undefined;
      this.#state.damaged++;
      this.#state.log.error('part of the telemetry journal is damaged: samples are lost', {
        segment,
        ...(sequence !== undefined && { first_sequence: sequence }),
        records,
        bytes,
        ...(this.#lastS !== undefined && { after: isoOf(this.#lastS) }),
        ...(atS !== undefined && atS > 0 && { until: isoOf(atS) }),
      });
    }
    if (atS !== undefined && atS > 0) this.#lastS = atS;
  }
}

const isoOf = (timestampS: EpochS): string => formatTimestamp(timestampS * 1_000);
