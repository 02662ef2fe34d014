/**
 * The first chart of a process takes several times as long as the next one, because its code has never run. So the store
 * draws a few of the last 24 hours for nobody, once there is something to draw; their code stays (lib/kept-shapes.ts).
 */
import { DAY_S, type EpochS, type MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import { answer } from '../query/answer.ts';
import type { LiveSource } from '../query/column-cursor.ts';
import type { QueryPlan } from '../query/query-plan.ts';
import type { EngineState } from './state.ts';

/** G: what starts together with the store has begun by then. */
const AFTER_MS = 10_000;
/** M: with the third the processor time is nearly that of the fortieth. */
const CHARTS = 3;
/** Of a chart that counts: half a day by 1 min, with a time and a value in each row. */
const BYTES_LEAST = 720 * 15;
/** G: series with less are found out at once, but there may be thousands. */
const TRIES = 100;
const MINUTE_S = 60;

type Known = Pick<EngineState, 'latest' | 'parts' | 'pause'>;

export class Rehearsal {
  readonly #state: Known;
  readonly #source: LiveSource;
  readonly #clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  readonly #startedMs: MonotonicMs;
  #chartsLeft = CHARTS;
  /** Of the parts when it was tried last. */
  #endId = 0;

  constructor(state: Known, source: LiveSource, clock: Pick<Clock, 'wallMs' | 'monotonicMs'>) {
    this.#state = state;
    this.#source = source;
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  /** To be called regularly: draws what is due, and lets other work go on in between. */
  async run(): Promise<void> {
    const { parts, pause } = this.#state;
    if (this.#chartsLeft === 0 || this.#endId === parts.endId) return;
    if (this.#clock.monotonicMs() - this.#startedMs < AFTER_MS) return;
    this.#endId = parts.endId;
    for (const plan of plansOf(this.#state, Math.floor(this.#clock.wallMs() / 1_000))) {
      let bytes = 0;
      for (const piece of answer(plan, this.#source)) {
        if (piece instanceof Uint8Array) bytes += piece.length;
        await pause();
      }
      if (bytes >= BYTES_LEAST && --this.#chartsLeft === 0) return;
    }
  }
}

/** The last 24 hours by 1 min of what has decimals, which is mostly measured. */
function plansOf({ latest }: Pick<EngineState, 'latest'>, nowS: EpochS): QueryPlan[] {
  const toS = nowS - (nowS % MINUTE_S);
  const range = { fromS: toS - DAY_S, toS, granularityS: MINUTE_S };
  const column = {
    kind: 'number',
    aggregation: 'avg',
    gapMethod: 'none',
    lookAroundS: 0,
    type: 'float',
  } as const;
  const measured = [...latest].filter(
    ([, { timestampS, value }]) =>
      timestampS >= range.fromS && typeof value === 'number' && !Number.isInteger(value),
  );
  return measured.slice(0, TRIES).map(([seriesId]) => ({ ...range, columns: [{ ...column, seriesId }] }));
}
