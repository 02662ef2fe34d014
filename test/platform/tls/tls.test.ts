import 'reflect-metadata';
import assert from 'node:assert/strict';
import { createPrivateKey, KeyObject, webcrypto, X509Certificate } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { X509CertificateGenerator } from '@peculiar/x509';
import { LIMITS } from '../../../src/lib/limits.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { assertOpenssl, newHardwareId, startBench } from './support.ts';

const DAY_MS = 86_400_000;
/** Time of the test clock, which is not that of OpenSSL. */
const NOW_MS = Date.UTC(2026, 2, 1, 8);
const webOf = (tls: { serverContext(): { cert?: unknown } }): X509Certificate =>
  new X509Certificate(tls.serverContext().cert as string);

describe('keys that are there and not usable', () => {
  test('keys of a server that exist but are unusable are made anew', async (t) => {
    const { folder, open, lines } = startBench(t);
    const { caPem } = await open();
    for (const name of ['web', 'devices']) writeFileSync(join(folder, `${name}.pem`), 'damaged');
    const tls = await open();
    assert.equal(tls.caPem, caPem);
    await assertOpenssl(t, {
      caPem,
      pem: tls.serverContext().cert as string,
      purpose: 'sslserver',
      atMs: NOW_MS,
    });
    assert.equal(lines.filter(({ level }) => level === 'warn').length, 2);
  });

  test('keys of another authority are made anew', async (t) => {
    const { folder, open, names } = startBench(t);
    await open();
    rmSync(join(folder, 'authority.pem'));
    const tls = await open();
    const { caPem } = tls;
    for (const context of [tls.serverContext(), tls.deviceContext()]) {
      const pem = context.cert as string;
      assert.ok(new X509Certificate(pem).verify(new X509Certificate(caPem).publicKey));
      await assertOpenssl(t, { caPem, pem, purpose: 'sslserver', atMs: NOW_MS });
    }
    assert.equal(names.dns.length, 3);
  });
});

describe('the files of the keys', () => {
  test('the files of the keys are for the user of the gateway alone, whatever they were before', async (t) => {
    const { folder, open } = startBench(t);
    await open();
    const modes = (): number[] =>
      [folder, ...readdirSync(folder).map((name) => join(folder, name))].map(
        (path) => statSync(path).mode & 0o777,
      );
    assert.deepEqual(modes(), [0o700, 0o600, 0o600, 0o600]);
    chmodSync(folder, 0o755);
    await open();
    assert.deepEqual(modes(), [0o700, 0o600, 0o600, 0o600]);
  });

  test('the files of the keys are used again by the next start, and no key of a device is among them', async (t) => {
    const { folder, open, lines } = startBench(t);
    const first = await open();
    const { privateKeyPem } = await first.issueClientCertificate(newHardwareId());
    const second = await open();
    assert.equal(second.caPem, first.caPem);
    assert.deepEqual(second.serverContext(), first.serverContext());
    assert.deepEqual(second.deviceContext(), first.deviceContext());
    for (const name of readdirSync(folder))
      assert.ok(!readFileSync(join(folder, name), 'utf8').includes(privateKeyPem));
    assert.doesNotMatch(JSON.stringify(lines), /PRIVATE KEY/);
  });
});

