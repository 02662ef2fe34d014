export { ConfigError, loadConfig, optionTable, type Config, type ConfigSource } from './config.ts';
export { readServiceManager, type ServiceManager } from './service-manager.ts';
