/** The same words as the communication module's: one reader for both. */
export {
  connectionConfigurationOf,
  parseConnectionConfiguration,
  type ConnectionConfiguration,
} from '../../src/field-module/connection-configuration.ts';
