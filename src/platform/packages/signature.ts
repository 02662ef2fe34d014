/**
 * Signatures of packages. A package is a `.deb`, an archive of ar(5); behind its last member stands one more, which dpkg
 * does not read (deb(5)): `_gateway-sig`, with a line `ed25519 <key id> <base64>` for each key. Signed is
 *
 * ```
 * energy-gateway package 1\n
 * <size in bytes of all before the member> <SHA-512 of it, hexadecimal>\n
 * ```
 *
 * The key id is the first 16 digits of the SHA-256 of the key as SubjectPublicKeyInfo (RFC 8410).
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { appendFileSync, createReadStream, existsSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { packagePath, readPlainFile } from '../files/index.ts';
import { type DebPackage, describePackage, PackageError, requireInstallable } from './deb-package.ts';

const ARCHIVE_MAGIC = '!<arch>\n';
const HEADER_BYTES = 60;
const HEADER_END = '`\n';
const MEMBER = '_gateway-sig';
const SIGNATURE_BYTES_MAX = 4_096;
/** The last letter has two bits of the signature; with others in it the same signature could be written in sixteen ways. */
const LINE = /^ed25519 ([0-9a-f]{16}) ([A-Za-z0-9+/]{85}[AQgw]==)$/;
const PEM = /-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g;

/** Short id of a key, for people. */
function keyId(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex')
    .slice(0, 16);
}

/** All public keys in a text of PEM blocks. */
function keysOf(pem: string): Map<string, KeyObject> {
  return new Map(
    [...pem.matchAll(PEM)].map(([block]) => {
      const key = createPublicKey(block);
      return [keyId(key), key];
    }),
  );
}

/** Appends the signature by an ed25519 key in PEM. The same package and key give the same bytes. */
export async function signPackage(path: string, privateKeyPem: string): Promise<string> {
  const key = createPrivateKey(privateKeyPem);
  if (key.asymmetricKeyType !== 'ed25519') throw new Error('The key of packages is one of ed25519.');
  const { size } = statSync(path);
  const id = keyId(createPublicKey(key));
  const signature = sign(null, await signedText(path, size), key).toString('base64');
  const content = `ed25519 ${id} ${signature}\n`;
  appendFileSync(path, `${headerOf(content.length)}${content}${content.length % 2 === 1 ? '\n' : ''}`);
  return id;
}

/** Header of the member with the signatures; all of it is fixed, so that nothing can be hidden in it. */
function headerOf(contentBytes: number): string {
  const fields: [text: string, width: number][] = [
    [MEMBER, 16],
    ['0', 12],
    ['0', 6],
    ['0', 6],
    ['100644', 8],
    [String(contentBytes), 10],
  ];
  return fields.map(([text, width]) => text.padEnd(width)).join('') + HEADER_END;
}

/**
 * Reads the whole file. Resolves with the id of the key that signed it.
 * @throws PackageError naming what is wrong: no package, truncated, unsigned, of an unknown key, changed
 */
export async function verifyPackage(path: string, trusted: string): Promise<string> {
  const keys = keysOf(trusted);
  const file = await open(path);
  let found: { signedBytes: number; lines: string[] };
  try {
    found = await findSignature(file);
  } finally {
    await file.close();
  }
  if (found.lines.at(-1) !== '')
    throw new PackageError('changed', 'The package holds something beside its signature.');
  const signatures = found.lines.map((line) => LINE.exec(line)).filter((match) => match !== null);
  const known = signatures.find(([, id = '']) => keys.has(id));
  if (!known) {
    const ids = signatures.map(([, id]) => id).join(', ');
    throw new PackageError(
      'unknown_key',
      `The package is signed by a key that the installed version does not know (${ids || 'none'}).`,
    );
  }
  const [, id = '', base64 = ''] = known;
  const text = await signedText(path, found.signedBytes);
  if (!verify(null, text, keys.get(id) as KeyObject, Buffer.from(base64, 'base64')))
    throw new PackageError('changed', 'The package is not the one that was signed: its content was changed.');
  return id;
}

async function findSignature(file: FileHandle): Promise<{ signedBytes: number; lines: string[] }> {
  const { size } = await file.stat();
  const read = async (bytes: number, at: number): Promise<string> => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, at);
    return buffer.toString('latin1', 0, bytesRead);
  };
  if ((await read(ARCHIVE_MAGIC.length, 0)) !== ARCHIVE_MAGIC)
    throw new PackageError('no_package', 'The file is no Debian package.');
  let at = ARCHIVE_MAGIC.length;
  while (at < size) {
    const header = await read(HEADER_BYTES, at);
    const length = Number(header.slice(48, 58));
    const end = at + HEADER_BYTES + length + (length % 2);
    const isHeader = header.length === HEADER_BYTES && header.endsWith(HEADER_END);
    if (!isHeader || !Number.isSafeInteger(length) || length < 0 || end > size)
      throw new PackageError('truncated', 'The package is damaged, or its end is missing.');
    if (header.slice(0, 16).trim() === MEMBER) {
      // Bytes behind the member would be read by dpkg and were not signed.
      if (end !== size || length > SIGNATURE_BYTES_MAX || header !== headerOf(length))
        throw new PackageError('changed', 'The package holds something beside its signature.');
      return { signedBytes: at, lines: (await read(length, at + HEADER_BYTES)).split('\n') };
    }
    at = end;
  }
  throw new PackageError('unsigned', 'The package is not signed.');
}

async function signedText(path: string, bytes: number): Promise<Buffer> {
  const hash = createHash('sha512');
  for await (const chunk of createReadStream(path, { end: bytes - 1 })) hash.update(chunk as Buffer);
  return Buffer.from(`energy-gateway package 1\n${bytes} ${hash.digest('hex')}\n`);
}

/** The public half of a private key, for the versions that shall trust it. */
export function publicKeyOf(privateKeyFile: string): string {
  const key = createPublicKey(createPrivateKey(readFileSync(privateKeyFile, 'utf8')));
  return key.export({ type: 'spki', format: 'pem' });
}

// Whether a file may take the place of the installed version: signed by a key that it knows, and fit for this box.

/** The version that a package is compared with. */
export interface InstalledVersion {
  /** As package.json has it. */
  version: string;
  /** Public keys (PEM) of trusted signers; missing files are skipped. */
  keyFiles: readonly string[];
}

/** Those of the version that is installed, and the owner's own. */
export function updateKeyFiles(): string[] {
  return [packagePath('update-keys.pem'), '/etc/energy-gateway/update-keys.pem'];
}

const PROCESSORS: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
/** Where packages are unpacked. */
const UNPACKED_AT = '/usr';

/** Reads the whole file; only what was signed is taken apart. @throws PackageError with a sentence for a person */
export async function judgePackage(
  path: string,
  { version, keyFiles }: InstalledVersion,
): Promise<DebPackage> {
  const trusted = keyFiles
    .filter((file) => existsSync(file))
    .map((file) => readPlainFile(file).toString('utf8'));
  if (trusted.join('').trim() === '')
    throw new PackageError(
      'unknown_key',
      'The installed version knows no key: put the public key of your packages into /etc/energy-gateway/update-keys.pem.',
    );
  await verifyPackage(path, trusted.join('\n'));
  const found = await describePackage(path, version);
  const disk = statfsSync(UNPACKED_AT);
  await requireInstallable(found, {
    version: version.replace('-', '~'),
    architecture: PROCESSORS[process.arch] ?? process.arch,
    freeBytes: disk.bavail * disk.bsize,
  });
  return found;
}
