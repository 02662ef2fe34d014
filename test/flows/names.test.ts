/** A name of the owner's own, as docs/names.md promises it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { startTestGateway } from '../support/test-gateway.ts';

const NAME = 'gateway.example';

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