describe('the certificates', () => {
  test('the certificates are what strict verifiers ask for, whatever their kind', async (t) => {
    const { open } = startBench(t);
    const tls = await open();
    const { certificatePem } = await tls.issueClientCertificate(newHardwareId());
    const authority = new X509Certificate(tls.caPem);
    assert.ok(authority.ca);
    assert.ok(authority.checkIssued(authority) && authority.verify(authority.publicKey));
    for (const [pem, purpose, other] of [
      [certificatePem, 'sslclient', 'sslserver'],
      [tls.serverContext().cert as string, 'sslserver', 'sslclient'],
      [tls.deviceContext().cert as string, 'sslserver', 'sslclient'],
    ] as const) {
      const certificate = new X509Certificate(pem);
      assert.ok(!certificate.ca);
      assert.ok(certificate.checkIssued(authority) && certificate.verify(authority.publicKey));
      const checked = { caPem: tls.caPem, pem, atMs: NOW_MS };
      await assertOpenssl(t, { ...checked, purpose });
      await assertOpenssl(t, { ...checked, purpose: other, refusal: /unsuitable certificate purpose/ });
    }
  });

  test('the certificates belong to one hardware id for devices, and each is its own', async (t) => {
    const { open } = startBench(t);
    const tls = await open();
    const hardwareId = newHardwareId();
    const issued = [
      await tls.issueClientCertificate(hardwareId),
      await tls.issueClientCertificate(hardwareId),
    ];
    for (const { certificatePem, privateKeyPem, serial, fingerprint } of issued) {
      const certificate = new X509Certificate(certificatePem);
      assert.equal(certificate.subject, `CN=${hardwareId}`);
      assert.equal(certificate.serialNumber.toLowerCase(), serial);
      assert.match(serial, /^[4-7][\da-f]{31}$/, 'positive, 16 bytes');
      assert.equal(certificate.fingerprint256.replaceAll(':', '').toLowerCase(), fingerprint);
      assert.match(privateKeyPem, /^-----BEGIN PRIVATE KEY-----\n[^-]+-----END PRIVATE KEY-----\n$/);
      assert.deepEqual(
        [certificate.validFromDate.getUTCFullYear(), certificate.validToDate.getUTCFullYear()],
        [2020, 2119],
      );
    }
    const members = new Set(issued.flatMap((one) => [one.serial, one.fingerprint, one.privateKeyPem]));
    assert.equal(members.size, 6);
  });

  test('the certificates are made for hardware ids of devices only', async (t) => {
    const { open } = startBench(t);
    const tls = await open();
    for (const bad of ['', 'short', 'x'.repeat(65), 'CN=other,O=x', 'with space', 'ünicode1'])
      await assert.rejects(tls.issueClientCertificate(bad), /8 to 64 letters or digits/);
  });

  test('the certificates name every name and address that fits a server', async (t) => {
    const { open, names } = startBench(t);
    const long = `${'long.'.repeat(12)}name.example`;
    names.dns.unshift(long);
    names.dns.push('Upper.Example', 'under_score', '-bad', 'gateway');
    const tls = await open();
    for (const context of [tls.serverContext(), tls.deviceContext()]) {
      const certificate = new X509Certificate(context.cert as string);
      assert.equal(
        certificate.subjectAltName,
        `DNS:${long}, DNS:gateway, DNS:gateway.local, DNS:localhost, DNS:upper.example, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, IP Address:192.0.2.7`,
      );
      assert.equal(certificate.subject, 'CN=gateway', 'the first that is short enough');
    }
  });

  test('the certificates have authorities of different names for two gateways', async (t) => {
    const subjects = await Promise.all(
      [1, 2].map(async () => new X509Certificate((await startBench(t).open()).caPem).subject),
    );
    assert.notEqual(subjects[0], subjects[1]);
  });
});

describe('dates', () => {
  test('the dates of the authority and towards devices cover any clock from 2020 on', async (t) => {
    const { open } = startBench(t);
    const tls = await open();
    for (const pem of [tls.caPem, tls.deviceContext().cert as string]) {
      const { validFromDate, validToDate } = new X509Certificate(pem);
      assert.deepEqual([validFromDate.getUTCFullYear(), validToDate.getUTCFullYear()], [2020, 2119]);
    }
  });

  test('the dates towards browsers are short, from a day ago', async (t) => {
    const { open, clock } = startBench(t);
    const { validFromDate, validToDate } = webOf(await open());
    assert.equal(validFromDate.getTime(), clock.wallMs() - DAY_MS);
    assert.ok(validToDate.getTime() - validFromDate.getTime() <= 825 * DAY_MS);
  });

  test('dates are not those of 1970 while the clock was never set, and nothing is renewed', async (t) => {
    const { open, clock, folder } = startBench(t, new TestClock(0));
    const first = webOf(await open());
    assert.ok(first.validFromDate.getUTCFullYear() >= 2025);
    const tls = await open();
    assert.equal(webOf(tls).fingerprint256, first.fingerprint256);
    tls.start();
    clock.step(Date.UTC(2031, 0, 1));
    await until(() => webOf(tls).fingerprint256 !== first.fingerprint256);
    assert.equal(webOf(tls).validFromDate.getTime(), clock.wallMs() - DAY_MS);
    assert.ok(existsSync(folder));
  });
});

