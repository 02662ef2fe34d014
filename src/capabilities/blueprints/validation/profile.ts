/** Form of one profile file (docs/interface/blueprints.md#profiles). */
import type { YamlMap, YamlValue } from '../source/yaml.ts';
import { parseUnit } from '../source/units.ts';
import { ALERT_FIELDS, ALERT_NAME } from './alerts.ts';
import { checkEnum, NAME } from './attributes.ts';
import { Problems } from './problems.ts';
import * as form from './shape.ts';

const TYPES = ['boolean', 'string', 'integer', 'float', 'array_of_strings', 'json', 'alerts'];

const unit = (context: form.Scope, path: string, value: YamlValue): void => {
  form.text(context, path, value);
  if (typeof value === 'string' && parseUnit(value) === undefined)
    context.problems.add(path, `unknown unit "${value}"; use a UCUM code`);
};

const ATTRIBUTE: form.Fields<form.Scope> = {
  display_name: { required: form.filledText },
  type: { required: form.choice(TYPES) },
  description: form.text,
  unit,
  enum: form.anything,
};

const ARGUMENT: form.Fields<form.Scope> = {
  ...ATTRIBUTE,
  required: form.flag,
  min: form.number,
  max: form.number,
  format: form.text,
  sensitive: form.flag,
  default: form.anything,
};

const attributes = (context: form.Scope, path: string, value: YamlValue): void =>
  form.checkNamed(context, path, value, NAME, (_, here, entry) => {
    if (form.checkObject(context, here, entry, ATTRIBUTE)) checkEnum(context, `${here}.enum`, entry, true);
  });

const COMMAND: form.Fields<form.Scope> = {
  display_name: { required: form.filledText },
  description: form.text,
  arguments: (context, path, value) =>
    form.checkNamed(context, path, value, NAME, (_, here, entry) => {
      if (form.checkObject(context, here, entry, ARGUMENT)) checkEnum(context, `${here}.enum`, entry, false);
    }),
};

const PROFILE: form.Fields<form.Scope> = {
  blueprint_spec: {
    required: (context, path, value) => {
      if (value !== 'profile/1.0') context.problems.add(path, 'must be profile/1.0');
    },
  },
  display_name: { required: form.filledText },
  description: form.text,
  draft: form.flag,
  implements: form.textOrTexts,
  properties: attributes,
  telemetry: attributes,
  commands: form.namedObjects(NAME, COMMAND),
  alerts: form.namedObjects(ALERT_NAME, ALERT_FIELDS),
};

/** True when the file has the form of a profile; its problems carry the path of the file. */
export function checkProfileShape(problems: Problems, path: string, source: YamlMap): boolean {
  const own = new Problems();
  form.checkObject({ problems: own, isOld: false }, '', source, PROFILE);
  for (const problem of own.list()) problems.add(path, problem);
  return own.isEmpty;
}
