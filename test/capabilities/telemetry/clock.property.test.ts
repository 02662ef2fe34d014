/** The newest values of ingest and store together, through every fault of a clock, compared with a model. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import {
  array,
  assert as assertProperty,
  asyncProperty,
  constant,
  constantFrom,
  oneof,
  record,
} from 'fast-check';
import { BatchWriter } from '../../../src/telemetry-store/codec/batch.ts';
import { createBlockStore } from '../../../src/telemetry-store/engine/block-store.ts';
import { Engine } from '../../../src/telemetry-store/engine/engine.ts';
import { Ingest } from '../../../src/capabilities/telemetry/intake/ingest.ts';
import { LatestValue } from '../../../src/capabilities/telemetry/intake/latest-value.ts';
import { IngestPlans } from '../../../src/capabilities/telemetry/intake/ingest-plans.ts';
import { Rejections, type TelemetryEvents } from '../../../src/capabilities/telemetry/intake/events.ts';
import { SeriesRegistry } from '../../../src/capabilities/telemetry/intake/series-registry.ts';
import { Emitter } from '../../../src/lib/emitter.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { CLOCK_PLAUSIBLE_FROM_MS } from '../../../src/platform/clock/index.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import { openMigrated } from '../../support/databases.ts';
import { TestClock } from '../../support/test-clock.ts';
import { runs } from '../../support/runs.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';
import { attribute, createTestDevices, manifestOf, TEST_POLICY, withoutPrototype } from './support.ts';
import { fromStored } from '../../../src/telemetry-store/codec/series.ts';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LIMITS_HERE = LIMITS.telemetry;

/** Ingest and store as telemetry puts them together, without journal files and thread. */
function startMeter(t: Pick<TestContext, 'after'>) {
  const clock = new TestClock();
  const { log } = recordingLog(clock);
  const devices = createTestDevices();
  const device = devices.add(
    'meter',
    manifestOf({ power: attribute('float'), measured: attribute('float') }),
  );
  const database = openMigrated('history', {
    path: `${temporaryFolder(t)}/history.db`,
    clock,
    log,
  });
  t.after(() => database.close());
  let journal: { sequence: number; record: Uint8Array }[] = [];
  let sequence = 0;
  let engine: Engine;
  let registry: SeriesRegistry;
  let ingest: Ingest;
  let writer = new BatchWriter({ recordsPerKey: 3 });

  function synced(): void {
    const bytes = writer.take();
    if (!bytes) return;
    journal.push({ sequence: ++sequence, record: bytes });
    engine.apply(sequence, bytes);
  }

  function start(): void {
    writer = new BatchWriter({ recordsPerKey: 3 });
    engine = new Engine({
      store: createBlockStore(database),
      readJournal: (after) =>
        journal
          .filter((entry) => entry.sequence > after)
          .map((entry) => ({ sequence: entry.sequence, payload: Buffer.from(entry.record) })),
      onSealed: (fromSequence, nextSeriesId) => {
        writer.settledBefore(nextSeriesId);
        journal = journal.filter((entry) => entry.sequence >= fromSequence);
      },
      policy: TEST_POLICY,
      isDiskLow: () => false,
      provenMs: () => clock.proven.nowMs(),
      clock,
      log,
      limits: LIMITS_HERE,
      pause: () => Promise.resolve(),
    });
    const content = engine.load();
    registry = new SeriesRegistry({
      known: content.series.map(({ series, latest }) => ({
        series,
        latest:
          latest &&
          LatestValue.ofEarlierRun(
            clock,
            { timestampS: latest.timestampS, value: fromStored(series.type, latest.value) },
            LIMITS_HERE.futureToleranceMs,
          ),
      })),
      nextId: content.nextSeriesId,
      batch: writer,
    });
    const events = new Emitter<TelemetryEvents>({
      error: (_message, { error }) => {
        throw error;
      },
    });
    ingest = new Ingest({
      plans: new IngestPlans(devices, registry),
      registry,
      batch: writer,
      events,
      rejections: new Rejections({ events, clock, metrics: createMetrics() }),
      clock,
      limits: LIMITS_HERE,
      canStore: () => true,
    });
  }

  clock.onStepped((jumpMs) => {
    ingest.stepped(jumpMs);
    synced();
  });
  start();
  const latest = (name: string) => registry.find(device.id, name, 'float')?.latest;
  return {
    clock,
    value: (name: string) => latest(name)?.value,
    ageMs: (name: string) => latest(name)?.ageMs(clock.monotonicMs()) ?? Number.NaN,
    send: (body: object) => {
      ingest.take({ device, body: withoutPrototype(body), receivedAtMs: clock.wallMs() });
      synced();
    },
    seal: () => engine.seal(),
    restart: start,
  };
}

