/** Cache of devices as JSON: pages and integrations request whole lists every few seconds, and little changes in between. */
import type { Role } from '../../lib/role.ts';
import { WrittenJson } from '../../platform/http/index.ts';
import type { Device } from './model.ts';
import { type Expansion, toWire, type WireContext } from './schema.ts';

/** Manifests would take much memory, and there is no event for changes of raised alerts. */
const NOT_KEPT: readonly Expansion[] = ['manifest', 'raised_alert_names'];
/** Whole answers kept, for a few pages that show the same site with different roles. */
const LISTS_KEPT = 3;
const LIST_LENGTH_MAX = 250;

/** A text with the values that it depends on besides the device, which is another object after every change. */
interface Kept {
  role: Role;
  expand: string;
  site: unknown;
  manifest: unknown;
  properties: unknown;
  connectivity: unknown;
  text: string;
}

interface KeptList {
  texts: readonly string[];
  total: number;
  answer: WrittenJson;
}

export class DeviceTexts {
  readonly #context: Pick<WireContext, 'devices' | 'site'>;
  readonly #kept = new WeakMap<Device, Kept>();
  /** The newest first. */
  #lists: readonly KeptList[] = [];

  constructor(context: Pick<WireContext, 'devices' | 'site'>) {
    this.#context = context;
  }

  of(device: Device, role: Role, expand: readonly Expansion[]): string {
    if (!isKept(expand)) return this.#write(device, role, expand);
    return this.#keptOf(device, role, expand, expand.join());
  }

  /** The answer of a list; the same object as before while nothing has changed. @param total devices on all pages */
  list(page: readonly Device[], total: number, role: Role, expand: readonly Expansion[]): WrittenJson {
    if (!isKept(expand) || page.length > LIST_LENGTH_MAX)
      return listOf(
        page.map((device) => this.of(device, role, expand)),
        total,
      );
    const expandText = expand.join();
    const texts = page.map((device) => this.#keptOf(device, role, expand, expandText));
    const known = this.#lists.find((list) => list.total === total && hasSame(list.texts, texts));
    if (known) return known.answer;
    const answer = listOf(texts, total);
    this.#lists = [{ texts, total, answer }, ...this.#lists.slice(0, LISTS_KEPT - 1)];
    return answer;
  }

  #write(device: Device, role: Role, expand: readonly Expansion[]): string {
    return JSON.stringify(toWire(device, { ...this.#context, role }, expand));
  }

  /** Runs for every device of a list, so it allocates no object unless the text must be written. */
  #keptOf(device: Device, role: Role, expand: readonly Expansion[], expandText: string): string {
    const { devices } = this.#context;
    const site = this.#context.site.get();
    const manifest = devices.manifest(device);
    const properties = devices.properties(device, role);
    const connectivity = devices.connectivity(device.id);
    const kept = this.#kept.get(device);
    if (
      kept &&
      kept.role === role &&
      kept.expand === expandText &&
      kept.site === site &&
      kept.manifest === manifest &&
      kept.properties === properties &&
      kept.connectivity === connectivity
    )
      return kept.text;
    const text = this.#write(device, role, expand);
    this.#kept.set(device, { role, expand: expandText, site, manifest, properties, connectivity, text });
    return text;
  }
}

function isKept(expand: readonly Expansion[]): boolean {
  return !expand.some((name) => NOT_KEPT.includes(name));
}

function listOf(texts: readonly string[], total: number): WrittenJson {
  return new WrittenJson(`{"devices":[${texts.join()}],"total_count":${total}}`);
}

function hasSame(some: readonly string[], others: readonly string[]): boolean {
  if (some.length !== others.length) return false;
  for (let index = 0; index < some.length; index++) if (some[index] !== others[index]) return false;
  return true;
}
