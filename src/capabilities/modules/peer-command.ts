/** A command that a script sends to another device of the site. */
import { messageOf } from '../../lib/errors.ts';
import type { FromModule, ToModule } from '../../protocol/module.ts';
import type { Commands } from '../commands/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import { tableOf } from './values.ts';

type CommandMessage = FromModule & { type: 'command' };
type Outcome = Pick<ToModule & { type: 'answer' }, 'state' | 'payload' | 'error'>;

/** Never rejects; `error` is a sentence for the script. */
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
