export {
  checkArguments,
  checkDeviceValue,
  checkWritableValue,
  maskSensitive,
  type ValueDeclaration,
} from './values.ts';
export type {
  CompiledAlert,
  CompiledArgument,
  CompiledAttribute,
  CompiledCommand,
  CompiledConfigurationGroup,
  CompiledManifest,
} from './manifest.ts';
export { type Blueprint, BUILT_IN_IDS } from './model.ts';
export { missingRequirements, offersOfModule, remedyFor } from './requirements.ts';
export { blueprintRoutes } from './routes.ts';
export { blueprintShape, toWire as blueprintToWire } from './schema.ts';
export { Blueprints } from './service.ts';
