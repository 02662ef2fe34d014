/** Device records on a real state.db with the built-in blueprints. */
import type { TestContext } from 'node:test';
import { BUILT_IN_IDS, type Blueprints } from '../../../src/capabilities/blueprints/index.ts';
import { DeviceService, type Device, type NewDevice } from '../../../src/capabilities/devices/index.ts';
import { LIMITS, type Limits } from '../../../src/lib/limits.ts';
import { createMetrics, type Metrics } from '../../../src/platform/metrics/index.ts';
import { createGroupCommit, type Database, type GroupCommit } from '../../../src/platform/sqlite/index.ts';
import type { TestClock } from '../../support/test-clock.ts';
import { type LogLine, recordingLog } from '../../support/workspace.ts';
import { manifestWith, startBlueprints, zipOf } from '../blueprints/support.ts';

export interface DevicesSetup {
  devices: DeviceService;
  blueprints: Blueprints;
  database: Database;
  commits: GroupCommit;
  metrics: Metrics;
  clock: TestClock;
  lines: LogLine[];
  /** Every event so far, as `name of-which-device what`. */
  told: string[];
  /** A new device of the sample blueprint. */
  add: (fields?: Partial<NewDevice>) => Device;
  /** Uploads a blueprint with these sections, and a script where given; answers its id. */
  upload: (sections: string, script?: string) => Promise<string>;
  /** The same folder after a restart. */
  restart: () => DeviceService;
}

export function startDevices(
  test: Pick<TestContext, 'after'>,
  limits: Partial<Limits['devices']> = {},
): DevicesSetup {
  const { blueprints, database, clock } = startBlueprints(test);
  const { log, lines } = recordingLog(clock);
  const told: string[] = [];
  const open = (): { devices: DeviceService; commits: GroupCommit; metrics: Metrics } => {
    const metrics = createMetrics();
    const commits = createGroupCommit({ database, name: 'state', clock, log, metrics });
    const devices = new DeviceService({
      database,
      commits,
      clock,
      log,
      metrics,
      blueprints,
      limits: { ...LIMITS, devices: { ...LIMITS.devices, ...limits } },
    });
    return { devices, commits, metrics };
  };
  const { devices, commits, metrics } = open();
  watchEvents(devices, told);
  let added = 0;
  return {
    devices,
    blueprints,
    database,
    commits,
    metrics,
    clock,
    lines,
    told,
    add: (fields = {}) => {
      added++;
      return devices.create({
        name: `Device ${added}`,
        type: 'STANDALONE',
        blueprintId: BUILT_IN_IDS.batteryInverter,
        communication: { type: 'MQTT_V1_PLAINTEXT', hardwareId: `H${added}`, channelId: 'ucm' },
        ...fields,
      });
    },
    upload: async (sections, script) => {
      const manifest =
        script === undefined
          ? manifestWith(sections)
          : `blueprint_spec: device/3.0\ndisplay_name: Sample\nruntime: {type: lua, options: {file: main.lua}}\n${sections}`;
      const files = { 'manifest.yml': manifest, ...(script !== undefined && { 'main.lua': script }) };
      return (await blueprints.upload(await zipOf(files))).id;
    },
    restart: () => open().devices,
  };
}

function watchEvents(devices: DeviceService, told: string[]): void {
  const { events } = devices;
  events.on('device_created', 'test', ({ device }) => told.push(`created ${device.slug}`));
  events.on('device_updated', 'test', ({ device, previous }) =>
    told.push(`updated ${previous.slug} to ${device.slug}`),
  );
  events.on('blueprint_assigned', 'test', ({ device }) => told.push(`blueprint of ${device.slug}`));
  events.on('device_deleted', 'test', ({ device }) => told.push(`deleted ${device.slug}`));
  events.on('properties_received', 'test', ({ device, values }) =>
    told.push(`properties of ${device.slug} ${JSON.stringify(values)}`),
  );
  events.on('property_rejected', 'test', ({ device, property, message }) =>
    told.push(`rejected ${property.slice(0, 20)} of ${device.slug}: ${message}`),
  );
  events.on('connectivity_changed', 'test', ({ device, status }) => told.push(`${device.slug} ${status}`));
}
