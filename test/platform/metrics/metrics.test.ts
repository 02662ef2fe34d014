/** What the page of metrics says of queues. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../../src/platform/metrics/index.ts';

test('a queue reports its present depth, its limit, and its drops', async () => {
  const metrics = createMetrics();
  const waiting: string[] = [];
  const queue = metrics.queue('letters', { limit: 2, depth: () => waiting.length });
  const lines = async () => (await metrics.text()).split('\n').filter((line) => line.includes('"letters"'));
  assert.deepEqual(await lines(), [
    'gateway_queue_depth{queue="letters"} 0',
    'gateway_queue_limit{queue="letters"} 2',
    'gateway_queue_dropped_total{queue="letters"} 0',
  ]);
  waiting.push('a', 'b');
  queue.dropped();
  assert.deepEqual(await lines(), [
    'gateway_queue_depth{queue="letters"} 2',
    'gateway_queue_limit{queue="letters"} 2',
    'gateway_queue_dropped_total{queue="letters"} 1',
  ]);
});
