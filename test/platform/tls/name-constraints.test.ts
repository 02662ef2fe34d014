/** What trusting the authority of a gateway means: local names and those of this gateway, and nothing else. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import {
  connect,
  type ConnectionOptions,
  createServer,
  type SecureContextOptions,
  type TLSSocket,
} from 'node:tls';
import { makeCertificate } from '../../../src/platform/tls/certificates.ts';
import { LONG_VALIDITY, parseKeyFile } from '../../../src/platform/tls/model.ts';
import { constraintsOf, encodeNameConstraints } from '../../../src/platform/tls/name-constraints.ts';
import { assertOpenssl, startBench } from './support.ts';

/** A handshake with a server of this context; resolves with the client's socket. */
async function handshake(
  t: TestContext,
  context: SecureContextOptions,
  options: ConnectionOptions,
): Promise<TLSSocket> {
  const server = createServer(context, (socket) => socket.on('error', () => undefined));
  server.on('tlsClientError', () => undefined);
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', ...options });
  t.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

/** What somebody who stole the key of the authority could make. */
async function forged(folder: string, caPem: string, names: { dns?: string[]; ips?: string[] }) {
  const text = readFileSync(join(folder, 'authority.pem'), 'utf8');
  const { privateKeyPem } = parseKeyFile(caPem, text, 'authority.pem');
  const request = { commonName: 'x', serial: '4001', purpose: 'server', ...LONG_VALIDITY } as const;
  const made = await makeCertificate(
    { privateKeyPem, certificatePem: caPem },
    { ...request, names: { dns: names.dns ?? [], ips: names.ips ?? [] } },
  );
  return { key: made.privateKeyPem, cert: made.certificatePem };
}

describe('a certificate of the authority for a name outside of local networks', () => {
  test('a certificate for a name outside of local networks is refused by those who trust the authority', async (t) => {
    const { folder, open } = startBench(t);
    const { caPem } = await open();
    for (const names of [
      { dns: ['bank.example.com'] },
      { dns: ['com'] },
      { ips: ['192.0.2.8'] },
      { ips: ['2001:db8::1'] },
    ]) {
      const context = await forged(folder, caPem, names);
      await assert.rejects(
        handshake(t, context, {
          ca: caPem,
          servername: 'bank.example.com',
          checkServerIdentity: () => undefined,
        }),
        /permitted subtree violation/,
        JSON.stringify(names),
      );
      await assertOpenssl(t, {
        caPem,
        pem: context.cert,
        purpose: 'sslserver',
        refusal: /permitted subtree violation/,
      });
    }
  });

  test('no certificate is made for a public name set later: the log says so, and the rest is served', async (t) => {
    const { open, names, lines } = startBench(t);
    const first = await open();
    names.dns.push('depot.example.com', 'renamed.local');
    names.ips.push('198.51.100.4', '10.1.2.3', 'fd00::5');
    const tls = await open();
    const { caPem } = tls;
    assert.equal(caPem, first.caPem);
    const certificate = new X509Certificate(tls.serverContext().cert as string);
    assert.equal(certificate.checkHost('depot.example.com'), undefined);
    assert.equal(certificate.checkIP('198.51.100.4'), undefined);
    assert.equal(certificate.checkHost('renamed.local'), 'renamed.local');
    assert.equal(certificate.checkIP('fd00::5'), 'fd00::5');
    await handshake(t, tls.serverContext(), { ca: caPem, host: '127.0.0.1', servername: 'renamed.local' });
    const told = lines.filter(({ level, names: refused }) => level === 'warn' && refused !== undefined);
    assert.deepEqual(told[0]?.names, ['depot.example.com', '198.51.100.4']);
  });
});

describe('the authority', () => {
  test('the authority may speak for the names that the gateway has when it is made', async (t) => {
    const { open, names } = startBench(t);
    names.dns.push('depot.example.com');
    names.ips.push('2001:db8::7');
    const tls = await open();
    const { caPem } = tls;
    const certificate = new X509Certificate(tls.serverContext().cert as string);
    for (const name of names.dns) assert.equal(certificate.checkHost(name), name);
    for (const address of names.ips) assert.equal(certificate.checkIP(address), address);
    await handshake(t, tls.serverContext(), { ca: caPem, servername: 'depot.example.com' });
  });

  test('the authority stays and speaks for every name when it is of an earlier version, without such bounds', async (t) => {
    const { folder, open, names } = startBench(t);
    const { makeAuthority } = await import('../../../src/platform/tls/certificates.ts');
    const { openKeyFolder, writeKeyFile } = await import('../../../src/platform/tls/model.ts');
    openKeyFolder(folder);
    const old = await makeAuthority({
      commonName: 'Energy Gateway CA old',
      serial: '4002',
      ...LONG_VALIDITY,
    });
    writeKeyFile(join(folder, 'authority.pem'), old);
    assert.equal(constraintsOf(new X509Certificate(old.certificatePem)), undefined);
    names.dns.push('depot.example.com');
    const tls = await open();
    const { caPem } = tls;
    assert.equal(caPem, old.certificatePem);
    assert.equal(
      new X509Certificate(tls.serverContext().cert as string).checkHost('depot.example.com'),
      'depot.example.com',
    );
  });

  test('the authority shows its bounds as they were written', async (t) => {
    const { open } = startBench(t);
    const { caPem } = await open();
    const read = constraintsOf(new X509Certificate(caPem));
    assert.ok(read);
    assert.ok(read.domains.includes('local') && read.domains.includes('gateway'));
    assert.ok(read.networks.some(([address, prefix]) => address === '172.16.0.0' && prefix === 12));
    assert.ok(read.networks.some(([address, prefix]) => address === '192.0.2.7' && prefix === 32));
    assert.ok(new X509Certificate(caPem).raw.includes(encodeNameConstraints(read)));
  });
});

describe('both listeners', () => {
  test('both listeners refuse ciphers that do not authenticate what they encrypt, and protocols before TLS 1.2', async (t) => {
    const { open } = startBench(t);
    const tls = await open();
    for (const context of [tls.serverContext(), tls.deviceContext()]) {
      for (const ciphers of [
        'ECDHE-ECDSA-AES128-SHA256',
        'ECDHE-ECDSA-AES256-SHA',
        'AES128-SHA',
        'AES128-GCM-SHA256',
      ])
        await assert.rejects(
          handshake(t, context, { ca: tls.caPem, maxVersion: 'TLSv1.2', ciphers: `${ciphers}:@SECLEVEL=0` }),
          /handshake failure|alert|no ciphers/i,
          ciphers,
        );
      await assert.rejects(
        handshake(t, context, {
          ca: tls.caPem,
          minVersion: 'TLSv1',
          maxVersion: 'TLSv1.1',
          ciphers: 'ALL:@SECLEVEL=0',
        }),
      );
    }
  });

  test('both listeners take AEAD ciphers with TLS 1.2 and with 1.3', async (t) => {
    const { open } = startBench(t);
    const tls = await open();
    for (const context of [tls.serverContext(), tls.deviceContext()])
      for (const [maxVersion, ciphers] of [
        ['TLSv1.2', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
        ['TLSv1.2', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
        ['TLSv1.2', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
        ['TLSv1.3', 'TLS_AES_128_GCM_SHA256'],
      ] as const) {
        const socket = await handshake(t, context, { ca: tls.caPem, maxVersion, ciphers });
        assert.equal(socket.getCipher().name, ciphers);
      }
  });
});
