/** A communication module that a test plays over real MQTT. */
import {
  decodeToModule,
  encodeModuleMessage,
  type FromModule,
  MODULE_SUBJECT,
  type ToModule,
} from '../../../src/protocol/module.ts';
import type { MockDevice, Session } from '../../support/mock-device.ts';
import type { TestGateway } from '../../support/test-gateway.ts';
import { until } from '../../support/until.ts';

/** A module as the test plays it. */
export class PlayedModule {
  readonly device: MockDevice;
  readonly messages: ToModule[] = [];

  constructor(device: MockDevice) {
    this.device = device;
  }

  async connect(): Promise<Session> {
    const session = await this.device.open();
    const { client } = session;
    const { hardwareId } = this.device.config;
    client.on('message', (topic, payload) => {
      if (!topic.endsWith(MODULE_SUBJECT)) return;
      const decoded = decodeToModule(payload);
      if (!('message' in decoded)) throw new Error(decoded.problem);
      this.messages.push(decoded.message);
    });
    await this.device.subscribe(`v1/to/${hardwareId}/ucm/${MODULE_SUBJECT}`);
    await this.device.subscribe(`v1/to/${hardwareId}/+/v1/command/requests`);
    return session;
  }

  say(message: FromModule): Promise<void> {
    return this.device.publish(this.device.from(MODULE_SUBJECT), encodeModuleMessage(message));
  }

  /** The next message of a type, in the order of arrival; those before it are dropped. */
  async next<Type extends ToModule['type']>(type: Type): Promise<ToModule & { type: Type }> {
    const find = (): number => this.messages.findIndex((message) => message.type === type);
    await until(() => find() >= 0);
    const [message] = this.messages.splice(0, find() + 1).slice(-1);
    return message as ToModule & { type: Type };
  }
}

export async function provisionModule(
  gateway: TestGateway,
  name: string,
  hardwareId: string,
): Promise<PlayedModule> {
  const body = { name, hardware_id: hardwareId };
  const made = await gateway.ok('OWNER', 'POST', '/v3/provisioning/vucm', body);
  return new PlayedModule(gateway.deviceOf(made));
}
