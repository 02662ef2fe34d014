/** HTTPS and MQTT over TLS as small devices speak them: a client of Mbed TLS, built here with the system's compiler. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Dialler, provisionDialler } from '../support/device-dial.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { PROJECT_ROOT, temporaryFolder } from '../support/workspace.ts';

const canBuild =
  existsSync('/usr/include/mbedtls/ssl.h') &&
  spawnSync('cc', ['--version'], { stdio: 'ignore' }).status === 0;
const skip = !canBuild && 'cc or Mbed TLS (package libmbedtls-dev) is not installed';
const LIBRARIES = ['-lmbedtls', '-lmbedx509', '-lmbedcrypto'];

const REQUEST = Buffer.from('GET /healthz HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n');
/** CONNECT of MQTT 3.1.1: clean session, keep alive of 60 s, client id `esp`. */
const CONNECT = Buffer.from('\x10\x0f\x00\x04MQTT\x04\x02\x00\x3c\x00\x03esp', 'latin1');
const CONNACK = Buffer.from([0x20, 2, 0, 0]);
/** Code of 2 048 bytes, of RFC 6066. */
const TWO_KIB = '3';

interface Ran {
  code: number | null;
  output: Buffer;
  errors: string;
}

describe('a client with Mbed TLS', { skip }, () => {
  const ends: (() => unknown)[] = [];
  const owner = { after: (end: () => unknown) => void ends.push(end) };
  const folder = temporaryFolder(owner);
  const program = join(folder, 'client');
  let gateway: TestGateway;
  let device: Dialler;

  before(async () => {
    const source = join(PROJECT_ROOT, 'test/support/mbedtls-client.c');
    const built = spawnSync('cc', ['-Wall', '-Werror', '-o', program, source, ...LIBRARIES], {
      encoding: 'utf8',
    });
    assert.equal(built.status, 0, built.stderr);
    gateway = await startTestGateway(owner, {
      environment: { GATEWAY_HTTPS: 'true', GATEWAY_MQTTS: 'true' },
    });
    device = await provisionDialler(gateway, 'MQTTS');
    const { credentials } = device.config;
    assert.ok(credentials.protocol === 'MQTTS');
    writeFileSync(join(folder, 'device.pem'), credentials.certificate);
    writeFileSync(join(folder, 'device.key'), credentials.privateKey, { mode: 0o600 });
    writeFileSync(join(folder, 'ca_chain.pem'), credentials.caChain);
    const authority = await fetch(`${gateway.origin}/ca.pem`);
    writeFileSync(join(folder, 'ca.pem'), await authority.text());
  });
  after(async () => {
    for (const end of ends.toReversed()) await end();
  });

  /** One connection to a port, by the name that the certificate must have. */
  function run(
    port: number | undefined,
    name: string,
    files: string[],
    sent: Buffer,
    fragment?: string,
  ): Promise<Ran> {
    const paths = files.map((file) => join(folder, file));
    const env = { ...process.env, ...(fragment !== undefined && { FRAGMENT: fragment }) };
    const child = spawn(program, [String(port), name, ...paths], { env });
    const output: Buffer[] = [];
    let errors = '';
    child.stdout.on('data', (part: Buffer) => output.push(part));
    child.stderr.on('data', (part: Buffer) => (errors += part.toString()));
    child.stdin.end(sent);
    return new Promise((resolve) =>
      child.once('close', (code) => resolve({ code, output: Buffer.concat(output), errors })),
    );
  }
  const DEVICE_FILES = ['ca_chain.pem', 'device.pem', 'device.key'];

  test('a client with Mbed TLS refuses the gateway under a name that its certificate does not have', async () => {
    const { code, errors } = await run(gateway.ports.httpsPort, 'other.example', ['ca.pem'], REQUEST);
    assert.equal(code, 1);
    assert.match(errors, /does not match with the expected CN/);
  });

  test('a client with Mbed TLS reads over HTTPS by name, with the authority of /ca.pem', async () => {
    const { output, errors } = await run(gateway.ports.httpsPort, 'localhost', ['ca.pem'], REQUEST);
    assert.match(output.toString(), /^HTTP\/1\.1 200 OK\r\n/, errors);
  });

  test('a client with Mbed TLS logs in over MQTT with its certificate, by name', async () => {
    const { output, errors } = await run(gateway.ports.mqttsPort, 'localhost', DEVICE_FILES, CONNECT);
    assert.deepEqual(output, CONNACK, errors);
  });

  test('a client with Mbed TLS logs in with buffers of 2 KiB', async () => {
    const { output, errors } = await run(
      gateway.ports.mqttsPort,
      'localhost',
      DEVICE_FILES,
      CONNECT,
      TWO_KIB,
    );
    assert.deepEqual(output, CONNACK, errors);
  });
});
