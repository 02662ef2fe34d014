/** MQTT over TLS with the real client and certificates of the real authority. */
import assert from 'node:assert/strict';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { connect, connectAsync, type IClientOptions, type MqttClient } from 'mqtt';
import { LIMITS } from '../../../src/lib/limits.ts';
import type { MqttHooks } from '../../../src/platform/mqtt/index.ts';
import { makeCertificate } from '../../../src/platform/tls/certificates.ts';
import { readKeyFile } from '../../../src/platform/tls/model.ts';
import { type ClientCertificate, Tls, fingerprintOf } from '../../../src/platform/tls/index.ts';
import { metric, startTestBroker, type TestBroker } from '../../support/mqtt.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

const NAMES = { dns: ['localhost'], ips: ['127.0.0.1'] };
const DEVICE = 'DEVICE00A';

interface Bench {
  b: TestBroker;
  tls: Tls;
  /** Folder of the keys. */
  folder: string;
  port: number;
  issued: ClientCertificate;
  /** Fingerprint → identity of the certificates that count. */
  valid: Map<string, string>;
  asked: {
    commonName: string;
    serial: string;
    fingerprint: string;
    clientId: string;
    remoteAddress: string;
  }[];
  dial: (certificate: Partial<ClientCertificate>, options?: IClientOptions) => Promise<MqttClient>;
}

async function newAuthority(t: TestContext, folder = join(temporaryFolder(t), 'tls')): Promise<Tls> {
  const clock = new TestClock();
  return Tls.open({ folder, clock, log: recordingLog(clock).log, limits: LIMITS.tls, names: () => NAMES });
}

async function startSecure(t: TestContext, more: Parameters<typeof startTestBroker>[1] = {}): Promise<Bench> {
  const clients: MqttClient[] = [];
  // Registered before the broker's own, so it runs first.
  t.after(() => clients.forEach((client) => client.end(true)));
  const folder = join(temporaryFolder(t), 'tls');
  const tls = await newAuthority(t, folder);
  const issued = await tls.issueClientCertificate(DEVICE);
  const valid = new Map([[issued.fingerprint, DEVICE]]);
  const asked: Bench['asked'] = [];
  const hook: Partial<MqttHooks> = {
    authenticateCertificate: async (login) => {
      asked.push(login);
      const key = valid.get(login.fingerprint);
      return key === undefined ? 'not_authorized' : { key };
    },
    ...more.hook,
  };
  const b = await startTestBroker(t, {
    tls: { host: '127.0.0.1', port: 0, secureContext: tls.deviceContext() },
    ...more,
    hook,
  });
  const { tlsPort = 0 } = await b.broker.start();
  const dial = async (
    certificate: Partial<ClientCertificate>,
    options: IClientOptions = {},
  ): Promise<MqttClient> => {
    const client = connect(`mqtts://localhost:${tlsPort}`, {
      ca: tls.caPem,
      ...(certificate.certificatePem && {
        cert: certificate.certificatePem,
        key: certificate.privateKeyPem ?? '',
      }),
      reconnectPeriod: 0,
      ...options,
    });
    clients.push(client);
    await new Promise<void>((resolve, reject) => {
      client.once('connect', () => resolve());
      client.on('error', reject);
      client.once('close', () => reject(new Error('closed before CONNACK')));
    });
    return client;
  };
  return { b, tls, folder, port: tlsPort, issued, valid, asked, dial };
}

/** A bare TLS connection; resolves when the handshake is done. */
function bare(
  t: TestContext,
  port: number,
  options: object,
  onSession: (session: Buffer) => void = () => undefined,
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ port, host: '127.0.0.1', servername: 'localhost', ...options }, () =>
      resolve(socket),
    );
    socket.on('session', onSession);
    socket.on('error', reject);
    t.after(() => socket.destroy());
  });
}

const closed = (socket: {
  once(event: 'close', fn: () => void): unknown;
  on(event: 'error', fn: () => void): unknown;
}): Promise<void> =>
  new Promise((resolve) => {
    socket.once('close', resolve);
    // A reset is one way of closing.
    socket.on('error', () => undefined);
  });

