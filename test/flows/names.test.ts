/** A name and a certificate of the owner's own, as docs/names.md promises them. */
import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { makeAuthority } from '../../src/platform/tls/certificates.ts';
import { startTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from '../support/workspace.ts';

const NAME = 'gateway.example';
const DAY_MS = 86_400_000;

/** Undefined when a client that trusts the authority takes the certificate for this name. */
function refusalOf(port: number, ca: string, servername: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, ca, servername });
    socket.on('secureConnect', () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

test('public_host is in both certificates and in new connection configurations', async (t) => {
  const gateway = await startTestGateway(t, {
    environment: { GATEWAY_PUBLIC_HOST: NAME, GATEWAY_HTTPS: 'true', GATEWAY_MQTTS: 'true' },
  });
  const ca = String((await gateway.call(null, 'GET', '/ca.pem')).body);
  const { httpsPort, mqttsPort } = gateway.ports;
  for (const port of [httpsPort, mqttsPort]) {
    assert.ok(port !== undefined);
    for (const name of [NAME, 'localhost']) assert.equal(await refusalOf(port, ca, name), undefined);
    assert.equal(await refusalOf(port, ca, 'other.example'), 'ERR_TLS_CERT_ALTNAME_INVALID');
  }
  const { config } = await gateway.ok('INSTALLER', 'POST', '/v3/provisioning/standalone', { name: 'Roof' });
  assert.equal((config as { mqtt_host: string }).mqtt_host, NAME);
});

test("an operator's certificate that ends soon, or cannot be used, raises an alert with the reason", async (t) => {
  const folder = temporaryFolder(t);
  const [certificatePath, keyPath] = [join(folder, 'own.pem'), join(folder, 'own.key')];
  const validity = { validFromMs: Date.now() - DAY_MS, validToMs: Date.now() + 5 * DAY_MS };
  const own = await makeAuthority({ ...validity, commonName: NAME, serial: '01' });
  writeFileSync(certificatePath, own.certificatePem);
  writeFileSync(keyPath, own.privateKeyPem);
  const environment = {
    GATEWAY_HTTPS: 'true',
    GATEWAY_TLS_CERTIFICATE: certificatePath,
    GATEWAY_TLS_PRIVATE_KEY: keyPath,
  };
  const gateway = await startTestGateway(t, { environment });
  const detailsOf = async (name: string): Promise<string | undefined> => {
    const { alerts } = (await gateway.ok('OWNER', 'GET', '/v3/alerts')) as {
      alerts: { name: string; details: string | null }[];
    };
    return alerts.find((alert) => alert.name === name)?.details ?? undefined;
  };
  await until(async () => (await detailsOf('certificate_expiring')) !== undefined);
  assert.match((await detailsOf('certificate_expiring')) ?? '', /own\.pem expires on \d{4}-\d\d-\d\d\.$/);
  await gateway.stop();
  const cipher = { format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'secret' } as const;
  writeFileSync(keyPath, createPrivateKey(own.privateKeyPem).export(cipher));
  await gateway.start();
  await until(async () => (await detailsOf('certificate_unusable')) !== undefined);
  assert.match((await detailsOf('certificate_unusable')) ?? '', /own\.key is encrypted with a password/);
});
