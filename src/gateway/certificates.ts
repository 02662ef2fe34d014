/** The certificates of the gateway, where a listener needs them. */
import { join } from 'node:path';
import { messageOf, UnrecoverableError } from '../lib/errors.ts';
import { LIMITS } from '../lib/limits.ts';
import { asSystemFault } from '../lib/system-fault.ts';
import { isLasting } from '../platform/files/index.ts';
import { networkNames } from '../platform/host/index.ts';
import type { Mdns } from '../platform/mdns/index.ts';
import { Tls, type TlsOptions } from '../platform/tls/index.ts';
import type { GatewayOptions, StartedHook } from './infrastructure.ts';

/** Undefined when neither HTTPS nor MQTT over TLS is wanted. */
export async function openCertificates(
  options: GatewayOptions,
  mdns: Mdns | undefined,
  started: StartedHook,
): Promise<Tls | undefined> {
  const { config, clock, log } = options;
  if (!config.https && !config.mqtts) return undefined;
  const { tlsCertificate: certificatePath, tlsPrivateKey: privateKeyPath } = config;
  const tlsOptions: TlsOptions = {
    folder: join(config.dataDir, 'tls'),
    authorityCopy: join(config.dataDir, 'backups', 'authority.pem'),
    clock,
    log: log.child({ component: 'tls' }),
    limits: LIMITS.tls,
    names: () => networkNames(config.publicHost, mdns?.hostName),
    operatorCertificate:
      certificatePath !== undefined && privateKeyPath !== undefined
        ? { certificatePath, privateKeyPath }
        : undefined,
  };
  const tls = await openIfUsable(options, tlsOptions);
  if (!tls) {
    started('keys', restartWhenUsable(options, tlsOptions));
    return undefined;
  }
  tls.start();
  started('tls', () => tls.stop());
  return tls;
}

/**
 * Unusable keys must not stop services that need none. New keys are not made automatically: no device could connect over TLS
 * with them, so a person decides.
 */
async function openIfUsable({ config, log }: GatewayOptions, options: TlsOptions): Promise<Tls | undefined> {
  try {
    return await Tls.open(options);
  } catch (error) {
    log.error(
      'TLS is off: its keys cannot be used; restore a backup, or mend the file that the error names',
      {
        folder: options.folder,
        error,
      },
    );
    if (config.http) return undefined;
    // Without listeners there is no service. A refusal of the system, such as a full disk, may be over at the next
    // start.
    if (!isLasting(error)) throw asSystemFault(error);
    throw new UnrecoverableError(`TLS cannot be used: ${messageOf(error)}`, { cause: error });
  }
}

/** Requests a restart as soon as the keys can be used; the returned function ends the checks. */
function restartWhenUsable({ clock, log, requestRestart }: GatewayOptions, options: TlsOptions): () => void {
  const look = async (): Promise<void> => {
    try {
      await Tls.open(options);
      looking.cancel();
      requestRestart?.('the keys of TLS can be used again');
    } catch (error) {
      log.debug('the keys of TLS cannot be used yet', { error });
    }
  };
  const looking = clock.setRepeating(LIMITS.tls.checkIntervalMs, () => void look());
  return () => looking.cancel();
}
