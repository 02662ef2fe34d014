/** Requirements of scripts on the module that runs them (docs/interface/blueprints.md#requirements). */
import type { CompiledManifest } from './manifest.ts';

/** Names that a module of software alone offers; `http` is always there and `lua_api_ver_3` means nothing. */
const SOFTWARE_MODULE_OFFERS: ReadonlySet<string> = new Set(['modbus', 'http', 'lua_api_ver_3']);

/** Offers of a module for its ports. */
const PORT = /^port:(.+)$/;
const IO_PORT = /^(can|digital_input|digital_output|analog_input):(.+)$/;

/**
 * Names that a module offers: those of every software module, its own, and for each serial port the requirements of
 * blueprints of either spec that are written for hardware with such a port.
 */
export function offersOfModule(said: readonly string[]): ReadonlySet<string> {
  const ports = said.flatMap((name) => PORT.exec(name)?.[1] ?? []);
  const ofPorts = ports.flatMap((port) => ['serial', `enp_${port}_ports`, `ENP-${port.toUpperCase()}`]);
  const io = said.map((name) => IO_PORT.exec(name)).filter((match) => match !== null);
  const ofKinds = io.flatMap(([, kind = '']) => LIBRARIES[kind as keyof typeof LIBRARIES]);
  // A relay output is found as rl-1 and as do-1.
  const names = new Set(io.map(([, kind, name]) => `${kind} ${name?.replace(/^do-(?=\d+$)/, 'rl-')}`));
  const ofHardware = HARDWARE.filter(({ ports: needed }) => needed.every((port) => names.has(port)));
  const meets = ofHardware.flatMap(({ requirement, product }) => [requirement, product]);
  return new Set([...SOFTWARE_MODULE_OFFERS, ...said, ...ofPorts, ...ofKinds, ...meets]);
}

/** Libraries that a port of the kind makes usable, as blueprints require them. */
const LIBRARIES = {
  can: ['can'],
  digital_input: ['digitalin'],
  digital_output: ['relay', 'digitalout'],
  analog_input: ['analogin'],
} as const;

/** Hardware that blueprints are written for, by the ports under whose names their scripts find it. */
const HARDWARE: readonly { requirement: string; product: string; ports: readonly string[] }[] = [
  { requirement: 'enp_can_ports', product: 'ENP-CAN', ports: ['can can'] },
  { requirement: 'enp_rl6_ports', product: 'ENP-RL6', ports: numbered('digital_output rl', 6) },
  { requirement: 'enp_di7_ports', product: 'ENP-DI7', ports: numbered('digital_input di', 7) },
  { requirement: 'enp_di10_m2_ports', product: 'ENP-DI10-M2', ports: numbered('digital_input di', 10) },
  { requirement: 'enp_ai4_ports', product: 'ENP-AI4', ports: numbered('analog_input ai', 4) },
  { requirement: 'enp_kit_rl1_ports', product: 'ENP-KIT-RL1', ports: ['digital_output rl-1'] },
];

function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index + 1}`);
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

/** How to provide what a module lacks, in a sentence; undefined when other hardware is needed. */
export function remedyFor(missing: readonly string[]): string | undefined {
  const serial = new Set(missing.flatMap((name) => PORT_NEEDED.exec(name)?.[1]?.toLowerCase() ?? []));
  if (missing.includes('serial')) serial.add('rs485');
  const remedies = [
    ...remedy(
      [...serial].map((port) => `a serial port named "${port}"`),
      'serial_ports',
      SERIAL_OPTION,
    ),
    ...remedy(
      missing.flatMap((name) => ioPortsFor(name) ?? []),
      'io_ports',
      '',
    ),
  ];
  if (remedies.length === 0) return undefined;
  return `a module provides it with ${remedies.join(', and with ')}, or in the configuration of a module on another board`;
}

const SERIAL_OPTION = ' or the option serial_ports (GATEWAY_SERIAL_PORTS)';

function remedy(ports: readonly string[], path: string, option: string): string[] {
  return ports.length === 0 ? [] : [`${ports.join(' and ')}: add with POST /v3/${path}${option}`];
}

/** Ports in words that make a module offer the requirement. */
function ioPortsFor(requirement: string): string | undefined {
  const hardware = HARDWARE.find(
    (known) => known.requirement === requirement || known.product === requirement,
  );
  const [, name = ''] = hardware?.ports.at(0)?.split(' ') ?? [];
  const [, last = ''] = hardware?.ports.at(-1)?.split(' ') ?? [];
  if (hardware) return name === last ? `a port named "${name}"` : `ports named "${name}" to "${last}"`;
  const [kind] =
    Object.entries(LIBRARIES).find(([, names]) => names.some((known) => known === requirement)) ?? [];
  return kind && `a port of the kind ${kind.toUpperCase()}`;
}

/** Names of serial lines that a port of the system can stand for. */
const PORT_NEEDED = /^(?:ENP-|enp_)(rs485|rs232)(?:_ports)?$/i;