describe('a client is not let in', () => {
  test('a client is not let in without a certificate, whatever its user name and password', async (t) => {
    const { b, dial, asked } = await startSecure(t);
    await assert.rejects(dial({}));
    await assert.rejects(dial({}, { username: 'a', password: 'secret' }));
    assert.deepEqual([asked, b.opened], [[], []]);
    assert.equal(await metric(b, 'mqtt_connects_total{result="certificate"}'), '2');
    assert.equal(
      b.lines.find(({ message }) => message.includes('certificate'))?.['problem'],
      'none was sent',
    );
  });

  test('a client is not let in when another authority made its certificate, even one of the same name', async (t) => {
    const { b, dial, asked } = await startSecure(t);
    const foreign = await (await newAuthority(t)).issueClientCertificate(DEVICE);
    await assert.rejects(dial(foreign));
    assert.deepEqual([asked, b.opened], [[], []]);
  });

  test('a client is not let in when its certificate is one of a server of ours', async (t) => {
    const { tls, dial, asked, valid } = await startSecure(t);
    const { cert, key } = tls.deviceContext();
    valid.set(fingerprintOf(cert as string), DEVICE);
    await assert.rejects(dial({ certificatePem: cert as string, privateKeyPem: key as string }));
    assert.deepEqual(asked, []);
  });

  test('a client is not let in when its certificate is revoked: CONNACK 5', async (t) => {
    const { dial, issued, valid, b } = await startSecure(t);
    valid.clear();
    await assert.rejects(dial(issued), { code: 5 });
    assert.deepEqual(b.opened, []);
  });

  test('a client is not let in when the gateway knows no certificates', async (t) => {
    const tls = await newAuthority(t);
    const issued = await tls.issueClientCertificate(DEVICE);
    const b = await startTestBroker(t, {
      tls: { host: '127.0.0.1', port: 0, secureContext: tls.deviceContext() },
    });
    const { tlsPort = 0 } = await b.broker.start();
    const options = {
      ca: tls.caPem,
      cert: issued.certificatePem,
      key: issued.privateKeyPem,
      reconnectPeriod: 0,
    };
    await assert.rejects(connectAsync(`mqtts://localhost:${tlsPort}`, options), { code: 5 });
  });

  test('a client is not let in over TLS 1.1, or without TLS', async (t) => {
    const { b, port, issued, tls } = await startSecure(t);
    await assert.rejects(
      bare(t, port, {
        ca: tls.caPem,
        cert: issued.certificatePem,
        key: issued.privateKeyPem,
        minVersion: 'TLSv1',
        maxVersion: 'TLSv1.1',
        ciphers: 'DEFAULT@SECLEVEL=0',
      }),
    );
    const plain = connectTcp(port, '127.0.0.1');
    plain.write(Buffer.from('101000044d515454040200000000', 'hex'));
    await closed(plain);
    await until(async () => (await metric(b, 'mqtt_connects_total{result="handshake"}')) === '2');
  });
});

describe('a device with its certificate', () => {
  test('a device with its certificate has its identity over TLS, whatever user name and password', async (t) => {
    const { b, dial, issued, asked } = await startSecure(t);
    for (const options of [{}, { username: 'b', password: 'wrong' }]) {
      const client = await dial(issued, { clientId: `c${asked.length}`, ...options });
      await client.publishAsync(`from/${DEVICE}/x`, 'hello', { qos: 1 });
      await client.subscribeAsync(`to/${DEVICE}/#`, { qos: 1 });
      await assert.rejects(client.subscribeAsync('to/b/#', { qos: 1 }));
    }
    assert.deepEqual(
      b.messages.map(({ topic, session }) => [topic, session.identity.key]),
      [
        [`from/${DEVICE}/x`, DEVICE],
        [`from/${DEVICE}/x`, DEVICE],
      ],
    );
    assert.deepEqual(asked[0], {
      commonName: DEVICE,
      serial: issued.serial,
      fingerprint: issued.fingerprint,
      clientId: 'c0',
      remoteAddress: '127.0.0.1',
    });
    assert.equal(b.broker.sessionCount(DEVICE), 2);
  });

  test('a device with its certificate is acknowledged on a topic of another one, and its message is dropped', async (t) => {
    const { b, dial, issued } = await startSecure(t);
    const client = await dial(issued);
    await client.publishAsync('from/OTHER/x', 'hello', { qos: 1 });
    assert.deepEqual(b.messages, []);
    assert.equal(client.connected, true);
  });

  test('a device with its certificate is cut off when its certificate is revoked, and stays out', async (t) => {
    const { b, dial, issued, valid } = await startSecure(t);
    const client = await dial(issued);
    const ended = new Promise<void>((resolve) => client.once('close', () => resolve()));
    valid.clear();
    b.broker.closeSessions(DEVICE);
    await ended;
    await assert.rejects(dial(issued), { code: 5 });
  });

  test('a device with its certificate is known also when it resumes its TLS session', async (t) => {
    const { b, port, issued, tls, valid, asked } = await startSecure(t);
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) {
      const options = { ca: tls.caPem, cert: issued.certificatePem, key: issued.privateKeyPem, maxVersion };
      let session: Buffer | undefined;
      const first = await bare(t, port, options, (given) => (session = given));
      first.write(Buffer.from('100d00044d5154540402003c000161', 'hex'));
      await until(() => session !== undefined);
      first.destroy();
      const before = asked.length;
      const second = await bare(t, port, { ...options, session });
      assert.equal(second.isSessionReused(), true);
      second.write(Buffer.from('100d00044d5154540402003c000161', 'hex'));
      const [answer] = await Promise.race([
        new Promise<Buffer[]>((resolve) => second.once('data', (data: Buffer) => resolve([data]))),
        closed(second).then((): Buffer[] => []),
      ]);
      assert.equal(answer?.toString('hex'), '20020000');
      assert.equal(asked.length, before + 1);
      second.destroy();
    }
    valid.clear();
    assert.ok(b.opened.length >= 2);
  });

  test('a device with its certificate connects whatever the clock of the gateway says', async (t) => {
    // Ours are valid from 2020 on, so a fixed one that is not yet valid stands for a gateway in 1970.
    const { dial, folder, valid } = await startSecure(t);
    const authority = readKeyFile(join(folder, 'authority.pem'));
    assert.ok(authority);
    for (const [validFromMs, validToMs] of [
      [Date.UTC(2100, 0, 1), Date.UTC(2110, 0, 1)],
      [Date.UTC(2000, 0, 1), Date.UTC(2001, 0, 1)],
    ] as const) {
      const dates = { validFromMs, validToMs };
      const subject = { commonName: DEVICE, serial: '4a', purpose: 'client' } as const;
      const certificate = await makeCertificate(authority, { ...subject, ...dates });
      valid.set(fingerprintOf(certificate.certificatePem), DEVICE);
      const client = await dial(certificate);
      assert.ok(client.connected);
    }
  });
});

