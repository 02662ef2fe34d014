/** A thread that runs scripts of devices, up to a few dozen, each in a Lua state of its own. */
import { LIMITS } from '../lib/limits.ts';
import { hostScripts } from '#scripting/host';
import { UdpSockets } from './field/udp-port.ts';
import { DeviceScript } from './runtime/device-script.ts';
import type { DeviceTypes } from './thread-messages.ts';

const udpSockets = new UdpSockets();

hostScripts<DeviceTypes>((start, port) => {
  const script = new DeviceScript({
    start,
    scripts: port.scripts,
    clock: port.clock,
    limits: LIMITS,
    udpSockets,
    surroundings: port.shared,
    post: (event) => {
      port.tell(event);
      if (event.kind === 'failed') port.over();
    },
    call: port.request,
  });
  return {
    order: (order) => script.take(order),
    stop: () => script.close(),
    sharedChanged: (before) => {
      const { isConnected } = port.shared();
      if (before.isConnected !== isConnected) script.connectionChanged(isConnected);
    },
  };
});
