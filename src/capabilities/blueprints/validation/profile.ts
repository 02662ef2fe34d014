/** Form of one profile file (docs/interface/blueprints.md#profiles). */
import type { YamlMap, YamlValue } from '../source/yaml.ts';
import { parseUnit } from '../source/units.ts';
import { ALERT_FIELDS, ALERT_NAME } from './alerts.ts';
import { NAME } from './attributes.ts';
import { checkEnum } from './enums.ts';
import { Problems } from './problems.ts';
import {
  anything,
  checkNamed,
  checkObject,
  choice,
  type Fields,
  filledText,
  flag,
  namedObjects,
  number,
  type Scope,
  text,
  textOrTexts,
} from './shape.ts';

const TYPES = ['boolean', 'string', 'integer', 'float', 'array_of_strings', 'json', 'alerts'];

const unit = (context: Scope, path: string, value: YamlValue): void => {
  text(context, path, value);
  if (typeof value === 'string' && parseUnit(value) === undefined)
    context.problems.add(path, `unknown unit "${value}"; use a UCUM code`);
};

const ATTRIBUTE: Fields<Scope> = {
  display_name: { required: filledText },
  type: { required: choice(TYPES) },
  description: text,
  unit,
  enum: anything,
};

const ARGUMENT: Fields<Scope> = {
  ...ATTRIBUTE,
  required: flag,
  min: number,
  max: number,
  format: text,
  sensitive: flag,
  default: anything,
};

const attributes = (context: Scope, path: string, value: YamlValue): void =>
  checkNamed(context, path, value, NAME, (_, here, entry) => {
    if (checkObject(context, here, entry, ATTRIBUTE)) checkEnum(context, `${here}.enum`, entry, true);
  });

const COMMAND: Fields<Scope> = {
  display_name: { required: filledText },
  description: text,
  arguments: (context, path, value) =>
    checkNamed(context, path, value, NAME, (_, here, entry) => {
      if (checkObject(context, here, entry, ARGUMENT)) checkEnum(context, `${here}.enum`, entry, false);
    }),
};

const PROFILE: Fields<Scope> = {
  blueprint_spec: {
    required: (context, path, value) => {
      if (value !== 'profile/1.0') context.problems.add(path, 'must be profile/1.0');
    },
  },
  display_name: { required: filledText },
  description: text,
  draft: flag,
  implements: textOrTexts,
  properties: attributes,
  telemetry: attributes,
  commands: namedObjects(NAME, COMMAND),
  alerts: namedObjects(ALERT_NAME, ALERT_FIELDS),
};

/** True when the file has the form of a profile; its problems carry the path of the file. */
export function checkProfileShape(problems: Problems, path: string, source: YamlMap): boolean {
  const own = new Problems();
  checkObject({ problems: own, isOld: false }, '', source, PROFILE);
  for (const problem of own.list()) problems.add(path, problem);
  return own.isEmpty;
}
