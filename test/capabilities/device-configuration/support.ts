/** The service of configuration on a real state.db, with one device of a compiled manifest. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { CompiledManifest } from '../../../src/capabilities/blueprints/index.ts';
import {
  DeviceConfiguration,
  type ConfigurationChange,
} from '../../../src/capabilities/device-configuration/index.ts';
import type { Device } from '../../../src/capabilities/devices/index.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import type { Role } from '../../../src/lib/role.ts';
import { SecretSealer } from '../../../src/platform/files/index.ts';
import type { Database } from '../../../src/platform/sqlite/index.ts';
import { openMigrated } from '../../support/databases.ts';
import { createDeviceFaces, type DeviceFaces } from '../../support/device-faces.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';
import { compiled, manifestWith } from '../blueprints/support.ts';

export const PARAMETERS =
  '      address: {display_name: A, type: string, format: connection_uri, required: true}\n' +
  '      password: {display_name: P, type: string, sensitive: true}\n' +
  '      limit: {display_name: L, type: integer, min: 0, max: 10, default: 5}\n' +
  '      mode: {display_name: M, type: string, enum: [auto, manual]}\n' +
  '      tags: {display_name: T, type: array_of_strings}\n' +
  `      extra: {display_name: E, type: json, json_schema: '{"type": ["object", "null"]}'}\n` +
  '      since: {display_name: S, type: string, format: datetime}\n';

/** A manifest with the groups `main` (of the given parameters and level) and `other`. */
export function manifestOf(parameters: string, level = 'owner'): CompiledManifest {
  return compiled(
    manifestWith(
      `configuration:\n  main:\n    display_name: Main\n    access_level: ${level}\n    parameters:\n${parameters}` +
        '  other:\n    display_name: Other\n    parameters:\n      note: {display_name: N, type: string}\n',
    ),
  ).manifest;
}

export interface ConfigurationSetup extends DeviceFaces {
  configuration: DeviceConfiguration;
  device: Device;
  database: Database;
  /** Reported changes. */
  changes: [group: string, values: Record<string, unknown>][];
  /** Changes group `main`, as OWNER unless said otherwise. */
  update: (change: Partial<ConfigurationChange>, role?: Role) => Record<string, unknown>;
  /** A second service over the same database, as after a restart. */
  restart: () => DeviceConfiguration;
}

export function startConfiguration(test: Pick<TestContext, 'after'>): ConfigurationSetup {
  const clock = new TestClock();
  const { log } = recordingLog(clock);
  const folder = temporaryFolder(test);
  const database = openMigrated('state', {
    path: join(folder, 'state.db'),
    clock,
    log,
  });
  test.after(() => database.close());
  const faces = createDeviceFaces({ state: database, clock });
  const sealer = new SecretSealer({ path: join(folder, 'secrets.key'), dataDir: join(folder, 'data'), log });
  const restart = (): DeviceConfiguration =>
    new DeviceConfiguration({ database, sealer, clock, log, devices: faces.devices });
  const configuration = restart();
  const device = faces.addDevice({ manifest: manifestOf(PARAMETERS) });
  const changes: ConfigurationSetup['changes'] = [];
  configuration.events.on('configuration_changed', 'test', ({ group, values }) => {
    changes.push([group, values]);
  });
  return {
    ...faces,
    configuration,
    device,
    database,
    changes,
    update: ({ set = {}, reset = [] }, role = 'OWNER') =>
      configuration.update(device, 'main', role, { set, reset }),
    restart,
  };
}

/** Code and message of each problem the work is refused with. */
export function problemsOf(work: () => unknown): string[] {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return error.problems.map(({ code, message }) => `${code}: ${message}`);
  }
  return assert.fail('was not refused');
}
