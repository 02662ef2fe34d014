/** Somebody who asks again and again, and what the waiting for answers was like. */
import type { Clock } from '../../src/platform/clock/index.ts';
import type { Report } from './benchmark.ts';
import type { Latencies } from './latencies.ts';

/** Asks one thing after the other until the signal, with a pause behind each answer. */
export async function keepAsking(
  ask: () => Promise<unknown>,
  {
    clock,
    pauseMs,
    latencies,
    signal,
  }: { clock: Clock; pauseMs: number; latencies: Latencies; signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    const askedMs = clock.monotonicMs();
    await ask();
    latencies.add(clock.monotonicMs() - askedMs);
    await clock.sleep(pauseMs);
  }
}

/** Median and 99 %. */
export function tellLatencies(report: Report, label: string, latencies: Latencies): void {
  report(`${label}, median`, latencies.quantileMs(0.5) ?? 0, 'ms');
  report(`${label}, 99 %`, latencies.quantileMs(0.99) ?? 0, 'ms');
}
