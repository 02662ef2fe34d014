/** `npm run build-deb`: the gateway and the stand-alone communication module as packages for Debian. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { publicKeyOf, signPackage } from '../src/platform/packages/index.ts';
import { bundle } from './build.ts';
import { packDeb } from './build-deb/archive.ts';
import { stageGateway, stageModule } from './build-deb/contents.ts';
import { PROCESSORS, type Processor } from './build-deb/runtime.ts';
import { sourceVersion } from './build-deb/version.ts';
import { parseWords, runScript, UsageError, whole } from './support/arguments.ts';

const ROOT = join(import.meta.dirname, '..');

const HELP = `Usage: npm run build-deb [-- --arch amd64|arm64] [--package <name>] [--out <folder>]

Builds energy-gateway_<version>_<arch>.deb with everything that a board needs,
and energy-gateway-module_<version>_<arch>.deb with a communication module
alone. Packages for both processors are built on either, without a compiler; the
runtime of the other one is downloaded once from the package registry. Needs
dpkg-deb and xz.

The same sources give the same bytes: files have the time of the last commit, or
of SOURCE_DATE_EPOCH.

The version is that of the tag (v0.1.0) on the commit, else the one of
package.json with time and hash of the commit: 0.1.0~20261128.074512.1a2b3c4d,
or 0.1.0+… once v0.1.0 is tagged. Changes that are not committed count too.

  --arch <name>     amd64 or arm64 (default: both)
  --package <name>  energy-gateway or energy-gateway-module (default: both)
  --out <folder>    where to write (default out)
  --key <file>      sign the packages with this private key (ed25519, PEM); the
                    packaged version trusts its public key for updates
  --trust <file>    further public keys (PEM) that the version trusts, for
                    instance the next one
  --new-key <file>  make such a private key, print the public key, and end
  --level <0 to 9>  compression level of xz (default 6); 0: zstd at its quickest
  --help            this text`;

const LEVEL_DEFAULT = 6;

const PACKAGES = [
  { name: 'energy-gateway', stage: stageGateway },
  { name: 'energy-gateway-module', stage: stageModule },
] as const;

function processorsOf(word: string | undefined): Processor[] {
  if (word === undefined) return [...PROCESSORS];
  const known = PROCESSORS.find((processor) => processor === word);
  if (known === undefined) throw new UsageError(`--arch must be ${PROCESSORS.join(' or ')}`);
  return [known];
}

function packagesOf(word: string | undefined): readonly (typeof PACKAGES)[number][] {
  if (word === undefined) return PACKAGES;
  const found = PACKAGES.filter(({ name }) => name === word);
  if (found.length === 0)
    throw new UsageError(`--package must be ${PACKAGES.map(({ name }) => name).join(' or ')}`);
  return found;
}

/** Only its owner reads it; it belongs on no machine that can be reached from elsewhere. */
function makeKey(file: string): void {
  const { privateKey } = generateKeyPairSync('ed25519');
  writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flag: 'wx' });
  console.log(publicKeyOf(file).trim());
}

await runScript(async () => {
  const values = parseWords({
    arch: { type: 'string' },
    package: { type: 'string' },
    out: { type: 'string', default: 'out' },
    level: { type: 'string' },
    key: { type: 'string' },
    trust: { type: 'string' },
    'new-key': { type: 'string' },
    help: { type: 'boolean', default: false },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  if (values['new-key'] !== undefined) {
    makeKey(values['new-key']);
    return 0;
  }
  const processors = processorsOf(values.arch);
  const packages = packagesOf(values.package);
  for (const file of [values.key, values.trust])
    if (file !== undefined && !statSync(file, { throwIfNoEntry: false })?.isFile())
      throw new UsageError(`${file} is not a file`);
  const updateKeys = [
    values.key === undefined ? '' : publicKeyOf(values.key),
    values.trust === undefined ? '' : readFileSync(values.trust, 'utf8'),
  ].join('');
  const level = whole('level', values.level, 0, 9) ?? LEVEL_DEFAULT;
  const out = resolve(values.out);
  const work = mkdtempSync(join(tmpdir(), 'build-deb-'));
  try {
    mkdirSync(out, { recursive: true });
    const bundles = join(work, 'dist');
    const version = sourceVersion(ROOT);
    await bundle(bundles, version);
    for (const processor of processors)
      for (const { name, stage } of packages) {
        const root = join(work, `${name}-${processor}`);
        stage({ root, source: ROOT, bundles, processor, version, updateKeys });
        const file = join(out, `${name}_${version}_${processor}.deb`);
        packDeb({ root, file, level, source: ROOT });
        rmSync(root, { recursive: true });
        if (values.key !== undefined) await signPackage(file, readFileSync(values.key, 'utf8'));
        console.log(`${file}  ${(statSync(file).size / 1e6).toFixed(1)} MB`);
      }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return 0;
});
