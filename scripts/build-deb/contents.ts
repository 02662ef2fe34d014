/** What lies in each package, as a tree ready to be packed. */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { PACKAGES_FILE, packagesOf } from '../support/bundled-packages.ts';
import { digestOf, sizeOf, timeOf } from './archive.ts';
import {
  billOfMaterials,
  luaPart,
  noticeOf,
  npmPart,
  type Part,
  runtimeParts,
  sortedParts,
  sqlitePart,
} from './notice.ts';
import {
  libatomic,
  NPM_PROCESSOR,
  type Processor,
  runtimePackage,
  withLibrariesBeside,
  withoutSymbols,
} from './runtime.ts';

export interface Staging {
  /** Where the tree is made. */
  root: string;
  /** The project. */
  source: string;
  /** What `npm run build` makes. */
  bundles: string;
  processor: Processor;
  version: string;
  /** Public keys (PEM) of whoever may sign an update of this version; empty: nobody. */
  updateKeys?: string;
}

const MAINTAINER = 'Energy gateway <gateway@localhost>';
/** The version that runs: a link that `guard` alone changes. */
const CURRENT = '/var/lib/energy-gateway-versions/current';
const LIBRARY = 'usr/lib/energy-gateway';
const UNITS = 'usr/lib/systemd/system';
const MAINTAINER_SCRIPTS = ['postinst', 'prerm', 'postrm'] as const;
/** By the versioned symbols of the runtime (GLIBC_2.28, GLIBCXX_3.4.21) and of the SQLite driver (GLIBC_2.34). */
const RUNTIME_DEPENDS = 'libc6 (>= 2.34), libstdc++6 (>= 8), systemd (>= 250)';

/** Bundles of the stand-alone communication module. */
const MODULE_BUNDLES = ['main.js', 'script-thread.js'].map((name) => `field-module/${name}`);

class Tree {
  readonly #staging: Staging;
  /** What others made of all that was put in. */
  readonly #parts: Part[] = [];

  constructor(staging: Staging) {
    this.#staging = staging;
  }

  #path(to: string): string {
    const path = join(this.#staging.root, to);
    mkdirSync(dirname(path), { recursive: true });
    return path;
  }

