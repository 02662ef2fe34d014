/** Everything that the console says in English, by subject. Its shape is what other languages must fill. */
export { everywhere } from './en/everywhere.ts';
export { frame } from './en/frame.ts';
export { values } from './en/values.ts';
export { devices } from './en/devices.ts';
export { site } from './en/site.ts';
export { history } from './en/history.ts';
export { alerts } from './en/alerts.ts';
export { rules } from './en/rules.ts';
export { dryRun } from './en/dry-run.ts';
export { box } from './en/box.ts';
export { ofBox } from './en/of-box.ts';
export { ports } from './en/ports.ts';
export { targets } from './en/targets.ts';
export { updates } from './en/updates.ts';
export { access } from './en/access.ts';
export { adding } from './en/adding.ts';
