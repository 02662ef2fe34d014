/** Provisioning over real records; certificates are made up where a test wants TLS. */
import type { TestContext } from 'node:test';
import { type CertificateIssuer, Provisioning } from '../../../src/capabilities/provisioning/index.ts';
import { createSite, type Site } from '../../../src/capabilities/site/index.ts';
import type { Limits } from '../../../src/lib/limits.ts';
import { recordingLog } from '../../support/workspace.ts';
import { type DevicesSetup, startDevices } from '../devices/support.ts';

export interface ProvisioningSetup extends DevicesSetup {
  provisioning: Provisioning;
  site: Site;
  /** Hardware ids whose credentials were reported as void. */
  revoked: string[];
  /** Ports of listeners; undefined: off. */
  ports: { mqtt: number | undefined; mqtts: number | undefined };
  /** Provisioning over the same records after a restart. */
  restartProvisioning: () => Provisioning;
}

export function startProvisioning(
  test: Pick<TestContext, 'after'>,
  options: { publicHost?: string; tls?: boolean; limits?: Partial<Limits['devices']> } = {},
): ProvisioningSetup {
  const setup = startDevices(test, options.limits);
  const { database, clock } = setup;
  const { log } = recordingLog(clock);
  const site = createSite({ database, clock, log, defaultName: 'Depot', defaultTimezone: 'UTC' });
  const ports: ProvisioningSetup['ports'] = { mqtt: 1_883, mqtts: options.tls ? 8_883 : undefined };
  const open = (devices = setup.devices): Provisioning =>
    new Provisioning({
      database,
      clock,
      log,
      devices,
      gatewayName: 'box',
      ...(options.tls && { certificates: createIssuer() }),
      addresses: {
        publicHost: options.publicHost,
        httpPort: () => 8_080,
        mqttPort: () => ports.mqtt,
        mqttsPort: () => ports.mqtts,
      },
    });
  const provisioning = open();
  const revoked: string[] = [];
  provisioning.events.on('credentials_revoked', 'test', ({ hardwareId }) => revoked.push(hardwareId));
  return {
    ...setup,
    provisioning,
    site,
    revoked,
    ports,
    restartProvisioning: () => open(setup.restart()),
  };
}

function createIssuer(): CertificateIssuer {
  let issued = 0;
  return {
    caPem: 'CA',
    issueClientCertificate: async (hardwareId) => {
      issued++;
      return {
        privateKeyPem: `KEY ${issued}`,
        certificatePem: `CERTIFICATE ${hardwareId} ${issued}`,
        serial: String(issued),
        fingerprint: `f${issued}`,
      };
    },
  };
}
