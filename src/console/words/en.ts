/** Words of the start and the overview. English comes first: other languages must fill its shape. */
import { everywhere } from './en/everywhere.ts';
import { frame } from './en/frame.ts';
import { values } from './en/values.ts';
import { devices } from './en/devices.ts';
import { site } from './en/site.ts';
import { history } from './en/history.ts';
import { alerts } from './en/alerts.ts';
import { ofBox } from './en/of-box.ts';

export const en = { everywhere, frame, values, devices, site, history, alerts, ofBox };
