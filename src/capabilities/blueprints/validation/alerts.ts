/** Alerts and own units of a manifest (docs/interface/blueprints.md#alerts). */
import { parseDurationMs } from '../../../lib/time.ts';
import type { ManifestContext } from './context.ts';
import { choice, type Fields, filledText, listed, namedObjects, type Scope, text, texts } from './shape.ts';

export const ALERT_NAME = /^[A-Za-z0-9_-]+$/;

/** Fields that need nothing else of the manifest. */
export const ALERT_FIELDS: Fields<Scope> = {
  severity: { required: choice(['info', 'warning', 'error']) },
  display_name: { required: filledText },
  description: text,
  code: text,
  grace_period: (context, path, value) => {
    text(context, path, value);
    if (typeof value === 'string' && parseDurationMs(value) === undefined)
      context.problems.add(path, `invalid duration "${value}"`);
  },
  troubleshooting: texts,
  telemetry: texts,
  components: texts,
  conditions: texts,
};

const ALERT: Fields<ManifestContext> = {
  ...ALERT_FIELDS,
  telemetry: (context, path, value) => {
    texts(context, path, value);
    if (context.isOld) return;
    for (const [here, name] of listed(path, value))
      if (!context.telemetryNames.has(name))
        context.problems.add(here, `unknown telemetry attribute "${name}"`);
  },
};

const UNIT: Fields<ManifestContext> = {
  symbol: { required: filledText },
  display_name: text,
  description: text,
};

export const checkAlerts = namedObjects(ALERT_NAME, ALERT);
export const checkOwnUnits = namedObjects(undefined, UNIT);
