/** Everything that the console says, by subject. English comes first: its shape is what other languages must fill. */
import { everywhere } from './en/everywhere.ts';
import { frame } from './en/frame.ts';
import { values } from './en/values.ts';
import { devices } from './en/devices.ts';
import { site } from './en/site.ts';
import { history } from './en/history.ts';
import { alerts } from './en/alerts.ts';
import { rules } from './en/rules.ts';
import { dryRun } from './en/dry-run.ts';
import { box } from './en/box.ts';
import { ofBox } from './en/of-box.ts';
import { ports } from './en/ports.ts';
import { targets } from './en/targets.ts';
import { updates } from './en/updates.ts';
import { access } from './en/access.ts';
import { adding } from './en/adding.ts';
import { protocol } from './en/protocol.ts';

export const en = {
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
  protocol,
};
