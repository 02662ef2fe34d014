export { ConfigError, loadConfig, optionHelp, optionTable, type Config } from './config.ts';
export { readServiceManager } from './options.ts';