describe('the listener', () => {
  test('the listener takes another certificate at once, and open connections live on', async (t) => {
    const { b, dial, issued, tls } = await startSecure(t);
    const before = await dial(issued, { clientId: 'before' });
    const renewed = await newAuthority(t);
    const issuedLater = await renewed.issueClientCertificate(DEVICE);
    b.broker.setSecureContext({ ...renewed.deviceContext(), ca: tls.caPem });
    const after = await dial(issued, { clientId: 'after', ca: renewed.caPem });
    assert.ok(after.connected);
    await before.publishAsync(`from/${DEVICE}/x`, 'still here', { qos: 1 });
    assert.equal(b.messages.length, 1);
    await assert.rejects(dial(issuedLater, { ca: renewed.caPem }));
  });

  test('the listener lets nobody take every connection with handshakes that never end', async (t) => {
    const { b, port, issued, dial } = await startSecure(t, { limits: { connectionsPerAddress: 2 } });
    const hold = async () => {
      const socket = connectTcp(port, '127.0.0.1');
      t.after(() => socket.destroy());
      await new Promise((resolve) => socket.once('connect', resolve));
      return socket;
    };
    const oldest = await hold();
    await hold();
    const oldestClosed = closed(oldest);
    assert.ok((await dial(issued)).connected);
    await oldestClosed;
    assert.equal(await metric(b, 'mqtt_connects_total{result="address_connections"}'), '1');
  });

  test('the listener begins no handshake of an address with too many', async (t) => {
    const { b, port, issued, dial } = await startSecure(t, {
      limits: { connectsPerSecond: 1, connectBurst: 1 },
    });
    await dial(issued);
    await closed(connectTcp(port, '127.0.0.1'));
    assert.equal(await metric(b, 'mqtt_connects_total{result="address_rate"}'), '1');
    await b.clock.advance(1_000);
    assert.ok((await dial(issued)).connected);
  });

  test('the listener ends a handshake that takes too long', async (t) => {
    const { port } = await startSecure(t, { limits: { connectTimeoutMs: 50 } });
    await closed(connectTcp(port, '127.0.0.1'));
  });

  test('the listener does not wait for handshakes at the stop, and closes sessions in order', async (t) => {
    const { b, port, issued, dial } = await startSecure(t);
    const client = await dial(issued);
    const ended = new Promise<void>((resolve) => client.once('close', () => resolve()));
    const silent = connectTcp(port, '127.0.0.1');
    await new Promise((resolve) => silent.once('connect', resolve));
    const silentEnded = closed(silent);
    await client.publishAsync(`from/${DEVICE}/x`, 'last', { qos: 1 });
    await b.broker.stop();
    await Promise.all([ended, silentEnded]);
    assert.equal(b.closed.length, 1);
  });

  test('the listener rejects the start when it cannot be opened', async (t) => {
    const { port, tls } = await startSecure(t);
    const second = await startTestBroker(t, {
      tls: { host: '127.0.0.1', port, secureContext: tls.deviceContext() },
    });
    await assert.rejects(second.broker.start(), { code: 'EADDRINUSE' });
  });
});
