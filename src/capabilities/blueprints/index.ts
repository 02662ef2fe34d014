export type {
  AccessLevel,
  AttributeType,
  CompiledArgument,
  CompiledAttribute,
  CompiledCommand,
  CompiledConfigurationGroup,
  CompiledManifest,
  EnumValue,
} from './manifest.ts';
export type { Blueprint, Blueprints } from './model.ts';
