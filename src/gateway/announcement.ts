/** Announces the gateway on the local network. */
import { isAnyAddress } from '../lib/address.ts';
import type { Config } from '../platform/config/index.ts';
import { type AnnouncedService, Mdns } from '../platform/mdns/index.ts';
import type { GatewayOptions, StartedHook } from './infrastructure.ts';

/** Undefined when the gateway is not announced. */
export function createAnnouncement({ config, clock, log }: GatewayOptions): Mdns | undefined {
  return config.mdns ? new Mdns({ name: config.mdnsName, clock, log }) : undefined;
}

/** Ports that listen; undefined for one that does not. */
export interface AnnouncedPorts {
  httpPort: number;
  httpsPort: number | undefined;
  mqttPort: number;
  mqttsPort: number | undefined;
}

/** Announces every listener on the networks that reach it. */
export function announce(
  mdns: Pick<Mdns, 'start' | 'stop'>,
  config: Config,
  ports: AnnouncedPorts,
  started: StartedHook,
): void {
  const httpHost = config.http ? config.httpHost : undefined;
  const all = [
    { type: '_http._tcp', host: httpHost, port: ports.httpPort, texts: ['path=/'] },
    { type: '_https._tcp', host: config.httpHost, port: ports.httpsPort, texts: ['path=/'] },
    { type: '_mqtt._tcp', host: config.mqttHost, port: ports.mqttPort },
    { type: '_secure-mqtt._tcp', host: config.mqttHost, port: ports.mqttsPort },
  ];
  mdns.start((address) =>
    all.flatMap(({ type, host, port, texts }): AnnouncedService[] =>
      port !== undefined && host !== undefined && isReachedAt(host, address)
        ? [{ type, port, ...(texts && { texts }) }]
        : [],
    ),
  );
  started('mdns', () => mdns.stop());
}

function isReachedAt(host: string, address: string): boolean {
  return isAnyAddress(host) || host === address;
}
