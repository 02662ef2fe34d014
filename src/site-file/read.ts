/** Reads a site file: follows references to secrets and blueprints, and names every fault. */
import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse as parseYaml, YAMLParseError } from 'yaml';
import { messageOf } from '../lib/errors.ts';
import { LIMITS } from '../lib/limits.ts';
import { foldedName } from '../lib/text.ts';
import { asUtf8 } from '../lib/utf8-file.ts';
import { yamlFault } from '../lib/yaml-fault.ts';
import { readPlainFile } from '../platform/files/index.ts';
import {
  faultsOfScript,
  judge,
  type NamedRule,
  type WantedDevice,
  type WantedSite,
  type WantedTariffs,
  type WantedUser,
} from './schema.ts';

/** Variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** As the interface takes it, secrets in it. */
export type WantedTarget = { name: string; kind: string } & Readonly<Record<string, unknown>>;

/** As the interface takes it, secrets in it. */
export type WantedChannel = { name: string; kind: string } & Readonly<Record<string, unknown>>;

export interface WantedRule {
  slug: string;
  /** As the interface takes it. */
  script: { code: string; runtime_version: string; exec_interval?: string | null | undefined };
  /** Undefined: a new rule is enabled, an existing one stays as it is. */
  isEnabled: boolean | undefined;
}

export interface WantedBlueprint {
  name: string;
  zip: Uint8Array;
}

export interface SiteFile {
  site: WantedSite | undefined;
  users: readonly WantedUser[];
  blueprints: readonly WantedBlueprint[];
  targets: readonly WantedTarget[];
  devices: readonly WantedDevice[];
  tariffs: WantedTariffs | undefined;
  rules: readonly WantedRule[];
  notifications: readonly WantedChannel[];
  /** Paths of device parameters that stand elsewhere. */
  referred: ReadonlySet<string>;
}

