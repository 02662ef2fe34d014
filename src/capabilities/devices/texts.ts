/**
 * Devices as JSON, each written again only when something of it is different: pages and integrations ask for whole
 * lists every few seconds, and little changes in between.
 */
import type { Role } from '../../lib/role.ts';
import type { Device } from './model.ts';
import { type Expansion, toWire, type WireContext } from './schema.ts';

/** Manifests would take much memory, and nobody tells when raised alerts change. */
const NOT_KEPT: readonly Expansion[] = ['manifest', 'raised_alert_names'];

interface Kept {
  /** What the text says, beside the device itself, which is another object after every change. */
  from: readonly unknown[];
  text: string;
}

export class DeviceTexts {
  readonly #context: Pick<WireContext, 'devices' | 'site'>;
  readonly #kept = new WeakMap<Device, Kept>();

  constructor(context: Pick<WireContext, 'devices' | 'site'>) {
    this.#context = context;
  }

  of(device: Device, role: Role, expand: readonly Expansion[]): string {
    const { devices, site } = this.#context;
    const write = (): string => JSON.stringify(toWire(device, { ...this.#context, role }, expand));
    if (expand.some((name) => NOT_KEPT.includes(name))) return write();
    const from = [
      role,
      expand.join(),
      site.get(),
      devices.manifest(device),
      devices.properties(device, role),
      devices.connectivity(device.id),
    ];
    const kept = this.#kept.get(device);
    if (kept && kept.from.every((part, index) => part === from[index])) return kept.text;
    const text = write();
    this.#kept.set(device, { from, text });
    return text;
  }
}
