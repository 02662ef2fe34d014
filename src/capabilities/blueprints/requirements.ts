/** What a script needs of the module that runs it (docs/interface/blueprints.md#requirements). */
import type { CompiledManifest } from './manifest.ts';

/** Names that a module of software alone offers; `http` is always there and `lua_api_ver_3` means nothing. */
export const SOFTWARE_MODULE_OFFERS: ReadonlySet<string> = new Set(['modbus', 'http', 'lua_api_ver_3']);

/** What a module says of a serial port that it has. */
const PORT = /^port:(.+)$/;

/**
 * Names that a module offers by what it says of itself: those of every software module, its own, and for each serial
 * port what blueprints ask for that are written for hardware with it, of either spec.
 */
export function offersOfModule(said: readonly string[]): ReadonlySet<string> {
  const ports = said.flatMap((name) => PORT.exec(name)?.[1] ?? []);
  const ofPorts = ports.flatMap((port) => ['serial', `enp_${port}_ports`, `ENP-${port.toUpperCase()}`]);
  return new Set([...SOFTWARE_MODULE_OFFERS, ...said, ...ofPorts]);
}

/** The one product of the older spec that is software. */
const SOFTWARE_PRODUCT = 'ENP-VIRTUAL';

/**
 * Requirements of the blueprint that are not offered, in the order of the manifest; for the older spec the
 * hardware product it is written for. Empty: a software module can run it.
 */
export function missingRequirements(
  manifest: CompiledManifest,
  offers: ReadonlySet<string> = SOFTWARE_MODULE_OFFERS,
): string[] {
  const required = manifest.runtime?.requirements ?? productsOf(manifest);
  return required.filter((name) => !offers.has(name) && name !== SOFTWARE_PRODUCT);
}

function productsOf(manifest: CompiledManifest): string[] {
  const modules = manifest['communication_modules'] as Record<string, { product?: unknown }> | undefined;
  return Object.values(modules ?? {}).flatMap(({ product }) =>
    typeof product === 'string' ? [product] : [],
  );
}

/** How a module comes to what it lacks, for people; undefined where hardware of another kind is needed. */
export function remedyFor(missing: readonly string[]): string | undefined {
  const ports = new Set(missing.flatMap((name) => PORT_NEEDED.exec(name)?.[1]?.toLowerCase() ?? []));
  if (missing.includes('serial')) ports.add('rs485');
  if (ports.size === 0) return undefined;
  const named = [...ports].map((port) => `"${port}"`).join(' and ');
  return `a module provides it with a serial port named ${named}: add one with POST /v3/serial_ports or the option serial_ports (GATEWAY_SERIAL_PORTS), or in the configuration of a module on another board`;
}

/** Names of serial lines that a port of the system can stand for. */
const PORT_NEEDED = /^(?:ENP-|enp_)(rs485|rs232)(?:_ports)?$/i;