describe('renewal', () => {
  test('renewal comes in time, is logged, and is what the next start finds', async (t) => {
    const { open, clock } = startBench(t);
    const tls = await open();
    const before = webOf(tls);
    const devicesBefore = tls.deviceContext().cert;
    let renewals = 0;
    tls.onRenewed(() => renewals++);
    tls.start();
    clock.step(600 * DAY_MS);
    await tls.check();
    assert.equal(renewals, 0);
    clock.step(25 * DAY_MS);
    await tls.check();
    assert.equal(renewals, 1);
    assert.notEqual(webOf(tls).fingerprint256, before.fingerprint256);
    assert.equal(tls.deviceContext().cert, devicesBefore, 'devices keep theirs');
    assert.equal(webOf(await open()).fingerprint256, webOf(tls).fingerprint256);
  });

  test('renewal follows new names and addresses after a while, not names that went away', async (t) => {
    const { open, clock, names } = startBench(t);
    const tls = await open();
    let renewals = 0;
    const unsubscribe = tls.onRenewed(() => renewals++);
    tls.start();
    names.ips.pop();
    await clock.advance(LIMITS.tls.checkIntervalMs);
    await tls.check();
    assert.equal(renewals, 0);
    names.ips.push('192.168.0.4');
    await clock.advance(LIMITS.tls.checkIntervalMs);
    await until(() => renewals === 1);
    for (const context of [tls.serverContext(), tls.deviceContext()])
      assert.equal(new X509Certificate(context.cert as string).checkIP('192.168.0.4'), '192.168.0.4');
    unsubscribe();
    names.dns.push('other');
    await tls.check();
    assert.equal(renewals, 1);
    tls.stop();
    assert.equal(clock.waiting, 0);
  });

  test('a renewed certificate is used although it cannot be written, and the log says so', async (t) => {
    const { open, lines, folder, names } = startBench(t);
    const tls = await open();
    for (const kind of ['web', 'devices']) {
      rmSync(join(folder, `${kind}.pem`));
      mkdirSync(join(folder, `${kind}.pem`));
    }
    names.ips.push('192.168.0.4');
    await tls.check();
    const again = await open();
    for (const { cert } of [tls, again].flatMap((one) => [one.serverContext(), one.deviceContext()]))
      assert.equal(new X509Certificate(cert as string).checkIP('192.168.0.4'), '192.168.0.4');
    assert.ok(lines.some(({ message }) => message === 'the server certificate cannot be kept'));
  });
});

/** A certificate with a key that OpenSSL considers too short. */
async function shortKey(): Promise<{ certificatePem: string; privateKeyPem: string }> {
  const algorithm = {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    modulusLength: 1_024,
    publicExponent: new Uint8Array([1, 0, 1]),
  };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({ name: 'CN=short', keys });
  return {
    certificatePem: certificate.toString('pem'),
    privateKeyPem: KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }),
  };
}

interface Signed {
  certificatePem: string;
  privateKeyPem: string;
}

/** Each is signed by the one before it, the first by itself. */
async function chainOf(names: [string, string, string, string]): Promise<[Signed, Signed, Signed, Signed]> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
  const made: Signed[] = [];
  let [issuer, signingKey]: [string, CryptoKey | undefined] = [`CN=${names[0]}`, undefined];
  for (const [index, name] of names.entries()) {
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const certificate = await X509CertificateGenerator.create({
      subject: `CN=${name}`,
      issuer,
      publicKey: keys.publicKey,
      signingKey: signingKey ?? keys.privateKey,
      signingAlgorithm: algorithm,
      serialNumber: `0${index + 1}`,
      notBefore: new Date(NOW_MS - DAY_MS),
      notAfter: new Date(NOW_MS + 365 * DAY_MS),
    });
    made.push({
      certificatePem: certificate.toString('pem'),
      privateKeyPem: KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }),
    });
    [issuer, signingKey] = [`CN=${name}`, keys.privateKey];
  }
  return made as [Signed, Signed, Signed, Signed];
}