const RUNS = runs(30);

interface Sent {
  value: number;
  atMs: number;
  /** So much younger than it is a start may take it. */
  unknownMs: number;
  /** So much the clock was ahead at a start since. */
  aheadMs: number;
}

/**
 * By a clock that is behind, a start may take what it finds for that much younger. So it may when an earlier start found
 * it by a clock that was ahead: a stamp says not whose it is, so it stays when that clock is put back.
 */
function started(sent: Iterable<Sent>, aheadMs: number): void {
  for (const last of sent) {
    last.unknownMs = Math.max(last.unknownMs, -aheadMs, last.aheadMs);
    last.aheadMs = Math.max(last.aheadMs, aheadMs);
  }
}

const action = oneof(
  { weight: 5, arbitrary: constant({ kind: 'arrive' as const }) },
  {
    weight: 3,
    arbitrary: record({
      kind: constant('pass' as const),
      passMs: constantFrom(900, 30_000, HOUR_MS, 9 * HOUR_MS),
    }),
  },
  {
    weight: 3,
    arbitrary: record({
      kind: constant('jump' as const),
      jumpMs: constantFrom(2 * HOUR_MS, -2 * HOUR_MS, 50_000, -50_000, 3 * DAY_MS, -3 * DAY_MS),
    }),
  },
  { weight: 1, arbitrary: constant({ kind: 'dead' as const }) },
  { weight: 2, arbitrary: constant({ kind: 'right' as const }) },
  { weight: 1, arbitrary: constant({ kind: 'seal' as const }) },
  { weight: 2, arbitrary: constant({ kind: 'restart' as const }) },
);

describe('whatever the clock does', () => {
  test('the latest value is the last one that arrived and never looks fresher than it is, whatever the clock does', async () => {
    await assertProperty(
      asyncProperty(array(action, { maxLength: 25 }), async (actions) => {
        const ends: (() => unknown)[] = [];
        const { clock, value, ageMs, send, seal, restart } = startMeter({
          after: (end) => void ends.push(end as () => unknown),
        });
        try {
          const offMs = clock.wallMs() - clock.monotonicMs();
          const trueMs = (): number => clock.monotonicMs() + offMs;
          // What was sent last of each kind: stamped by the gateway, and by the device, whose clock is right.
          const sent = new Map<string, Sent>();
          let count = 0;
          const arrive = (name: string, more: object): void => {
            const next = { value: ++count, atMs: trueMs(), unknownMs: 0, aheadMs: 0 };
            send({ [name]: next.value, ...more });
            sent.set(name, next);
          };
          for (const step of actions) {
            if (step.kind === 'pass') await clock.advance(step.passMs);
            else if (step.kind === 'jump') clock.step(step.jumpMs);
            else if (step.kind === 'dead') clock.step(CLOCK_PLAUSIBLE_FROM_MS - DAY_MS - clock.wallMs());
            else if (step.kind === 'right') clock.step(trueMs() - clock.wallMs());
            else if (step.kind === 'seal') await seal();
            else if (step.kind === 'restart') {
              restart();
              started(sent.values(), clock.wallMs() - trueMs());
            } else {
              // Without a clock, what has no time waits and is not acknowledged.
              if (clock.isSet()) arrive('power', {});
              // A device that is ahead of the box gets times of receipt; a right time after that looks like what it kept.
              if (!clock.isSet() || trueMs() - clock.wallMs() < LIMITS_HERE.futureToleranceMs)
                arrive('measured', { timestamp: Math.floor(trueMs() / SECOND_MS) });
            }
            for (const [name, last] of sent) {
              assert.equal(value(name), last.value, `${name} is what arrived last`);
              // Corrections below a minute are not written, and times are whole seconds.
              const leastMs = trueMs() - last.atMs - last.unknownMs - 62 * SECOND_MS;
              assert.ok(
                ageMs(name) >= leastMs,
                `${name} is ${leastMs} ms old and taken for ${ageMs(name)} ms`,
              );
            }
          }
        } finally {
          for (const end of ends.reverse()) await end();
        }
      }),
      {
        numRuns: RUNS,
        // A dead clock came in between, and then a wrong one that looks set.
        examples: [
          [
            [
              { kind: 'arrive' },
              { kind: 'dead' },
              { kind: 'pass', passMs: HOUR_MS },
              { kind: 'jump', jumpMs: 3 * DAY_MS },
              { kind: 'restart' },
            ],
          ],
        ],
      },
    );
  });
});
