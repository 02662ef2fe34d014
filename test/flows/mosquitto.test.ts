/**
 * MQTT over TLS as other software speaks it: `mosquitto_sub` and `mosquitto_pub`, and beside them the client
 * library, which is asked the same where those programs are not installed.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { createCredentialStore } from '../../src/capabilities/provisioning/store.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { openDatabase } from '../../src/platform/sqlite/index.ts';
import { makeCertificate } from '../../src/platform/tls/certificates.ts';
import { fingerprintOf } from '../../src/platform/tls/index.ts';
import { readKeyFile } from '../../src/platform/tls/model.ts';
import { dial, type Dialler, provisionDialler } from '../support/device-dial.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { MIGRATIONS_DIR, recordingLog } from '../support/workspace.ts';

/** 5 is CONNACK "not authorized"; what ends the connection without one has a code for each version. */
const NOT_AUTHORIZED = 5;

interface Ran {
  code: number | null;
  output: string;
}

const DAY_MS = 86_400_000;

const start = (t: TestContext): Promise<TestGateway> =>
  startTestGateway(t, { environment: { GATEWAY_MQTTS: 'true' } });

/** Undefined, and said so, where the program is not installed. */
async function run(
  t: TestContext,
  program: 'mosquitto_sub' | 'mosquitto_pub',
  { gateway, device }: { gateway: TestGateway; device: Dialler },
  options: readonly string[],
): Promise<Ran | undefined> {
  const { credentials } = device.config;
  assert.ok(credentials.protocol === 'MQTTS');
  const folder = mkdtempSync(join(tmpdir(), 'gateway-mosquitto-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const { caChain: cafile, certificate: cert, privateKey: key } = credentials;
  const files = Object.entries({ cafile, cert, key }).flatMap(([name, pem]) => {
    const path = join(folder, `${name}.pem`);
    writeFileSync(path, pem, { mode: 0o600 });
    return [`--${name}`, path];
  });
  const where = ['-h', 'localhost', '-p', String(gateway.ports.mqttsPort), '-V', 'mqttv311', '-q', '1'];
  const child = spawn(program, [...where, ...files, ...options], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part: Buffer) => (output += part.toString('utf8')));
  const ran = await new Promise<Ran | undefined>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ENOENT' ? resolve(undefined) : reject(error),
    );
    child.once('close', (code) => resolve({ code, output }));
  });
  if (!ran) t.diagnostic(`${program} is not installed (package mosquitto-clients): not asked`);
  return ran;
}

/** One try to open a session, by both clients. */
async function assertRefused(
  t: TestContext,
  at: { gateway: TestGateway; device: Dialler },
  expected: { hasAnswer: boolean; library: object },
): Promise<void> {
  await assert.rejects(at.device.dial(), expected.library);
  const ran = await run(t, 'mosquitto_sub', at, ['-t', `v1/to/${at.device.hardwareId}/#`, '-W', '5']);
  if (!ran) return;
  assert.equal(ran.code === NOT_AUTHORIZED, expected.hasAnswer, ran.output);
  assert.notEqual(ran.code, 0, ran.output);
}

const REVOKED = { hasAnswer: true, library: { code: 5 } };
const STRANGER = { hasAnswer: false, library: { message: /closed before CONNACK/ } };

/** A certificate for the device with other dates, by the gateway's own authority; in the database or not. */
async function withDates(
  gateway: TestGateway,
  device: Dialler,
  dates: { fromMs: number; toMs: number },
  isIssued: boolean,
): Promise<Dialler> {
  const { credentials } = device.config;
  assert.ok(credentials.protocol === 'MQTTS');
  const authority = readKeyFile(join(gateway.dataDir, 'tls', 'authority.pem'));
  assert.ok(authority);
  const serial = randomBytes(16).toString('hex').replace(/^./, '4');
  const { certificatePem: certificate, privateKeyPem: privateKey } = await makeCertificate(authority, {
    commonName: device.hardwareId,
    serial,
    validFromMs: dates.fromMs,
    validToMs: dates.toMs,
    purpose: 'client',
  });
  const clock = createSystemClock();
  const database = openDatabase({
    path: join(gateway.dataDir, 'state.db'),
    migrationsDir: join(MIGRATIONS_DIR, 'state'),
    clock,
    log: recordingLog(clock).log,
  });
  try {
    const fingerprint = fingerprintOf(certificate);
    const record = { fingerprint, serial, hardwareId: device.hardwareId };
    if (isIssued) createCredentialStore(database).putCertificate(record, device.id, clock.wallMs());
  } finally {
    database.close();
    clock.close();
  }
  const config = { ...device.config, credentials: { ...credentials, certificate, privateKey } };
  return { ...device, config, dial: (options) => dial(gateway, config, options) };
}

const DATES = [
  ['expired', { fromMs: 0, toMs: DAY_MS }],
  ['not yet valid', { fromMs: Date.UTC(2100, 0), toMs: Date.UTC(2110, 0) }],
] as const;

