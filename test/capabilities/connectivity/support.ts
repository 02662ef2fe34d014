/** Connectivity over real records; the test plays the broker: it opens sessions and hands over messages. */
import type { TestContext } from 'node:test';
import { Connectivity, type DeviceMessage } from '../../../src/capabilities/connectivity/index.ts';
import type { Device } from '../../../src/capabilities/devices/index.ts';
import { MqttGuests } from '../../../src/capabilities/mqtt-guests/index.ts';
import type { MqttSession } from '../../../src/platform/mqtt/index.ts';
import { type LogLine, recordingLog } from '../../support/workspace.ts';
import { type ProvisioningSetup, startProvisioning } from '../provisioning/support.ts';

export interface ConnectivitySetup extends ProvisioningSetup {
  connectivity: Connectivity;
  /** What reached the handlers. */
  messages: DeviceMessage[];
  /** Log entries of devices, as `slug: sentence`. */
  complaints: string[];
  serviceLog: LogLine[];
  openSession: (device: Device) => MqttSession;
  closeSession: (session: MqttSession) => void;
  /** One message below the device's own address, unless a whole topic is given. */
  deliver: (device: Device, subject: string, payload: unknown, qos?: 0 | 1) => Promise<void> | void;
  deliverAt: (topic: string, payload: unknown, qos?: 0 | 1) => Promise<void> | void;
  /** A standalone device with an address of its own. */
  addStandalone: (name?: string) => Promise<Device>;
  /** A Lua device on the built-in module, or on another one. */
  addLua: (runtime?: Device) => Promise<Device>;
}

export function startConnectivity(test: Pick<TestContext, 'after'>): ConnectivitySetup {
  const setup = startProvisioning(test);
  const { clock, metrics, devices, provisioning } = setup;
  const { log, lines: serviceLog } = recordingLog(clock);
  const mqttGuests = new MqttGuests({ database: setup.database, clock, log });
  const connectivity = new Connectivity({ devices, provisioning, mqttGuests, clock, log, metrics });
  test.after(() => connectivity.stop());
  const messages: DeviceMessage[] = [];
  const complaints: string[] = [];
  for (const kind of ['telemetry', 'properties', 'logs', 'command_responses', 'configuration_read'] as const)
    connectivity.handle(kind, (message) => void messages.push(message));
  connectivity.events.on('message_rejected', 'test', ({ device, message }) =>
    complaints.push(`${device.slug}: ${message}`),
  );
  const { hooks } = connectivity;
  let sessions = 0;
  let scripts = 0;
  const sessionOf = (device: Device): MqttSession => ({
    id: `s${++sessions}`,
    identity: { key: device.communication.hardwareId ?? '' },
    clientId: '',
    remoteAddress: '10.0.0.9',
  });
  const deliverAt = (topic: string, payload: unknown, qos: 0 | 1 = 1): Promise<void> | void =>
    hooks.onMessage({
      session: { id: 's', identity: { key: 'H' }, clientId: '', remoteAddress: '10.0.0.9' },
      topic,
      payload: Buffer.isBuffer(payload)
        ? payload
        : Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload)),
      qos,
      duplicate: false,
      isRetained: false,
      receivedAtMs: clock.wallMs(),
    });
  return {
    ...setup,
    connectivity,
    messages,
    complaints,
    serviceLog,
    openSession: (device) => {
      const session = sessionOf(device);
      hooks.onSessionOpened(session);
      return session;
    },
    closeSession: (session) => hooks.onSessionClosed(session, 'lost'),
    deliverAt,
    deliver: ({ communication }, subject, payload, qos) =>
      deliverAt(`v1/from/${communication.hardwareId}/${communication.channelId}/${subject}`, payload, qos),
    addStandalone: async (name = 'Battery') => (await provisioning.standalone({ name }, 'localhost')).device,
    addLua: async (runtime) =>
      provisioning.luaDevice({
        name: `Lua ${++scripts}`,
        runtimeId: runtime?.id ?? 'gateway',
        blueprintId: await setup.upload('', 'return 1'),
      }),
  };
}