/** Thrown before anything was changed; the message names every fault. */
export class SiteFileError extends Error {
  constructor(faults: readonly string[]) {
    super(`the site file is not usable:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.name = 'SiteFileError';
  }
}

/** Members whose texts must not be in the file itself. */
const SECRETS: ReadonlySet<string> = new Set([
  'password',
  'secret',
  'private_key_pem',
  'signing_secret',
  'token',
]);
/** Parameters of devices; a manifest gives their names. */
const PARAMETER = /^devices\[\d+\]\.configuration\.[^.]+\.[^.]+$/;
/** The address of a webhook is a secret, because everybody who knows it can send there. */
const SECRET_URL = /^notifications\[\d+\]\.webhook\.url$/;
/** Members that may be given as a reference. */
const REFERABLE: ReadonlySet<string> = new Set([...SECRETS, 'ca_pem', 'certificate_pem']);

/** Reads the file, with the secrets that it refers to. @throws SiteFileError */
export function readSiteFile(path: string, environment: Environment): SiteFile {
  const document = parseDocument(path);
  const folder = dirname(path);
  const references = new References(folder, environment);
  const resolved = references.resolved(document, '');
  const { judged, faults } = judge(resolved);
  const others = faults.filter(({ path: at }) => !references.faults.has(at));
  const later: string[] = [];
  /** Empty for a file that cannot be read, which is a fault. */
  const contentOf: ContentOf = (name, bytesMax, at) => {
    try {
      return readBounded(resolve(folder, name), bytesMax);
    } catch (error) {
      later.push(`${at}: ${messageOf(error)}`);
      return Buffer.alloc(0);
    }
  };
  const named = [...references.faults, ...others.map(({ path: at, message }) => [at, message] as const)].map(
    ([at, message]) => `${at === '' ? path : at}: ${message}`,
  );
  if (!judged || named.length > 0) {
    const lists = listsIn(resolved);
    readFiles(lists, contentOf);
    throw new SiteFileError([...named, ...later, ...repeatedNames(lists)]);
  }
  // Checked already.
  const raw = (resolved ?? {}) as { targets?: WantedTarget[] | null; notifications?: WantedChannel[] | null };
  const targets = (raw.targets ?? []).map((target, index) => ({
    ...target,
    name: judged.targets[index]?.name ?? target.name,
  }));
  const blueprints = judged.blueprints.map(({ name, file: zip }, index) => ({
    name,
    zip: contentOf(zip, LIMITS.http.zipBodyBytes, `blueprints[${index}].file`),
  }));
  const rules = judged.rules.map((rule, index) => ruleOf(rule, `rules[${index}]`, contentOf, later));
  const { site, users, devices, tariffs } = judged;
  const file: SiteFile = {
    site: site ?? undefined,
    users,
    blueprints,
    targets,
    devices,
    tariffs: tariffs ?? undefined,
    rules,
    notifications: raw.notifications ?? [],
    referred: references.referred,
  };
  later.push(...repeatedNames(file));
  if (later.length > 0) throw new SiteFileError(later);
  return file;
}

/** Entries of the file by list, of which nothing is known but that they are objects. */
type Lists = Readonly<
  Record<'users' | 'blueprints' | 'targets' | 'devices' | 'rules' | 'notifications', Entry[]>
>;
type Entry = { name?: unknown; slug?: unknown; file?: unknown };

function listsIn(document: unknown): Lists {
  const members = (document ?? {}) as Record<string, unknown>;
  const of = (name: string): Entry[] => {
    const list = members[name];
    return Array.isArray(list) ? list.filter((entry) => typeof entry === 'object' && entry !== null) : [];
  };
  return {
    users: of('users'),
    blueprints: of('blueprints'),
    targets: of('targets'),
    devices: of('devices'),
    rules: of('rules'),
    notifications: of('notifications'),
  };
}

/** Looks for the files that a document with other faults names, so that all faults are reported at once. */
function readFiles({ blueprints, rules }: Lists, contentOf: ContentOf): void {
  const read = (entries: Entry[], list: string, bytesMax: number): void =>
    entries.forEach(({ file }, index) => {
      if (typeof file === 'string') contentOf(file, bytesMax, `${list}[${index}].file`);
    });
  read(blueprints, 'blueprints', LIMITS.http.zipBodyBytes);
  read(rules, 'rules', LIMITS.rules.scriptBytes);
}

type ContentOf = (name: string, bytesMax: number, at: string) => Buffer;

function ruleOf(named: NamedRule, at: string, contentOf: ContentOf, faults: string[]): WantedRule {
  const { slug, file, runtime_version, exec_interval, enabled } = named;
  const code = contentOf(file, LIMITS.rules.scriptBytes, `${at}.file`).toString('base64');
  const script = { code, runtime_version, exec_interval };
  for (const { path, message } of faultsOfScript(script))
    faults.push(`${at}.${path === 'code' ? 'file' : path}: ${message}`);
  return { slug, script, isEnabled: enabled ?? undefined };
}

function parseDocument(path: string): unknown {
  let text: string;
  try {
    text = asUtf8(readBounded(path, LIMITS.siteFile.fileBytes)).toString('utf8');
  } catch (error) {
    throw new SiteFileError([`${path}: ${messageOf(error)}`]);
  }
  try {
    const document: unknown = parseYaml(text, { logLevel: 'error' });
    requireEnd(document);
    return document;
  } catch (error) {
    const position = error instanceof YAMLParseError ? error.linePos?.[0] : undefined;
    const place = position ? `:${position.line}:${position.col}` : '';
    throw new SiteFileError([`${path}${place}: ${yamlFault(messageOf(error))}`]);
  }
}

/** Refuses a document that contains itself: reading it would never end. */
function requireEnd(document: unknown): void {
  try {
    JSON.stringify(document);
  } catch (cause) {
    throw new Error('an alias (*) stands inside of what it names', { cause });
  }
}

function readBounded(path: string, bytesMax: number): Buffer {
  const sizeBytes = statSync(path, { throwIfNoEntry: false })?.size;
  if (sizeBytes === undefined) throw new Error(`there is no ${path}`);
  if (sizeBytes > bytesMax) throw new Error(`${path} has ${sizeBytes} bytes, at most ${bytesMax} are taken`);
  return readPlainFile(path);
}

function repeatedNames({
  users,
  blueprints,
  targets,
  devices,
  rules,
  notifications,
}: Pick<Lists, keyof Lists> | SiteFile): string[] {
  const folded = (name: unknown): unknown => (typeof name === 'string' ? foldedName(name) : undefined);
  const lists: Record<string, unknown[]> = {
    'users: the name': users.map(({ name }) => folded(name)),
    'blueprints: the name': blueprints.map(({ name }) => name),
    'targets: the name': targets.map(({ name }) => name),
    'devices: the slug': devices.map(({ slug }) => slug),
    'rules: the slug': rules.map(({ slug }) => slug),
    'notifications: the name': notifications.map(({ name }) => name),
  };
  return Object.entries(lists).flatMap(([what, names]) =>
    [
      ...new Set(names.filter((name, index) => typeof name === 'string' && names.indexOf(name) !== index)),
    ].map((name) => `${what} "${String(name)}" stands there more than once`),
  );
}

/** References to texts that stand elsewhere: `{env: NAME}` or `{file: PATH}`. */
class References {
  /** Faults by path. */
  readonly faults = new Map<string, string>();
  /** Paths of device parameters that are references. */
  readonly referred = new Set<string>();
  readonly #folder: string;
  readonly #environment: Environment;

  constructor(folder: string, environment: Environment) {
    this.#folder = folder;
    this.#environment = environment;
  }

  /** The document with texts in place of references. */
  resolved(value: unknown, path: string): unknown {
    if (Array.isArray(value)) return value.map((one, index) => this.resolved(one, `${path}[${index}]`));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]: [string, unknown]) => {
        const at = path === '' ? name : `${path}.${name}`;
        if (PARAMETER.test(at)) return [name, this.#parameter(member, at)];
        const isText = REFERABLE.has(name) || SECRET_URL.test(at);
        return [name, isText ? this.#text(name, member, at) : this.resolved(member, at)];
      }),
    );
  }

  /** A parameter of any type; the manifest of the device will tell whether it is secret. */
  #parameter(value: unknown, at: string): unknown {
    const read = this.#reference(value, at);
    if (!read) return value;
    this.referred.add(at);
    return read();
  }

  #reference(value: unknown, at: string): (() => string | undefined) | undefined {
    const [[kind, where] = [], ...more] =
      typeof value === 'object' && value !== null ? Object.entries(value) : [];
    if (more.length > 0 || typeof where !== 'string') return undefined;
    if (kind === 'env') return () => this.#fromEnvironment(where, at);
    return kind === 'file' ? () => this.#fromFile(where, at) : undefined;
  }

  #text(name: string, value: unknown, at: string): unknown {
    const read = this.#reference(value, at);
    if (read) return read();
    const isSecret = SECRETS.has(name) || SECRET_URL.test(at);
    if (!isSecret && typeof value === 'string') return value;
    if (value === null) return value;
    // The text is not repeated, because it may be the secret.
    this.faults.set(at, 'must be {env: NAME} or {file: PATH}, so that no secret stands in this file');
    return undefined;
  }

  #fromEnvironment(name: string, at: string): string | undefined {
    const text = this.#environment[name];
    if (!text) this.faults.set(at, `the environment has no ${name}`);
    return text;
  }

  #fromFile(path: string, at: string): string | undefined {
    try {
      const text = asUtf8(readBounded(resolve(this.#folder, path), LIMITS.siteFile.secretBytes)).toString(
        'utf8',
      );
      if (text.trim() !== '') return text.replace(/\r?\n$/, '');
      this.faults.set(at, `${path} is empty`);
    } catch (error) {
      this.faults.set(at, messageOf(error));
    }
    return undefined;
  }
}
