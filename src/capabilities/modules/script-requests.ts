/** Requests of device scripts: their storage, which is kept until the device is deleted, and commands to other devices. */
import { messageOf } from '../../lib/errors.ts';
import { writableJson } from '../../lib/json.ts';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { KeyValueStore } from '../../platform/sqlite/index.ts';
import type { FromModule, ToModule } from '../../protocol/module.ts';
import type { Commands } from '../commands/index.ts';
import type { Device, Devices } from '../devices/index.ts';

export type StorageRequest = FromModule & { type: 'storage_read' | 'storage_write' | 'storage_remove' };

/** Executes a storage request of a script; `error` is a sentence for the script. */
export function answerStorage(
  { store, log, limits }: { store: KeyValueStore<Buffer>; log: Log; limits: Limits['module'] },
  deviceId: string,
  request: StorageRequest,
): { value?: Buffer; error?: string } {
  const { key } = request;
  try {
    if (request.type === 'storage_read') {
      const value = store.read(deviceId, key);
      return value ? { value } : {};
    }
    if (request.type === 'storage_remove') store.remove(deviceId, key);
    else {
      const sizeBytes = Buffer.byteLength(key) + request.value.length;
      if (store.bytesBeside(deviceId, key) + sizeBytes > limits.storageBytes)
        return { error: `The storage of a device holds at most ${limits.storageBytes} bytes.` };
      // A script may write the same every second; the card need not know.
      if (!store.read(deviceId, key)?.equals(request.value)) store.write(deviceId, key, request.value);
    }
    return {};
  } catch (error) {
    log.warnLimited('storage', 60_000, 'storage of a script failed', { device_id: deviceId, error });
    return { error: 'The gateway cannot store anything now.' };
  }
}

type CommandMessage = FromModule & { type: 'command' };
type Outcome = Pick<ToModule & { type: 'answer' }, 'state' | 'payload' | 'error'>;

/** Sends a command to another device. Never rejects; `error` is a sentence for the script. */
export async function executePeerCommand(
  { commands, devices }: { commands: Commands; devices: Devices },
  device: Device,
  message: CommandMessage,
): Promise<Outcome> {
  const target = targetOf(devices, message);
  if (!target) return { error: `There is no device "${message.target}".` };
  // Commands of a device run one after another, so it would wait for itself.
  if (target.id === device.id) return { error: 'A device cannot command itself.' };
  const origin = { kind: 'device', id: device.id, name: device.name } as const;
  try {
    const request = { name: message.name, arguments: tableOf(message.arguments) ?? {} };
    const caller = { role: 'SYSTEM', origin } as const;
    const ended = await commands.executeWithin(message.timeout_ms, target, request, caller);
    if (!ended) return { error: 'timeout' };
    const payload = ended.response?.payload ?? {};
    return { state: ended.state === 'SUCCESS' ? 'completed' : 'error', payload };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

function targetOf(devices: Devices, message: CommandMessage): Device | undefined {
  const { target, target_channel_id: channelId } = message;
  const atAddress = channelId === undefined ? undefined : devices.atAddress(target, channelId);
  // Published scripts always name a channel, also where a person configured an id or a slug.
  return atAddress ?? devices.find(target);
}

/** Values of a script as JSON, with all digits of its integers. */
export const tableOf = (values: Record<string, unknown> | undefined): Record<string, unknown> | undefined =>
  writableJson(values) as Record<string, unknown> | undefined;

// Requests to modules, each with a time limit.

type AnsweredMessage = ToModule & { type: 'configuration_check' | 'configuration_read' };
type Without<Message, Name extends string> = Message extends unknown ? Omit<Message, Name> : never;
type ModuleRequest = Without<AnsweredMessage, 'id'>;
/** A request that concerns one device of a module. */
export type DeviceRequest = Without<AnsweredMessage, 'id' | 'channel_id'>;
export type ModuleAnswer = FromModule & { type: 'configuration_verdict' | 'configuration_values' };

export type ModuleRequests = ReturnType<typeof createModuleRequests>;

export function createModuleRequests(options: {
  clock: Clock;
  withinMs: DurationMs;
  send: (module: Device, message: ToModule) => void;
}) {
  const open = new Map<string, { moduleId: string; finish: (answer: ModuleAnswer | undefined) => void }>();
  let lastId = 0;

  return {
    /** Resolves with the answer of the module; undefined when none comes in time. Never rejects. */
    send: (module: Device, request: ModuleRequest) =>
      new Promise<ModuleAnswer | undefined>((resolve) => {
        const id = String(++lastId);
        const timer = options.clock.setTimer(options.withinMs, () => finish(undefined));
        const finish = (answer: ModuleAnswer | undefined): void => {
          timer.cancel();
          open.delete(id);
          resolve(answer);
        };
        open.set(id, { moduleId: module.id, finish });
        options.send(module, { ...request, id });
      }),
    /** Handles an answer. False when no request to this module waits for it. */
    settle: (module: Device, answer: ModuleAnswer) => {
      const waiting = open.get(answer.id);
      if (waiting?.moduleId !== module.id) return false;
      waiting.finish(answer);
      return true;
    },
    /** Ends open requests to a module that will not answer. */
    giveUp: (module: Device) => {
      for (const { moduleId, finish } of open.values()) if (moduleId === module.id) finish(undefined);
    },
  };
}
