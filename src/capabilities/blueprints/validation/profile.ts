/** Form of one profile file (docs/interface/blueprints.md#profiles). */
import type { YamlMap, YamlValue } from '../source/yaml.ts';
import { parseUnit } from '../compiler/units.ts';
import { ALERT_FIELDS, ALERT_NAME } from './alerts.ts';
import { NAME } from './attributes.ts';
import { checkEnum } from './enums.ts';
import { Problems } from './problems.ts';
import {
  anything,
  checkNamed,
  checkObject,
  choice,
  filledText,
  flag,
  number,
  text,
  textOrTexts,
  type Scope,
  type Shape,
} from './shape.ts';

const TYPES = ['boolean', 'string', 'integer', 'float', 'array_of_strings', 'json', 'alerts'];

const unit = (context: Scope, path: string, value: YamlValue): void => {
  text(context, path, value);
  if (typeof value === 'string' && parseUnit(value) === undefined)
    context.problems.add(path, `unknown unit "${value}"; use a UCUM code`);
};

const ATTRIBUTE: Shape<Scope> = {
  fields: {
    display_name: { check: filledText, required: true },
    type: { check: choice(TYPES), required: true },
    description: { check: text },
    unit: { check: unit },
    enum: { check: anything },
  },
};

const ARGUMENT: Shape<Scope> = {
  fields: {
    ...ATTRIBUTE.fields,
    required: { check: flag },
    min: { check: number },
    max: { check: number },
    format: { check: text },
    sensitive: { check: flag },
    default: { check: anything },
  },
};

const attributes = (context: Scope, path: string, value: YamlValue): void =>
  checkNamed(context, path, value, NAME, (_, here, entry) => {
    if (checkObject(context, here, entry, ATTRIBUTE)) checkEnum(context, `${here}.enum`, entry, true);
  });

const COMMAND: Shape<Scope> = {
  fields: {
    display_name: { check: filledText, required: true },
    description: { check: text },
    arguments: {
      check: (context, path, value) =>
        checkNamed(context, path, value, NAME, (_, here, entry) => {
          if (checkObject(context, here, entry, ARGUMENT)) checkEnum(context, `${here}.enum`, entry, false);
        }),
    },
  },
};

const PROFILE: Shape<Scope> = {
  fields: {
    blueprint_spec: {
      check: (context, path, value) => {
        if (value !== 'profile/1.0') context.problems.add(path, 'must be profile/1.0');
      },
      required: true,
    },
    display_name: { check: filledText, required: true },
    description: { check: text },
    draft: { check: flag },
    implements: { check: textOrTexts },
    properties: { check: attributes },
    telemetry: { check: attributes },
    commands: {
      check: (context, path, value) =>
        checkNamed(
          context,
          path,
          value,
          NAME,
          (_, here, entry) => void checkObject(context, here, entry, COMMAND),
        ),
    },
    alerts: {
      check: (context, path, value) =>
        checkNamed(
          context,
          path,
          value,
          ALERT_NAME,
          (_, here, entry) => void checkObject(context, here, entry, { fields: ALERT_FIELDS }),
        ),
    },
  },
};

/** True when the file has the form of a profile; its problems carry the path of the file. */
export function checkProfileShape(problems: Problems, path: string, source: YamlMap): boolean {
  const own = new Problems();
  checkObject({ problems: own, isOld: false }, '', source, PROFILE);
  for (const problem of own.list()) problems.add(path, problem);
  return own.isEmpty;
}
