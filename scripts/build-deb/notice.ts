/**
 * What others made and a package holds: the texts of the licences (NOTICE) and a bill of materials (CycloneDX 1.6), both
 * from the files of each part.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { libatomic, NPM_PROCESSOR, type Processor, runtimePackage } from './runtime.ts';

/** A part that somebody else made. */
export interface Part {
  name: string;
  version: string;
  /** As its maker says it, an SPDX expression; undefined: only the text says. */
  license: string | undefined;
  /** All texts of its licence, and notices. */
  text: string;
  /** Its address among packages (package-url). */
  purl: string;
  /** SHA-512 of the archive that was fetched, in base64; undefined: not known. */
  digest?: string | undefined;
  /** By what lists of weaknesses know it; undefined: by `purl`. */
  cpe?: string;
}

const LICENCES = 'scripts/build-deb/licences';
const TEXT = /^(?:licen[cs]e|copying|notice)[\w-]*(?:\.(?:md|txt))?$/i;

interface Manifest {
  name: string;
  version: string;
  license?: string;
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const cpeOf = (product: string, version: string): string => `cpe:2.3:a:${product}:${version}:*:*:*:*:*:*:*`;

/** A package of npm below the project. @throws Error when the text of its licence is nowhere */
export function npmPart(source: string, folder: string): Part {
  const { name, version, license } = readJson(join(source, folder, 'package.json')) as Manifest;
  const lock = readJson(join(source, 'package-lock.json')) as {
    packages: Record<string, { integrity?: string } | undefined>;
  };
  return {
    name,
    version,
    license,
    text: textOf(source, folder, { name, license }),
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    digest: lock.packages[folder]?.integrity?.replace(/^sha512-/, ''),
  };
}

/** The licence text among a package's own files; for a package without one, the text that the project keeps for it. */
function textOf(source: string, folder: string, { name, license }: Pick<Part, 'name' | 'license'>): string {
  const file = name.replace('@', '').replace('/', '-');
  const own = readdirSync(join(source, folder))
    .filter((entry) => TEXT.test(entry))
    .map((entry) => join(source, folder, entry));
  const kept = [
    join(source, LICENCES, file),
    ...(license === 'Apache-2.0' ? [join(source, 'LICENSE')] : []),
  ].filter((path) => existsSync(path));
  const files = own.length > 0 ? own : kept.slice(0, 1);
  if (files.length === 0)
    throw new Error(`${name} comes without the text of its licence: put it into ${LICENCES}/${file}`);
  return files.map((path) => readFileSync(path, 'utf8').trim()).join('\n\n');
}

/** Node.js, and the library beside it. */
export function runtimeParts(source: string, processor: Processor): Part[] {
  const folder = runtimePackage(source, processor);
  const { version, license } = readJson(join(folder, 'package.json')) as Manifest;
  const { license: text, version: ofLibrary } = libatomic(source, processor);
  return [
    {
      name: 'node',
      version,
      license,
      text: readFileSync(join(folder, 'LICENSE'), 'utf8').trim(),
      purl: `pkg:npm/node-linux-${NPM_PROCESSOR[processor]}@${version}`,
      cpe: cpeOf('nodejs:node.js', version),
    },
    {
      name: 'libatomic1',
      version: ofLibrary,
      license: 'GPL-3.0-or-later WITH GCC-exception-3.1',
      text: text.toString('utf8').trim(),
      purl: `pkg:deb/debian/libatomic1@${encodeURIComponent(ofLibrary)}?arch=${processor}`,
    },
  ];
}

/** SQLite, which the driver holds. */
export function sqlitePart(source: string): Part {
  const header = readFileSync(join(source, 'node_modules/better-sqlite3/deps/sqlite3/sqlite3.h'), 'utf8');
  const version = /^#define SQLITE_VERSION\s+"([\d.]+)"/m.exec(header)?.[1] ?? '';
  return {
    name: 'sqlite',
    version,
    license: 'blessing',
    text: 'SQLite is in the public domain: https://sqlite.org/copyright.html',
    purl: `pkg:generic/sqlite@${version}`,
    cpe: cpeOf('sqlite:sqlite', version),
  };
}

/** Lua, which the WebAssembly file holds; that does not say its last digit. */
export function luaPart(source: string): Part {
  const version = '5.4';
  return {
    name: 'lua',
    version,
    license: 'MIT',
    text: readFileSync(join(source, LICENCES, 'lua'), 'utf8').trim(),
    purl: `pkg:generic/lua@${version}`,
    cpe: cpeOf('lua:lua', version),
  };
}

/** Each once, in the order of names. */
export function sortedParts(parts: readonly Part[]): Part[] {
  const byPurl = new Map(parts.map((part) => [part.purl, part]));
  return [...byPurl.values()].sort((one, other) => (one.purl < other.purl ? -1 : 1));
}

/** A heading and the texts of each part; a text that several have stands once, below all of them. */
export function noticeOf(product: string, parts: readonly Part[]): string {
  const byText = new Map<string, string[]>();
  for (const { name, version, license, text } of parts) {
    const heading = `${name} ${version}${license === undefined ? '' : ` (${license})`}`;
    byText.set(text, [...(byText.get(text) ?? []), heading]);
  }
  const sections = [...byText].map(([text, headings]) => `${headings.join('\n')}\n\n${text}\n`);
  const head = `${product} contains ${parts.length} parts that others made. Their licences:\n`;
  return [head, ...sections].join(`\n${'='.repeat(80)}\n\n`);
}

/** @param madeAtS Unix second that stands for when it was made */
export function billOfMaterials(
  product: { name: string; version: string; license: string },
  parts: readonly Part[],
  madeAtS: number,
): string {
  const ref = `${product.name}@${product.version}`;
  return `${JSON.stringify(
    {
      $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
      bomFormat: 'CycloneDX',
      specVersion: '1.6',
      version: 1,
      metadata: {
        timestamp: new Date(madeAtS * 1_000).toISOString(),
        component: {
          type: 'application',
          'bom-ref': ref,
          name: product.name,
          version: product.version,
          licenses: licensesOf(product.license),
        },
      },
      components: parts.map((part) => ({
        type: part.name === 'node' ? 'platform' : 'library',
        'bom-ref': part.purl,
        name: part.name,
        version: part.version,
        ...(part.digest !== undefined && {
          hashes: [{ alg: 'SHA-512', content: Buffer.from(part.digest, 'base64').toString('hex') }],
        }),
        licenses: licensesOf(part.license),
        ...(part.cpe !== undefined && { cpe: part.cpe }),
        purl: part.purl,
      })),
      dependencies: [{ ref, dependsOn: parts.map(({ purl }) => purl) }],
    },
    undefined,
    1,
  )}\n`;
}

/** One identifier, several in an expression, or the name of the file with the text. */
function licensesOf(license: string | undefined): object[] {
  if (license === undefined) return [{ license: { name: 'text in NOTICE' } }];
  return [/^[\w.-]+$/.test(license) ? { license: { id: license } } : { expression: license }];
}
