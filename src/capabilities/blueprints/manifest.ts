/**
 * The compiled manifest: what the rest of the gateway reads of a blueprint, exactly as it stands on the
 * wire (`expand=manifest`). Source: docs/interface/blueprints.md#compiled, docs/interface/http.md#expand.
 */

export type AttributeType =
  | 'string'
  | 'integer'
  | 'float'
  | 'boolean'
  | 'array_of_strings'
  | 'json'
  | 'alerts'
  | 'object';

export type AccessLevel = 'readonly' | 'user' | 'owner' | 'installer' | 'vendor' | 'system';

export type EnumValue = string | number;

export interface EnumItem {
  value: EnumValue;
  display_name: string;
  description?: string;
  color?: string;
}

interface Described {
  display_name: string;
  description?: string;
}

/** A property or a telemetry attribute. */
export interface CompiledAttribute extends Described {
  type: AttributeType;
  access_level: AccessLevel;
  implements: string[];
  aliases: string[];
  enum?: EnumValue[];
  enum_with_metainfo?: EnumItem[];
  unit?: string;
  auto_scale?: string[];
  /** Parsed JSON Schema, draft-07; only with type json. */
  json_schema?: unknown;
  [key: string]: unknown;
}

/** An alert as it is declared. */
export interface CompiledAlert extends Described {
  severity: 'info' | 'warning' | 'error';
  grace_period?: string;
  code?: string;
  conditions?: string[];
  components?: string[];
  troubleshooting?: string[];
  [key: string]: unknown;
}

/** An argument of a command or a parameter of a configuration group. */
export interface CompiledArgument extends Described {
  type: Exclude<AttributeType, 'alerts' | 'object'>;
  required?: boolean;
  enum?: EnumValue[];
  enum_with_metainfo?: EnumItem[];
  min?: number;
  max?: number;
  format?: string;
  json_schema?: unknown;
  sensitive?: boolean;
  default?: string | number | boolean;
  [key: string]: unknown;
}

/** A command as it is declared. */
export interface CompiledCommand extends Described {
  group: string;
  access_level: AccessLevel;
  implements: string[];
  aliases: string[];
  arguments?: Record<string, CompiledArgument>;
  response?: Record<string, unknown>;
  populate_values_command?: string;
  confirmation?: { severity: 'info' | 'warning'; title: string; description?: string };
  [key: string]: unknown;
}

/** A group of configuration as it is declared. */
export interface CompiledConfigurationGroup extends Described {
  access_level: AccessLevel;
  parameters: Record<string, CompiledArgument>;
  [key: string]: unknown;
}

/** The content of a blueprint, as clients get it. */
export interface CompiledManifest extends Described {
  blueprint_spec: 'device_compiled/3.0' | 'device_compiled/1.0';
  implements: string[];
  runtime?: { type: 'lua' | 'embedded'; requirements?: string[]; options?: Record<string, unknown> };
  properties: Record<string, CompiledAttribute>;
  telemetry: Record<string, CompiledAttribute>;
  alerts: Record<string, CompiledAlert>;
  commands: Record<string, CompiledCommand>;
  command_groups?: Record<string, Described & Record<string, unknown>>;
  configuration: Record<string, CompiledConfigurationGroup>;
  units?: Record<string, { symbol: string; display_name?: string; description?: string }>;
  [key: string]: unknown;
}
