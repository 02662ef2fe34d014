/** The console in German. Loaded when it is wanted. */
import { everywhere } from './de/everywhere.ts';
import { frame } from './de/frame.ts';
import { values } from './de/values.ts';
import { devices } from './de/devices.ts';
import { site } from './de/site.ts';
import { history } from './de/history.ts';
import { alerts } from './de/alerts.ts';
import { rules } from './de/rules.ts';
import { dryRun } from './de/dry-run.ts';
import { box } from './de/box.ts';
import { ofBox } from './de/of-box.ts';
import { ports } from './de/ports.ts';
import { targets } from './de/targets.ts';
import { updates } from './de/updates.ts';
import { access } from './de/access.ts';
import { adding } from './de/adding.ts';
import type { Words } from './en.ts';

export const de: Words = {
  everywhere,
  frame,
  values,
  devices,
  site,
  history,
  alerts,
  rules,
  dryRun,
  box,
  ofBox,
  ports,
  targets,
  updates,
  access,
  adding,
};