describe("an operator's certificate", () => {
  test("an unusable operator's certificate is replaced by one made here until it can be used, and the log says why", async (t) => {
    const { folder, open, lines } = startBench(t);
    const own = await open();
    const one = await own.issueClientCertificate(newHardwareId());
    const other = await own.issueClientCertificate(newHardwareId());
    const certificatePath = join(folder, 'own.crt');
    const privateKeyPath = join(folder, 'own.key');
    const assertUnused = async (why: RegExp) => {
      const tls = await open({ operatorCertificate: { certificatePath, privateKeyPath } });
      assert.deepEqual(tls.serverContext(), own.serverContext());
      const line = lines.at(-1);
      assert.equal(line?.level, 'error');
      assert.match(line.message, /not usable, HTTPS has one made here/);
      assert.match(JSON.stringify(line['error']), why);
      return tls;
    };
    await assertUnused(/operator's certificate cannot be read: ENOENT/);
    writeFileSync(certificatePath, one.certificatePem);
    writeFileSync(privateKeyPath, other.privateKeyPem);
    await assertUnused(/own\.crt: the private key of .*own\.key does not belong to the certificate/);
    writeFileSync(privateKeyPath, one.certificatePem);
    await assertUnused(/own\.key holds a certificate, and not a private key in PEM form/);
    writeFileSync(certificatePath, one.privateKeyPem);
    await assertUnused(/own\.crt holds the key and .*own\.key the certificate: .* are exchanged/);
    writeFileSync(certificatePath, own.caPem + one.certificatePem);
    writeFileSync(privateKeyPath, one.privateKeyPem);
    const reversed = await assertUnused(/own\.crt has its certificates in the wrong order/);
    assert.equal(reversed.operatorProblem()?.kind, 'unusable');
    writeFileSync(
      certificatePath,
      '-----BEGIN CERTIFICATE REQUEST-----\nAA==\n-----END CERTIFICATE REQUEST-----\n',
    );
    await assertUnused(/own\.crt is a request for a certificate/);
    for (const [content, why] of [
      [one.privateKeyPem, /own\.crt holds a private key, and not a certificate/],
      [new X509Certificate(one.certificatePem).raw, /own\.crt is in binary form, as DER or PKCS #12/],
      ['-----BEGIN PKCS7-----\nAA==\n-----END PKCS7-----\n', /own\.crt is a PKCS #7 file/],
      ['-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----\n', /own\.crt holds a public key/],
      ['\n', /own\.crt is empty/],
      ['hello', /own\.crt holds something else, and not a certificate/],
    ] as const) {
      writeFileSync(certificatePath, content);
      await assertUnused(why);
    }
    writeFileSync(certificatePath, one.certificatePem);
    const sealed = createPrivateKey(one.privateKeyPem);
    writeFileSync(privateKeyPath, sealed.export({ type: 'pkcs8', format: 'der' }));
    await assertUnused(/own\.key is in binary form/);
    for (const type of ['pkcs8', 'sec1'] as const) {
      const cipher = { format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' } as const;
      writeFileSync(privateKeyPath, sealed.export({ type, ...cipher }));
      await assertUnused(/own\.key is encrypted with a password; write it without one: openssl pkey/);
    }
    const short = await shortKey();
    writeFileSync(certificatePath, short.certificatePem);
    writeFileSync(privateKeyPath, short.privateKeyPem);
    const tls = await assertUnused(/key too small/);
    writeFileSync(certificatePath, one.certificatePem);
    writeFileSync(privateKeyPath, one.privateKeyPem);
    await tls.check();
    assert.equal(tls.serverContext().key, one.privateKeyPem);
    assert.equal(tls.operatorProblem(), undefined);
  });

  test("an operator's certificate is named when the authorities behind it stand in the wrong order, and served whole in the right one", async (t) => {
    const { folder, open, lines } = startBench(t);
    const own = await open();
    const [root, upper, lower, leaf] = await chainOf(['Root', 'Upper', 'Lower', 'Box']);
    const certificatePath = join(folder, 'own.crt');
    const privateKeyPath = join(folder, 'own.key');
    writeFileSync(privateKeyPath, leaf.privateKeyPem);
    for (const order of [
      [leaf, upper, lower],
      [leaf, root, upper, lower],
      [root, upper, lower, leaf],
      [lower, leaf, upper],
    ]) {
      writeFileSync(certificatePath, order.map(({ certificatePem }) => certificatePem).join('\n'));
      const tls = await open({ operatorCertificate: { certificatePath, privateKeyPath } });
      assert.match(tls.operatorProblem()?.reason ?? '', /own\.crt has its certificates in the wrong order/);
      assert.deepEqual(tls.serverContext(), own.serverContext());
    }
    // As `openssl pkcs12` writes them.
    const words = [leaf, lower, upper, root].map(
      ({ certificatePem }) => `Bag Attributes\n    localKeyID: 01\nsubject=CN = x\n${certificatePem}\n`,
    );
    writeFileSync(certificatePath, words.join(''));
    const tls = await open({ operatorCertificate: { certificatePath, privateKeyPath } });
    assert.equal(tls.operatorProblem(), undefined, JSON.stringify(lines.at(-1)));
    assert.equal(String(tls.serverContext().cert).match(/BEGIN CERTIFICATE/g)?.length, 4);
  });

  test("an operator's certificate is warned of from 14 days before its end on, and before its beginning", async (t) => {
    const { folder, open, clock } = startBench(t);
    mkdirSync(folder);
    const certificatePath = join(folder, 'own.crt');
    const privateKeyPath = join(folder, 'own.key');
    const keys = await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
      'sign',
      'verify',
    ]);
    const endMs = NOW_MS + 20 * DAY_MS;
    const certificate = await X509CertificateGenerator.createSelfSigned({
      name: 'CN=own',
      keys,
      notBefore: new Date(NOW_MS + DAY_MS),
      notAfter: new Date(endMs),
    });
    writeFileSync(certificatePath, certificate.toString('pem'));
    writeFileSync(privateKeyPath, KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }));
    const tls = await open({ operatorCertificate: { certificatePath, privateKeyPath } });
    const problemAfter = async (days: number) => {
      await clock.advance(days * DAY_MS);
      return tls.operatorProblem();
    };
    const startDay = new Date(NOW_MS + DAY_MS).toISOString().slice(0, 10);
    const early = { kind: 'unusable', reason: `${certificatePath} is not valid before ${startDay}.` };
    assert.deepEqual(await problemAfter(0), early);
    assert.equal(await problemAfter(5), undefined);
    const reason = (word: string): string =>
      `${certificatePath} ${word} on ${new Date(endMs).toISOString().slice(0, 10)}.`;
    assert.deepEqual(await problemAfter(2), { kind: 'expiring', reason: reason('expires') });
    assert.deepEqual(await problemAfter(14), { kind: 'expiring', reason: reason('expired') });
  });

  test("an operator's certificate serves HTTPS with its whole chain, is read again when it changes, and is not used towards devices", async (t) => {
    const { folder, open, lines } = startBench(t);
    const own = await open();
    const [first, second] = [
      await own.issueClientCertificate(newHardwareId()),
      await own.issueClientCertificate(newHardwareId()),
    ];
    const certificatePath = join(folder, 'own.crt');
    const privateKeyPath = join(folder, 'own.key');
    const write = (pair: typeof first): void => {
      writeFileSync(certificatePath, pair.certificatePem + own.caPem);
      writeFileSync(privateKeyPath, pair.privateKeyPem);
    };
    write(first);
    const tls = await open({ operatorCertificate: { certificatePath, privateKeyPath } });
    const { key, cert } = tls.serverContext();
    assert.deepEqual({ key, cert }, { key: first.privateKeyPem, cert: first.certificatePem + own.caPem });
    assert.deepEqual(tls.deviceContext(), own.deviceContext());
    let renewals = 0;
    tls.onRenewed(() => renewals++);
    writeFileSync(privateKeyPath, second.privateKeyPem);
    await tls.check();
    assert.equal(renewals, 0, 'half replaced');
    assert.ok(lines.some(({ message, level }) => level === 'warn' && message.includes('not usable now')));
    write(second);
    await tls.check();
    assert.equal(renewals, 1);
    assert.equal(tls.serverContext().key, second.privateKeyPem);
  });
});
