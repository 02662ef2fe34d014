export { ConfigError, loadConfig, optionTable, type Config, type ConfigSource } from './config.ts';
export { isTimeZone } from './options.ts';
