import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { unlessRefused } from '../../lib/system-fault.ts';
import type { Clock } from '../clock/index.ts';
import type { Log } from '../log/index.ts';

export type Metrics = ReturnType<typeof createMetrics>;

const PREFIX = 'gateway_';

/** Limit and depth of a queue, both in its own unit. */
type Queue = {
  /** Its capacity. */
  limit: number;
  /** Its content; read at each scrape. */
  depth: () => number;
};

/**
 * Counters, gauges and histograms in one registry, for the Prometheus page. Labels have few, known values
 * (never a device id). Rules of the house: every queue has depth, limit and dropped; every background loop
 * has duration and failures.
 */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const queue = createQueues(registers);
  return {
    /** One queue by its name; the answer counts what had no place in it. */
    queue,
    /** With the values that a label can have, each counts from 0 on: the first rise of one that appears is seen by no rule. */
    counter<Label extends string = never>(
      name: string,
      help: string,
      values?: Readonly<Record<Label, readonly string[]>>,
    ): Counter<Label> {
      const labels = Object.entries<readonly string[]>(values ?? {}) as [Label, readonly string[]][];
      const labelNames = labels.map(([label]) => label);
      const counter = new Counter<Label>({ name: PREFIX + name, help, labelNames, registers });
      for (const [label, known] of labels)
        for (const value of known) counter.inc({ [label]: value } as Record<Label, string>, 0);
      return counter;
    },
    /** `collect` is asked at each scrape, so that state that exists anyway need not be copied. */
    gauge: <Label extends string = never>(
      name: string,
      help: string,
      labels: readonly Label[] = [],
      collect?: (gauge: Gauge<Label>) => void,
    ) =>
      new Gauge<Label>({
        name: PREFIX + name,
        help,
        labelNames: [...labels],
        registers,
        ...(collect && {
          collect() {
            collect(this);
          },
        }),
      }),
    /** A gauge of one number, asked at each scrape; NaN while disk or system refuse it, because the others still count. */
    measured: (name: string, help: string, read: () => number) =>
      new Gauge({
        name: PREFIX + name,
        help,
        registers,
        collect() {
          this.set(unlessRefused(read, () => Number.NaN));
        },
      }),
    histogram: <Label extends string = never>(
      name: string,
      help: string,
      buckets: readonly number[],
      labels: readonly Label[] = [],
    ) =>
      new Histogram({ name: PREFIX + name, help, buckets: [...buckets], labelNames: [...labels], registers }),
    /** The whole registry in Prometheus text format. */
    text: () => registry.metrics(),
  };
}

/** All queues by one shape, so that one rule watches every one of them. */
function createQueues(registers: Registry[]) {
  const queues = new Map<string, Queue>();
  const ofEach = (name: string, help: string, read: (queue: Queue) => number): Gauge<'queue'> =>
    new Gauge<'queue'>({
      name: PREFIX + name,
      help,
      labelNames: ['queue'],
      registers,
      collect() {
        for (const [queue, state] of queues) this.set({ queue }, read(state));
      },
    });
  ofEach('queue_depth', 'What waits in a queue.', ({ depth }) => depth());
  ofEach('queue_limit', 'What fits into a queue, in the unit of its depth.', ({ limit }) => limit);
  const dropped = new Counter({
    name: `${PREFIX}queue_dropped_total`,
    help: 'What had no place in a queue: refused or dropped.',
    labelNames: ['queue'],
    registers,
  });
  return (queue: string, state: Queue): { dropped: (count?: number) => void } => {
    queues.set(queue, state);
    const counter = dropped.labels(queue);
    counter.inc(0);
    return { dropped: (count = 1) => counter.inc(count) };
  };
}

/** Parts given to every independent part: the time, the log and the metrics. */
export interface Instruments {
  clock: Clock;
  log: Log;
  metrics: Metrics;
}
