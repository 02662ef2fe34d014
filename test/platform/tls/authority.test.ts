/** The authority that devices trust, when a disk loses it. */
import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { startBench } from './support.ts';

/** What a disk may leave of a file of the authority, and what is said of it. */
const DAMAGES: [title: string, damage: (text: string) => string, fault: RegExp][] = [
  ['an empty file', () => '', /authority\.pem has no certificate in PEM form/],
  [
    'a file without its key',
    (text) => text.slice(0, text.indexOf('-----BEGIN PRIVATE')),
    /authority\.pem has no private key in PEM form/,
  ],
  [
    'a file with zeros in it',
    (text) => text.replace(/BEGIN CERTIFICATE-----\n.{8}/, 'BEGIN CERTIFICATE-----\nAAAAAAAA'),
    /authority\.pem cannot be read/,
  ],
  [
    'a file with a bit that turned',
    (text) => withTurnedBit(text),
    /authority\.pem: the signature of the certificate is wrong/,
  ],
  [
    'a file with a key that signs wrongly',
    withAnotherSecret,
    /authority\.pem: the private key does not belong to the certificate/,
  ],
];

/** Turns only the secret number (RFC 5915): the public key beside it is still that of the certificate. */
function withAnotherSecret(text: string): string {
  const der = createPrivateKey(text).export({ type: 'pkcs8', format: 'der' });
  const secret = der.indexOf(Buffer.from([0x02, 0x01, 0x01, 0x04, 0x20])) + 5;
  der[secret + 9] = (der[secret + 9] ?? 0) ^ 1;
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  const pem = `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`;
  return text.slice(0, text.indexOf('-----BEGIN PRIVATE')) + pem;
}

/** Turns a bit of the signature, so that everything can be read as before. */
function withTurnedBit(text: string, at = (der: Buffer): number => der.length - 1): string {
  const pem = /-----BEGIN CERTIFICATE-----\n([^-]+)/.exec(text)?.[1] ?? '';
  const der = Buffer.from(pem, 'base64');
  der[at(der)] = (der[at(der)] ?? 0) ^ 1;
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return text.replace(pem, `${lines.join('\n')}\n`);
}

/** As the gateway has it: the authority once more in another folder. */
async function startWithCopy(t: TestContext) {
  const bench = startBench(t);
  const path = join(bench.folder, 'authority.pem');
  const authorityCopy = join(bench.folder, '..', 'backups', 'authority.pem');
  const open = () => bench.open({ authorityCopy });
  const { caPem } = await open();
  const text = readFileSync(path, 'utf8');
  bench.lines.length = 0;
  return { ...bench, open, caPem, path, copy: authorityCopy, text };
}

describe('an authority that is not usable', () => {
  for (const [title, damage, fault] of DAMAGES) {
    test(`an authority that is not usable comes back from its copy: ${title}`, async (t) => {
      const { open, caPem, path, copy, text, lines, folder } = await startWithCopy(t);
      writeFileSync(path, damage(text));
      assert.equal((await open()).caPem, caPem);
      assert.deepEqual(
        [path, copy].map((one) => readFileSync(one, 'utf8')),
        [text, text],
      );
      assert.equal(readFileSync(join(folder, 'authority.pem.damaged'), 'utf8'), damage(text));
      const told = lines.filter(({ level }) => level === 'error');
      assert.deepEqual(
        told.map(({ message }) => message),
        ['certificate authority came back from its copy'],
      );
      assert.match(told[0]?.['reason'] as string, fault);
      lines.length = 0;
      assert.equal((await open()).caPem, caPem);
      assert.deepEqual(lines, []);
    });

    test(`an unusable copy of the authority is made again: ${title}`, async (t) => {
      const { open, caPem, copy, text, lines } = await startWithCopy(t);
      writeFileSync(copy, damage(text));
      assert.equal((await open()).caPem, caPem);
      assert.equal(readFileSync(copy, 'utf8'), text);
      assert.match(lines.find(({ level }) => level === 'warn')?.['fault'] as string, fault);
    });

    test(`an authority without a usable copy stops the start, since another one must not replace it: ${title}`, async (t) => {
      const { open, path, copy, text, folder } = await startWithCopy(t);
      for (const [own, other] of [
        [damage(text), damage(text)],
        [damage(text), undefined],
        [undefined, damage(text)],
      ]) {
        for (const [one, content] of [
          [path, own],
          [copy, other],
        ] as const)
          if (content === undefined) rmSync(one);
          else writeFileSync(one, content);
        await assert.rejects(open(), (error: Error) => {
          assert.match(error.message, fault);
          assert.match(error.message, /;.*(authority\.pem|there is no copy of it)/);
          return true;
        });
        const [now, copyNow] = [path, copy].map((one) =>
          existsSync(one) ? readFileSync(one, 'utf8') : undefined,
        );
        assert.deepEqual([now, copyNow], [own, other], 'nothing is changed');
        writeFileSync(path, text);
        writeFileSync(copy, text);
      }
      assert.deepEqual(readdirSync(folder).sort(), ['authority.pem', 'devices.pem', 'web.pem']);
    });
  }

  test('an authority comes back from its copy when a changed bit of its name makes it look like another one', async (t) => {
    const { open, caPem, path, text, lines } = await startWithCopy(t);
    // The issuer stands before the subject (RFC 5280 section 4.1).
    writeFileSync(
      path,
      withTurnedBit(text, (der) => der.indexOf('Energy Gateway CA')),
    );
    assert.equal((await open()).caPem, caPem);
    assert.equal(readFileSync(path, 'utf8'), text);
    const reason = lines.find(({ level }) => level === 'error')?.['reason'];
    assert.match(reason as string, /authority\.pem: the certificate has another issuer than its copy/);
  });

  test('an unreadable authority is left as it is while the disk refuses it, and its copy is used', async (t) => {
    const { open, caPem, path, text, lines, folder } = await startWithCopy(t);
    renameSync(path, `${path}.away`);
    // Reads of it end with EIO.
    symlinkSync('/proc/self/mem', path);
    assert.equal((await open()).caPem, caPem);
    rmSync(path);
    renameSync(`${path}.away`, path);
    assert.deepEqual(readdirSync(folder).sort(), ['authority.pem', 'devices.pem', 'web.pem']);
    assert.equal(readFileSync(path, 'utf8'), text);
    assert.deepEqual(
      lines.map(({ level, message }) => [level, message]),
      [['warn', 'certificate authority cannot be read now, its copy serves']],
    );
  });

  test('an authority that is not usable comes back from its copy when it is missing', async (t) => {
    const { open, caPem, path, text, lines } = await startWithCopy(t);
    rmSync(path);
    assert.equal((await open()).caPem, caPem);
    assert.equal(readFileSync(path, 'utf8'), text);
    assert.equal(lines.find(({ level }) => level === 'error')?.['reason'], 'it was missing');
  });

  test('an authority that is not usable comes back while the disk takes nothing, and is written once it does', async (t) => {
    const { open, caPem, path, text, lines } = await startWithCopy(t);
    writeFileSync(path, '');
    mkdirSync(`${path}.new`);
    assert.equal((await open()).caPem, caPem);
    assert.ok(lines.some(({ message }) => message === 'certificate authority could not be written back'));
    rmSync(`${path}.new`, { recursive: true });
    assert.equal((await open()).caPem, caPem);
    assert.equal(readFileSync(path, 'utf8'), text);
  });
});
