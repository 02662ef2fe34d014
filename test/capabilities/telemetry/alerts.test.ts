/** Which alerts of a device are raised (docs/interface/blueprints.md#alerts). */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { runs } from '../../support/runs.ts';
import { acknowledged, attribute, manifestOf, startTelemetry } from './support.ts';

const MANIFEST = manifestOf({
  voltage: attribute('float'),
  mode: attribute('string'),
  conn_alerts: attribute('alerts'),
});

const NOW_S = Date.UTC(2026, 2, 1, 8) / 1_000;

function rows(csv: string): string[] {
  return csv.trimEnd().split('\n').slice(1);
}

describe('raised alerts', () => {
  test('raised alerts end with a message that carries alerts and not their attribute', async (t) => {
    const started = await startTelemetry(t);
    const { devices, send, query, clock } = started;
    const device = devices.add('battery', MANIFEST);
    await send(device, { alerts: ['low'], timestamp: NOW_S - 11 });
    await send(device, { conn_alerts: ['lost'], timestamp: NOW_S - 10 });
    assert.deepEqual(devices.raisedAlerts(device), ['lost', 'low'], 'alerts are not known to be over');
    await send(device, { voltage: 1, alerts: null, timestamp: NOW_S - 9 });
    assert.deepEqual(devices.raisedAlerts(device), ['lost', 'low'], 'null says nothing');
    await send(device, { alerts: 5, timestamp: NOW_S - 9 });
    assert.deepEqual(devices.raisedAlerts(device), ['lost', 'low'], 'nor does what is no list');
    await send(device, { alerts: [], timestamp: NOW_S - 12 });
    assert.deepEqual(devices.raisedAlerts(device), ['lost', 'low'], 'nor a late message');
    await send(device, { mode: 'manual', alerts: [], timestamp: NOW_S - 8 });
    assert.deepEqual(devices.raisedAlerts(device), []);
    await send(device, { alerts: ['hot'], conn_alerts: ['lost'], timestamp: NOW_S - 7 });
    assert.deepEqual(devices.raisedAlerts(device), ['hot', 'lost'], 'both in one message count');
    await send(device, { alerts: ['hot'], timestamp: NOW_S - 6 });
    await send(device, { alerts: ['hot'], timestamp: NOW_S - 5 });
    await started.restart();
    assert.deepEqual(devices.raisedAlerts(device), ['hot']);
    await clock.advance(2_000);
    const asked = { granularity: '1s', aggregation: 'last', from: NOW_S - 200, to: NOW_S + 100 };
    assert.deepEqual(
      rows(await query({ ...asked, telemetry: [{ attribute: 'conn_alerts' }] })),
      [
        [NOW_S - 10, '"[""lost""]"'],
        [NOW_S - 8, '"[]"'],
        [NOW_S - 7, '"[""lost""]"'],
        [NOW_S - 6, '"[]"'],
      ].map((row) => row.join(',')),
      'and the history says when',
    );
  });

  test('raised alerts end when a newer message leaves out those of a late message', async (t) => {
    const started = await startTelemetry(t);
    const { devices, send, query, clock, telemetry } = started;
    const device = devices.add('battery', MANIFEST);
    await send(device, { alerts: ['hot'], timestamp: NOW_S - 5 });
    const told: unknown[] = [];
    telemetry.events.on(
      'telemetry_received',
      'test',
      ({ values }) => void told.push(values.get('conn_alerts')),
    );
    await send(device, { conn_alerts: ['lost'], timestamp: NOW_S - 20 });
    assert.deepEqual(told, [{ value: ['lost'], isLatest: false }]);
    assert.deepEqual(devices.raisedAlerts(device), ['hot'], 'never heard of before');
    await send(device, { alerts: ['low'], conn_alerts: ['lost'], timestamp: NOW_S - 10 });
    assert.deepEqual(devices.raisedAlerts(device), ['hot'], 'nor both in one late message');
    await send(device, { conn_alerts: ['lost'], timestamp: NOW_S - 5 });
    assert.deepEqual(
      devices.raisedAlerts(device),
      ['hot', 'lost'],
      'of the same second the later message counts',
    );
    await send(device, { alerts: [], timestamp: NOW_S - 3 });
    await started.restart();
    assert.deepEqual(devices.raisedAlerts(device), []);
    await clock.advance(2_000);
    const asked = { granularity: '1s', aggregation: 'last', from: NOW_S - 200, to: NOW_S + 100 };
    assert.deepEqual(
      rows(await query({ ...asked, telemetry: [{ attribute: 'conn_alerts' }] })),
      [
        [NOW_S - 20, '"[""lost""]"'],
        [NOW_S - 10, '"[""lost""]"'],
        [NOW_S - 5, '"[""lost""]"'],
        [NOW_S - 3, '"[]"'],
      ].map((row) => row.join(',')),
    );
  });

  test('raised alerts do not come from an imported late message', async (t) => {
    const { devices, send, telemetry, clock } = await startTelemetry(t);
    const device = devices.add('battery', MANIFEST);
    await send(device, { alerts: [], timestamp: NOW_S - 5 });
    const csv = `ts,telemetry=conn_alerts device=battery\n${NOW_S - 15},"[""lost""]"\n`;
    const imported = telemetry.importCsv(Readable.from([Buffer.from(csv)]));
    await acknowledged(
      clock,
      imported.then(() => undefined),
    );
    const told: unknown[] = [];
    telemetry.events.on(
      'telemetry_received',
      'test',
      ({ values }) => void told.push(values.get('conn_alerts')),
    );
    await send(device, { conn_alerts: [], timestamp: NOW_S - 20 });
    assert.deepEqual(told, [{ value: [], isLatest: false }]);
    assert.deepEqual(devices.raisedAlerts(device), []);
  });

  test('raised alerts of a late message are over after a restart', async (t) => {
    const started = await startTelemetry(t);
    const { devices, send } = started;
    const device = devices.add('battery', MANIFEST);
    await send(device, { alerts: [], timestamp: NOW_S - 5 });
    await send(device, { conn_alerts: ['lost'], timestamp: NOW_S - 20 });
    await started.restart();
    assert.deepEqual(devices.raisedAlerts(device), []);
  });

  test('raised alerts may be one string where a list is declared', async (t) => {
    const { devices, send, telemetry } = await startTelemetry(t);
    const device = devices.add('battery', MANIFEST);
    await send(device, { alerts: 'low', conn_alerts: 'lost' });
    assert.deepEqual(telemetry.latest(device, 'alerts')?.value, ['low']);
    assert.deepEqual(telemetry.latest(device, 'conn_alerts')?.value, ['lost']);
    assert.deepEqual(devices.raisedAlerts(device), ['lost', 'low']);
  });

  test('raised alerts are left out for an attribute above the role, but not for another attribute', async (t) => {
    const { devices, send } = await startTelemetry(t);
    const guarded = attribute('alerts', { access_level: 'installer' });
    const device = devices.add('battery', { ...MANIFEST, telemetry: { ...MANIFEST.telemetry, guarded } });
    await send(device, { alerts: ['low'], conn_alerts: ['lost'], guarded: ['pin_worn', 'low'] });
    assert.deepEqual(devices.raisedAlerts(device, 'INSTALLER'), ['lost', 'low', 'pin_worn']);
    for (const role of ['READONLY', 'USER', 'OWNER'] as const)
      assert.deepEqual(devices.raisedAlerts(device, role), ['lost', 'low'], role);
  });

  test('raised alerts are those of all alert attributes together, each from its latest message', async (t) => {
    const started = await startTelemetry(t);
    const { devices, send } = started;
    const device = devices.add('battery', MANIFEST);
    assert.deepEqual(devices.raisedAlerts(device), []);
    await send(device, { alerts: ['low', 'hot'], conn_alerts: ['lost', 'low'], timestamp: NOW_S - 10 });
    assert.deepEqual(devices.raisedAlerts(device), ['hot', 'lost', 'low']);
    await send(device, { alerts: null, conn_alerts: [], timestamp: NOW_S - 9 });
    assert.deepEqual(devices.raisedAlerts(device), ['hot', 'low']);
    await send(device, { alerts: [], timestamp: NOW_S - 20 });
    assert.deepEqual(devices.raisedAlerts(device), ['hot', 'low'], 'a late message changes nothing');
    await started.restart();
    assert.deepEqual(devices.raisedAlerts(device), ['hot', 'low']);
  });

  test('raised alerts are the same in whatever order the messages come, and after a restart', async (t) => {
    const started = await startTelemetry(t);
    const { devices, send } = started;
    const known = new Map<ReturnType<typeof devices.add>, string[]>();
    const raisedBy = async (messages: readonly object[]): Promise<string[]> => {
      const device = devices.add(`battery-${known.size}`, MANIFEST);
      for (const message of messages) await send(device, { ...message });
      const raised = [...devices.raisedAlerts(device)];
      known.set(device, raised);
      return raised;
    };
    const told = (name: string) => fc.constantFrom({}, {}, { [name]: [] }, { [name]: [name] });
    const message = fc.tuple(told('alerts'), told('conn_alerts'), fc.nat());
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 2, maxLength: 6 }), async (drawn) => {
        const inOrder = drawn.map(([own, other, place], index) => ({
          place,
          message: { ...own, ...other, voltage: 1, timestamp: NOW_S - 60 + index },
        }));
        const mixed = inOrder.toSorted((a, b) => a.place - b.place);
        const [expected, found] = [
          await raisedBy(inOrder.map((one) => one.message)),
          await raisedBy(mixed.map((one) => one.message)),
        ];
        assert.deepEqual(found, expected);
      }),
      { numRuns: runs(50) },
    );
    await started.restart();
    for (const [device, raised] of known) assert.deepEqual(devices.raisedAlerts(device), raised);
  });
});
