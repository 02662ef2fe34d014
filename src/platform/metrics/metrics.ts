/**
 * Counters, gauges and histograms in one registry, for the Prometheus page. Labels have few, known values
 * (never a device id). Rules of the house: every queue has depth, limit and dropped; every background loop
 * has duration and failures.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  counter<Label extends string = never>(
    name: string,
    help: string,
    labels?: readonly Label[],
  ): Counter<Label>;
  /** `collect` is asked at each scrape, so that state that exists anyway need not be copied. */
  gauge<Label extends string = never>(
    name: string,
    help: string,
    labels?: readonly Label[],
    collect?: (gauge: Gauge<Label>) => void,
  ): Gauge<Label>;
  histogram<Label extends string = never>(
    name: string,
    help: string,
    buckets: readonly number[],
    labels?: readonly Label[],
  ): Histogram<Label>;
  /** The whole registry in Prometheus text format. */
  text(): Promise<string>;
}

const PREFIX = 'gateway_';

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  return {
    counter: (name, help, labels = []) =>
      new Counter({ name: PREFIX + name, help, labelNames: [...labels], registers }),
    gauge: (name, help, labels = [], collect) =>
      new Gauge({
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
    histogram: (name, help, buckets, labels = []) =>
      new Histogram({ name: PREFIX + name, help, buckets: [...buckets], labelNames: [...labels], registers }),
    text: () => registry.metrics(),
  };
}
