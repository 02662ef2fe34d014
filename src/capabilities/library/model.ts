/** Devices of the library as the gateway offers them. */
import type { RegisterRead } from '#library';
import type { CompiledArgument } from '../blueprints/index.ts';

export const TRANSPORTS = [
  'MODBUS_TCP',
  'MODBUS_RTU',
  'MODBUS_RTU_OVER_TCP',
  'HTTP',
  'MQTT',
  'SERIAL',
  'TCP',
  'UDP',
] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** A template in a list. */
export interface LibraryDevice {
  id: string;
  source: 'LIBRARY' | 'OWN';
  name: string;
  maker: string;
  products: string[];
  category: string;
  icon?: string | undefined;
  /** Parts of an energy site that it can be. */
  roles: string[];
  transports: Transport[];
  verified: string;
}

/** Everything that a form needs. */
export interface LibraryEntry extends LibraryDevice {
  description?: string | undefined;
  sources: string[];
  before: string[];
  parameters: LibraryParameter[];
  /** Parameters of the configuration group `connection`, as the manifest will have them. */
  connection: Record<string, CompiledArgument>;
  values: LibraryValue[];
  commands: { name: string; displayName: string; description?: string | undefined; accessLevel: string }[];
}

interface LibraryParameter {
  name: string;
  displayName: string;
  description?: string | undefined;
  choices: { value: string; displayName: string }[];
  default: string;
}

export interface LibraryValue {
  name: string;
  displayName: string;
  type: string;
  unit?: string | undefined;
  isProperty: boolean;
}

/** The template that a blueprint was made from, under `.library` of its manifest. */
export interface Origin {
  template: string;
  digest: string;
  parameters: Record<string, string>;
}

/** Changes that the present template would make at a device. */
export interface LibraryUpdate {
  deviceId: string;
  templateId: string;
  templateName: string;
  /** Those of the device as far as the template still has them. */
  parameters: Record<string, string>;
  valuesAdded: string[];
  valuesRemoved: string[];
  /** Another name, unit or type. */
  valuesChanged: string[];
  commandsAdded: string[];
  commandsRemoved: string[];
}

/** The origin of a blueprint by its manifest; undefined for one that is not from the library. */
export function originOf(manifest: Readonly<Record<string, unknown>>): Origin | undefined {
  const { template, digest, parameters } = (manifest['.library'] ?? {}) as Partial<Origin>;
  if (typeof template !== 'string' || typeof digest !== 'string') return undefined;
  if (typeof parameters !== 'object' || parameters === null) return undefined;
  return { template, digest, parameters };
}

/** Questions to devices, whose answers identify their template. */
export interface SearchQuestions {
  /** Units that templates of Modbus TCP name, with the registers of those templates. */
  units: { unit: number; reads: RegisterRead[] }[];
  tcpReads: RegisterRead[];
  serialReads: RegisterRead[];
  /** Settings of serial lines that templates name. */
  lines: { baud: number; parity: 'none' | 'even' | 'odd'; stopBits: 1 | 2 }[];
  http: { port: number; paths: string[] }[];
  /** Services of multicast DNS, such as `_shelly._tcp`. */
  services: string[];
}

/** A template that knows a device by what it said. */
export interface RecognisedDevice {
  id: string;
  name: string;
  maker: string;
  transport: 'MODBUS_TCP' | 'HTTP' | 'MQTT';
  /** On which devices of this template listen. */
  port: number;
  serialNumber?: string | undefined;
  model?: string | undefined;
  /** Registers with serial number and model. */
  identity: { reads: RegisterRead[]; paths: string[] };
}
