export { checkArguments, MASK, maskSensitive, type CheckedArguments } from './arguments.ts';
export { schemaProblem } from './json-schema.ts';
export type {
  AccessLevel,
  AttributeType,
  CompiledAlert,
  CompiledArgument,
  CompiledAttribute,
  CompiledCommand,
  CompiledConfigurationGroup,
  CompiledManifest,
  EnumItem,
  EnumValue,
} from './manifest.ts';
export { BUILT_IN_IDS, type Blueprint, type Blueprints } from './model.ts';
export { missingRequirements, offersOfModule, remedyFor, SOFTWARE_MODULE_OFFERS } from './requirements.ts';
export { blueprintRoutes } from './routes.ts';
export { createBlueprints, type BlueprintOptions, type BlueprintService } from './service.ts';
export {
  allowedValues,
  checkDeviceValue,
  checkValue,
  type CheckedValue,
  type ValueDeclaration,
} from './values.ts';
export { blueprintRows } from './tables.ts';
