/** Alerts and own units of a manifest (docs/interface/blueprints.md#alerts). */
import { parseDurationMs } from '../../../lib/duration.ts';
import type { YamlValue } from '../source/yaml.ts';
import type { ManifestContext } from './context.ts';
import {
  checkNamed,
  checkObject,
  choice,
  filledText,
  listed,
  text,
  texts,
  type Field,
  type Scope,
  type Shape,
} from './shape.ts';

export const ALERT_NAME = /^[A-Za-z0-9_-]+$/;

/** Fields that need nothing else of the manifest. */
export const ALERT_FIELDS: Record<string, Field<Scope>> = {
  severity: { check: choice(['info', 'warning', 'error']), required: true },
  display_name: { check: filledText, required: true },
  description: { check: text },
  code: { check: text },
  grace_period: {
    check: (context, path, value) => {
      text(context, path, value);
      if (typeof value === 'string' && parseDurationMs(value) === undefined)
        context.problems.add(path, `invalid duration "${value}"`);
    },
  },
  troubleshooting: { check: texts },
  telemetry: { check: texts },
  components: { check: texts },
  conditions: { check: texts },
};

const ALERT: Shape<ManifestContext> = {
  fields: {
    ...ALERT_FIELDS,
    telemetry: {
      check: (context, path, value) => {
        texts(context, path, value);
        if (context.isOld) return;
        for (const [here, name] of listed(path, value))
          if (!context.telemetryNames.has(name))
            context.problems.add(here, `unknown telemetry attribute "${name}"`);
      },
    },
  },
};

const UNIT: Shape<ManifestContext> = {
  fields: {
    symbol: { check: filledText, required: true },
    display_name: { check: text },
    description: { check: text },
  },
};

export function checkAlerts(context: ManifestContext, value: YamlValue): void {
  checkNamed(context, 'alerts', value, ALERT_NAME, (_, path, entry) => {
    checkObject(context, path, entry, ALERT);
  });
}

export function checkOwnUnits(context: ManifestContext, value: YamlValue): void {
  checkNamed(context, 'units', value, undefined, (_, path, entry) => {
    checkObject(context, path, entry, UNIT);
  });
}