describe('a client with a certificate over TLS is refused', () => {
  test('a client with a certificate over TLS is refused after its device was deleted', async (t) => {
    const gateway = await start(t);
    const device = await provisionDialler(gateway, 'MQTTS');
    await gateway.ok('OWNER', 'DELETE', `/v3/devices/${device.id}`);
    await assertRefused(t, { gateway, device }, REVOKED);
  });

  test('a client with a certificate over TLS is refused when another authority made its certificate, before any MQTT', async (t) => {
    const [gateway, elsewhere] = [await start(t), await start(t)];
    const [own, foreign] = [
      await provisionDialler(gateway, 'MQTTS'),
      await provisionDialler(elsewhere, 'MQTTS'),
    ];
    const { credentials: mine } = own.config;
    const { credentials: theirs } = foreign.config;
    assert.ok(mine.protocol === 'MQTTS' && theirs.protocol === 'MQTTS');
    const config = { ...own.config, credentials: { ...theirs, caChain: mine.caChain } };
    const device = { ...own, config, dial: () => dial(gateway, config) };
    await assertRefused(t, { gateway, device }, STRANGER);
  });

  for (const [title, dates] of DATES)
    test(`a client with a certificate over TLS is refused when it is one of ours that was never issued and is ${title}`, async (t) => {
      const gateway = await start(t);
      const device = await withDates(gateway, await provisionDialler(gateway, 'MQTTS'), dates, false);
      await assertRefused(t, { gateway, device }, REVOKED);
    });

  test('a client gets no subscription to topics of another device, and its publications there are dropped', async (t) => {
    const gateway = await start(t);
    const [device, other] = [
      await provisionDialler(gateway, 'MQTTS'),
      await provisionDialler(gateway, 'MQTTS'),
    ];
    const client = await device.dial();
    await assert.rejects(client.subscribeAsync(`v1/to/${other.hardwareId}/#`, { qos: 1 }));
    await client.publishAsync(`v1/from/${other.hardwareId}/ucm/v1/telemetry`, '{}', { qos: 1 });
    const at = { gateway, device };
    const topic = `v1/to/${other.hardwareId}/#`;
    const heard = await run(t, 'mosquitto_sub', at, ['-t', topic, '-W', '5']);
    if (heard) assert.match(heard.output, /denied|rejected|not authori[sz]ed/i);
    const said = await run(t, 'mosquitto_pub', at, [
      '-t',
      `v1/from/${other.hardwareId}/ucm/v1/telemetry`,
      '-m',
      '{}',
    ]);
    if (said) assert.equal(said.code, 0, said.output);
    const { device: seen } = await gateway.ok(
      'READONLY',
      'GET',
      `/v3/devices/${other.id}?expand=connectivity`,
    );
    assert.equal((seen as { connectivity: { status: string } }).connectivity.status, 'OFFLINE');
  });
});

describe('a client with an issued certificate', () => {
  test('a client with an issued certificate gets its requests and publishes, the server checked by name', async (t) => {
    const gateway = await start(t);
    const device = await provisionDialler(gateway, 'MQTTS');
    const at = { gateway, device };
    const path = `/v3/devices/${device.id}`;
    const blueprint_id = await gateway.sampleBlueprintId();
    await gateway.ok('OWNER', 'POST', `${path}/assign_blueprint`, { blueprint_id });
    const said = await run(t, 'mosquitto_pub', at, [
      '-t',
      `v1/from/${device.hardwareId}/ucm/v3/logs`,
      '-m',
      '{"message":"from mosquitto","persist":true}',
    ]);
    if (!said) return;
    assert.equal(said.code, 0, said.output);
    const { logs } = await gateway.ok('OWNER', 'GET', `${path}/logs`);
    assert.match(JSON.stringify(logs), /from mosquitto/);
    const topic = `v1/to/${device.hardwareId}/ucm/v1/command/requests`;
    const listening = run(t, 'mosquitto_sub', at, ['-t', topic, '-C', '1', '-W', '20']);
    // Offline until the subscription is there.
    await until(
      async () =>
        (await gateway.call('OWNER', 'POST', `${path}/commands/executions`, { name: 'start' })).status ===
        200,
    );
    const heard = await listening;
    assert.ok(heard);
    assert.equal(heard.code, 0, heard.output);
    assert.match(heard.output, /"name":"start"/);
  });

  for (const [title, dates] of DATES)
    test(`a client with an issued certificate connects although it is ${title}: only revocation ends it`, async (t) => {
      const gateway = await start(t);
      const device = await withDates(gateway, await provisionDialler(gateway, 'MQTTS'), dates, true);
      const { credentials } = device.config;
      assert.ok(credentials.protocol === 'MQTTS');
      const { validFromDate, validToDate } = new X509Certificate(credentials.certificate);
      assert.deepEqual([validFromDate.getTime(), validToDate.getTime()], [dates.fromMs, dates.toMs]);
      await (await device.dial()).endAsync(true);
      const at = { gateway, device };
      const topic = `v1/from/${device.hardwareId}/ucm/v1/telemetry`;
      const said = await run(t, 'mosquitto_pub', at, ['-t', topic, '-m', '{}']);
      if (said) assert.equal(said.code, 0, said.output);
      await gateway.ok('OWNER', 'DELETE', `/v3/devices/${device.id}`);
      await assertRefused(t, at, REVOKED);
    });
});
