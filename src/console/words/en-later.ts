/** Words of pages that are loaded when they are first shown. */
import type { en } from './en.ts';
import { rules } from './en/rules.ts';
import { dryRun } from './en/dry-run.ts';
import { box } from './en/box.ts';
import { ports } from './en/ports.ts';
import { targets } from './en/targets.ts';
import { updates } from './en/updates.ts';
import { forecast } from './en/forecast.ts';
import { access } from './en/access.ts';
import { arranging } from './en/arranging.ts';
import { fieldTrace } from './en/field-trace.ts';
import { documents } from './en/documents.ts';
import { adding } from './en/adding.ts';
import { protocol } from './en/protocol.ts';
import { wall } from './en/wall.ts';

export const enLater = {
  rules,
  dryRun,
  box,
  ports,
  targets,
  updates,
  forecast,
  access,
  arranging,
  fieldTrace,
  documents,
  adding,
  protocol,
  wall,
};

/** All that is said. */
export type Words = typeof en & typeof enLater;
