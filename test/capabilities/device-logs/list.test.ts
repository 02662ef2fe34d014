/** Windows of a device's log: counted from the newest, shown in the asked order. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Device } from '../../../src/capabilities/devices/index.ts';
import type { LogQuery } from '../../../src/capabilities/device-logs/index.ts';
import { type Bench, startBench } from './support.ts';

const SAID: [message: string, severity: string, persist: boolean][] = [
  ['a', 'debug', true],
  ['b', 'info', false],
  ['c', 'warning', true],
  ['d', 'error', false],
  ['e', 'info', true],
];
const START_MS = Date.UTC(2026, 2, 1, 8);

/** Five entries, one second apart, and one of another device. */
async function filled(t: Parameters<typeof startBench>[0]): Promise<{ bench: Bench; device: Device }> {
  const bench = await startBench(t);
  const device = bench.addDevice();
  await bench.say(bench.addDevice(), { message: 'other' });
  await bench.clock.advance(START_MS + 60_000 - bench.clock.wallMs());
  for (const [message, severity, persist] of SAID) {
    void bench.deliver(device, 'logs', { message, severity, persist });
    await bench.clock.advance(1_000);
  }
  return { bench, device };
}

const FIRST_MS = START_MS + 60_000;

describe('a window of the log', () => {
  const rows: [title: string, query: Partial<LogQuery>, messages: string, totalCount: number][] = [
    ['holds all, oldest first', {}, 'abcde', 5],
    ['newest first', { descending: true }, 'edcba', 5],
    ['is counted from the newest', { limit: 2 }, 'de', 5],
    ['and turned only when shown', { limit: 2, descending: true }, 'ed', 5],
    ['before the newest', { limit: 2, offset: 1 }, 'cd', 5],
    ['past the oldest', { limit: 2, offset: 4 }, 'a', 5],
    ['past everything', { offset: 5 }, '', 5],
    ['of nothing', { limit: 0 }, '', 5],
    ['of persistent entries', { persist: true }, 'ace', 3],
    ['of ephemeral entries', { persist: false }, 'bd', 2],
    ['of one severity, not of those above', { severities: ['info'] }, 'be', 2],
    ['of several severities', { severities: ['debug', 'error'] }, 'ad', 2],
    ['from an instant on', { receivedFromMs: FIRST_MS + 3_000 }, 'de', 2],
    ['before an instant', { receivedBeforeMs: FIRST_MS + 1_000 }, 'a', 1],
    [
      'of everything at once',
      {
        receivedFromMs: FIRST_MS,
        receivedBeforeMs: FIRST_MS + 3_000,
        persist: true,
        severities: ['warning'],
      },
      'c',
      1,
    ],
  ];
  for (const [title, query, messages, totalCount] of rows)
    test(title, async (t) => {
      const { bench, device } = await filled(t);
      assert.equal(bench.messages(device, query).join(''), messages);
      const { totalCount: counted } = bench.deviceLogs.list(device, {
        descending: false,
        limit: 1,
        offset: 0,
        ...query,
      });
      assert.equal(counted, totalCount);
    });

  test('a window of the log keeps the order of arrival of entries of one moment', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice();
    const all = 'abcdefgh'
      .split('')
      .map((message, i) => bench.deliver(device, 'logs', { message, persist: i % 2 === 0 }));
    await bench.clock.advance(100);
    await Promise.all(all);
    assert.equal(bench.messages(device).join(''), 'abcdefgh');
    assert.equal(bench.messages(device, { limit: 3 }).join(''), 'fgh');
  });

  test('a window of the log is empty for a device that never logged', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice();
    assert.deepEqual(bench.messages(device), []);
  });
});