  write(to: string, text: string | Buffer, mode = 0o644): void {
    writeFileSync(this.#path(to), text, { mode });
  }

  /** From the project, with everything below it. */
  copy(from: string, to: string): void {
    cpSync(join(this.#staging.source, from), this.#path(to), { recursive: true });
  }

  program(from: string, to: string): void {
    const path = this.#path(to);
    copyFileSync(join(this.#staging.source, from), path);
    chmodSync(path, 0o755);
  }

  link(target: string, to: string): void {
    symlinkSync(target, this.#path(to));
  }

  bundles(keep: (path: string) => boolean, to: string): void {
    const { bundles, source } = this.#staging;
    cpSync(bundles, this.#path(to), {
      recursive: true,
      // Maps are for whoever works on the sources, and the same sources make them again.
      filter: (path) => !path.endsWith('.map') && keep(path.slice(bundles.length + 1)),
    });
    this.#parts.push(...packagesOf(bundles, keep).map((folder) => npmPart(source, folder)));
  }

  /** Licences and bill of materials of all that was put in before. */
  notice(to: string, name: string): void {
    const { source, version } = this.#staging;
    const parts = sortedParts(this.#parts);
    const product = { name, version, license: licenseOf(source) };
    this.write(`${to}/NOTICE`, noticeOf(`${name} ${version}`, parts));
    this.write(`${to}/sbom.cdx.json`, billOfMaterials(product, parts, timeOf(source)));
  }

  /** Node.js, its launcher and the name and version of the package, as the programs look for them. */
  runtime(to: string): void {
    const { source, processor, version } = this.#staging;
    const folder = runtimePackage(source, processor);
    const target = `${to}/node_modules/node-linux-${NPM_PROCESSOR[processor]}`;
    const program = withoutSymbols(readFileSync(join(folder, 'bin/node')));
    this.write(`${target}/bin/node`, withLibrariesBeside(program, `/${target}/bin`), 0o755);
    this.write(`${target}/LICENSE`, readFileSync(join(folder, 'LICENSE')));
    const { library, license } = libatomic(source, processor);
    this.write(`${target}/bin/libatomic.so.1`, library);
    this.write(`${target}/bin/libatomic.LICENSE.txt`, license);
    this.program('scripts/gwnode', `${to}/scripts/gwnode`);
    const { name } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as { name: string };
    this.write(`${to}/package.json`, `${JSON.stringify({ name, version, type: 'module' })}\n`);
    this.copy('LICENSE', `${to}/LICENSE`);
    for (const file of ['package.json', 'LICENSE', 'dist/glue.wasm'])
      this.copy(`node_modules/wasmoon/${file}`, `${to}/node_modules/wasmoon/${file}`);
    this.#parts.push(
      ...runtimeParts(source, processor),
      npmPart(source, 'node_modules/wasmoon'),
      luaPart(source),
    );
  }

  sqlite(to: string): void {
    const driver = 'node_modules/better-sqlite3';
    const native = `linux-${NPM_PROCESSOR[this.#staging.processor]}`;
    for (const file of ['package.json', 'LICENSE', 'lib', `prebuilds/${native}.node`])
      this.copy(`${driver}/${file}`, `${to}/${driver}/${file}`);
    const { source } = this.#staging;
    this.#parts.push(npmPart(source, driver), sqlitePart(source));
  }

  control(name: string, words: { about: string; depends: string; suggests?: string }): void {
    const { root, source, processor, version } = this.#staging;
    const fields = {
      Package: name,
      Version: version,
      Architecture: processor,
      Maintainer: MAINTAINER,
      'Installed-Size': String(Math.ceil(sizeOf(root) / 1_024)),
      Depends: words.depends,
      // A recommendation that cannot be fetched refuses the whole installation of a board without a network.
      ...(words.suggests !== undefined && { Suggests: words.suggests }),
      Section: 'net',
      Priority: 'optional',
      Description: words.about,
    };
    const lines = Object.entries(fields).map(([field, value]) => `${field}: ${value}\n`);
    this.write('DEBIAN/control', lines.join(''));
    const scripts = name === 'energy-gateway' ? 'gateway' : 'module';
    for (const script of MAINTAINER_SCRIPTS)
      this.program(`scripts/build-deb/${scripts}/${script}`, `DEBIAN/${script}`);
    this.write(
      `usr/share/doc/${name}/copyright`,
      `License: ${licenseOf(source)}\n\nOf what comes with it: NOTICE below /usr/lib/${name}, ` +
        'with the texts of all\nlicences; sbom.cdx.json beside it lists the parts with their versions.\n',
    );
  }
}

function licenseOf(source: string): string {
  return (JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as { license: string }).license;
}

/** energy-gateway: programs, console, runtime, driver, manual, units. */
export function stageGateway(staging: Staging): void {
  const tree = new Tree(staging);
  const release = `${LIBRARY}/package`;
  tree.bundles((path) => path !== PACKAGES_FILE, `${release}/dist`);
  tree.runtime(release);
  tree.sqlite(release);
  tree.notice(release, 'energy-gateway');
  tree.copy('migrations', `${release}/migrations`);
  const builtIn = 'src/capabilities/blueprints/built-in';
  tree.copy(builtIn, `${release}/${builtIn}`);
  for (const part of ['devices', 'runtime', 'strategies', 'attributes.yml', 'sunspec.yml'])
    tree.copy(`src/library/${part}`, `${release}/src/library/${part}`);
  tree.program('scripts/energy-gateway', `${release}/scripts/energy-gateway`);
  tree.copy('systemd/energy-gateway.env', `${release}/systemd/energy-gateway.env`);
  // For `guard`: this version needs no child to tell that it is ready.
  tree.write(`${release}/update-keys.pem`, staging.updateKeys ?? '');
  const digest = digestOf(join(staging.root, release)).slice(0, 12);
  tree.write(`${release}/release`, `${staging.version}-${digest}\n`);
  tree.program('scripts/build-deb/gateway/guard', `${LIBRARY}/guard`);
  tree.link('../lib/energy-gateway/guard', 'usr/sbin/energy-gateway-versions');
  tree.link(`${CURRENT}/scripts/energy-gateway`, 'usr/bin/energy-gateway');
  tree.copy('systemd/energy-gateway.service', `${UNITS}/energy-gateway.service`);
  tree.copy('scripts/build-deb/gateway/trial.service', `${UNITS}/energy-gateway-trial.service`);
  tree.program('scripts/build-deb/gateway/take-update', `${LIBRARY}/take-update`);
  for (const kind of ['path', 'service'])
    tree.copy(`scripts/build-deb/gateway/update.${kind}`, `${UNITS}/energy-gateway-update.${kind}`);
  tree.copy('systemd/energy-gateway.sysusers', 'usr/lib/sysusers.d/energy-gateway.conf');
  tree.copy('scripts/build-deb/gateway/options.env', 'etc/energy-gateway/energy-gateway.env');
  tree.write('DEBIAN/conffiles', '/etc/energy-gateway/energy-gateway.env\n');
  for (const document of ['README.md', 'CHANGELOG.md', 'docs'])
    tree.copy(document, `usr/share/doc/energy-gateway/${document}`);
  tree.copy('scripts/build-deb/gateway/examples', 'usr/share/doc/energy-gateway/examples');
  tree.control('energy-gateway', {
    about:
      'single-site energy gateway\n HTTP API, console, MQTT broker, rules and history of one site in one service.',
    depends: RUNTIME_DEPENDS,
    suggests: 'chrony | systemd-timesyncd',
  });
}

/** energy-gateway-module: a communication module for a board without a gateway. */
export function stageModule(staging: Staging): void {
  const tree = new Tree(staging);
  const library = 'usr/lib/energy-gateway-module';
  const isFolderOf = (path: string): boolean => MODULE_BUNDLES.some((file) => file.startsWith(`${path}/`));
  tree.bundles(
    (path) => path === '' || isFolderOf(path) || MODULE_BUNDLES.some((file) => path.startsWith(file)),
    `${library}/dist`,
  );
  tree.runtime(library);
  tree.notice(library, 'energy-gateway-module');
  tree.copy('systemd/energy-gateway-module.service', `${UNITS}/energy-gateway-module.service`);
  tree.copy('systemd/energy-gateway-module.sysusers', 'usr/lib/sysusers.d/energy-gateway-module.conf');
  tree.copy('docs/communication-module.md', 'usr/share/doc/energy-gateway-module/communication-module.md');
  tree.copy(
    'scripts/build-deb/gateway/examples/can.conf',
    'usr/share/doc/energy-gateway-module/examples/can.conf',
  );
  tree.write('etc/energy-gateway-module/.keep', '');
  tree.control('energy-gateway-module', {
    about:
      'communication module of an energy gateway\n Runs the Lua scripts of devices on a board of their own; the gateway is elsewhere.',
    depends: RUNTIME_DEPENDS,
    suggests: 'chrony | systemd-timesyncd',
  });
}
