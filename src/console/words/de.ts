/** Everything that the console says in German. Loaded only when it is wanted. */
export { everywhere } from './de/everywhere.ts';
export { frame } from './de/frame.ts';
export { values } from './de/values.ts';
export { devices } from './de/devices.ts';
export { site } from './de/site.ts';
export { history } from './de/history.ts';
export { alerts } from './de/alerts.ts';
export { rules } from './de/rules.ts';
export { dryRun } from './de/dry-run.ts';
export { box } from './de/box.ts';
export { ofBox } from './de/of-box.ts';
export { ports } from './de/ports.ts';
export { targets } from './de/targets.ts';
export { updates } from './de/updates.ts';
export { access } from './de/access.ts';
export { adding } from './de/adding.ts';
export { protocol } from './de/protocol.ts';
