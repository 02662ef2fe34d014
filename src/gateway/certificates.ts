/** The certificates of the gateway, where a listener needs them. */
import { join } from 'node:path';
import { LIMITS } from '../lib/limits.ts';
import { networkNames } from '../platform/host/index.ts';
import type { Mdns } from '../platform/mdns/index.ts';
import { createTls, type Tls } from '../platform/tls/index.ts';
import type { GatewayOptions, StartedHook } from './ground.ts';

/** Undefined when neither HTTPS nor MQTT over TLS is wanted. */
export async function openCertificates(
  { config, clock, log }: GatewayOptions,
  mdns: Mdns | undefined,
  started: StartedHook,
): Promise<Tls | undefined> {
  if (!config.https && !config.mqtts) return undefined;
  const { tlsCertificate: certificatePath, tlsPrivateKey: privateKeyPath } = config;
  const tls = await createTls({
    folder: join(config.dataDir, 'tls'),
    clock,
    log: log.child({ component: 'tls' }),
    limits: LIMITS.tls,
    names: () => networkNames(config.publicHost, mdns?.hostName),
    operatorCertificate:
      certificatePath !== undefined && privateKeyPath !== undefined
        ? { certificatePath, privateKeyPath }
        : undefined,
  });
  tls.start();
  started('tls', () => tls.stop());
  return tls;
}
