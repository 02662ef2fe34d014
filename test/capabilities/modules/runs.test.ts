/** Which start of a module speaks for it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ModuleRuns } from '../../../src/capabilities/modules/scans.ts';
import type { Device } from '../../../src/capabilities/devices/index.ts';
import type { MqttSession } from '../../../src/platform/mqtt/index.ts';
import { TestClock } from '../../support/test-clock.ts';

const MODULE: Device = {
  id: 'm1',
  slug: 'm1',
  name: 'Board',
  type: 'VIRTUAL_UCM',
  blueprintId: 'b',
  communication: { type: 'MQTT_V1_PLAINTEXT' },
  createdAtMs: 0,
  updatedAtMs: 0,
};

const session = (id: string): MqttSession => ({
  id,
  identity: { key: 'H' },
  clientId: id,
  remoteAddress: `10.0.0.${id}`,
});

function setUp() {
  const clock = new TestClock();
  /** When something came last, by session. */
  const heardMs = new Map<string, number>();
  const turnedAway: string[] = [];
  const runs = new ModuleRuns({
    clock,
    commands: { underWay: () => [], endAbandoned: () => undefined },
    silentMsMax: 10_000,
    helloLogIntervalMs: 10_000,
    connectivity: {
      silentMs: ({ id }) => {
        const atMs = heardMs.get(id);
        return atMs === undefined ? undefined : clock.monotonicMs() - atMs;
      },
      turnAway: (_, { id }) => {
        heardMs.delete(id);
        turnedAway.push(id);
      },
    },
  });
  const greet = (run: string, id: string): string | undefined => {
    heardMs.set(id, clock.monotonicMs());
    return runs.greet(MODULE, run, session(id));
  };
  return { clock, runs, heardMs, turnedAway, greet };
}

describe('a start of a module', () => {
  test('a second start of a module is refused and ignored while another one is active', () => {
    const { runs, greet } = setUp();
    assert.equal(greet('r1', '1'), undefined);
    assert.match(greet('r2', '2') ?? '', /connected from 10\.0\.0\.1/);
    assert.equal(runs.maySpeak(MODULE, session('2')), false);
    assert.equal(runs.maySpeak(MODULE, session('1')), true);
    assert.equal(runs.of(MODULE), 'r1');
    // On another connection, and on the same one, it is the same.
    assert.equal(greet('r1', '3'), undefined);
    assert.equal(greet('r4', '3'), undefined);
  });

  test('a start replaces a module that has fallen silent, whose session is ended', async () => {
    const { clock, runs, turnedAway, greet } = setUp();
    greet('r1', '1');
    await clock.advance(9_999);
    assert.notEqual(greet('r2', '2'), undefined);
    await clock.advance(1);
    assert.equal(greet('r2', '2'), undefined);
    assert.deepEqual([turnedAway, runs.of(MODULE)], [['1'], 'r2']);
    // It was not dead after all, and comes back.
    assert.notEqual(greet('r1', '3'), undefined);
  });

  test('a start replaces one whose session has ended, and the gateway that spoke in between', () => {
    const { runs, heardMs, greet } = setUp();
    greet('r1', '1');
    heardMs.delete('1');
    assert.equal(runs.maySpeak(MODULE, session('2')), true);
    assert.equal(greet('r2', '2'), undefined);
    assert.equal(runs.greet(MODULE, 'resting', undefined), undefined);
    assert.equal(greet('r3', '3'), undefined);
    runs.forget(MODULE);
    assert.equal(greet('r4', '4'), undefined);
  });

  test('a start of a module is reported once, and not more often than modules start', async () => {
    const { clock, runs } = setUp();
    assert.deepEqual([runs.shouldLogHello(MODULE, 'r1'), runs.shouldLogHello(MODULE, 'r1')], [true, false]);
    assert.equal(runs.shouldLogHello(MODULE, 'r2'), false);
    await clock.advance(10_000);
    assert.deepEqual([runs.shouldLogHello(MODULE, 'r1'), runs.shouldLogHello(MODULE, 'r2')], [false, true]);
  });
});
