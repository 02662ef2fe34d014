/**
 * All problems of a manifest in one pass, in document order, never throwing (docs/interface/blueprints.md#manifest).
 * Profiles and Lua files are judged by their own parts.
 */
import { BLUEPRINT_CATEGORIES } from '../../../lib/blueprint-categories.ts';
import { parseDurationMs } from '../../../lib/time.ts';
import { parseUnit } from '../source/units.ts';
import type { YamlMap, YamlValue } from '../source/yaml.ts';
import { checkAttributes, checkEnum, NAME } from './attributes.ts';
import { checkCommandGroups, checkCommands, checkConfiguration } from './commands.ts';
import { checkCommunicationModules, checkRuntime } from './runtime.ts';
import * as form from './shape.ts';
import { choice, type Fields, filledText, listed, type ManifestContext, namedObjects, Problems, type Scope, text, texts } from './shape.ts';

const SPECS = ['device/1.0', 'device/3.0'];

const COMMON: form.Fields<ManifestContext> = {
  blueprint_spec: { required: form.choice(SPECS) },
  display_name: { required: form.filledText },
  description: form.text,
  icon: form.text,
  license: form.text,
  author: form.text,
  contributors: form.texts,
  support: form.objectOf({ url: form.text, email: form.text }),
  implements: form.textOrTexts,
  properties: (context, _, value) => checkAttributes(context, 'properties', value),
  telemetry: (context, _, value) => checkAttributes(context, 'telemetry', value),
  alerts: checkAlerts,
  command_groups: checkCommandGroups,
  commands: (context, _, value) => checkCommands(context, value),
};

const NEW: form.Fields<ManifestContext> = {
  ...COMMON,
  category: form.choice(BLUEPRINT_CATEGORIES),
  implements_draft: form.textOrTexts,
  runtime: { required: (context, _, value) => checkRuntime(context, value) },
  configuration: checkConfiguration,
  units: checkOwnUnits,
};

const REMOVED = {
  spec: 'device/3.0',
  names: ['vendor', 'verification_level', 'communication_module', 'communication_modules'],
};

const OLD: form.Fields<ManifestContext> = {
  ...COMMON,
  vendor: form.anything,
  verification_level: form.anything,
};

/** Reports every problem of the manifest's form into `context.problems`. */
export function checkManifest(context: ManifestContext): void {
  form.checkObject(context, '', context.manifest, context.isOld ? OLD : NEW, REMOVED);
  if (context.isOld) checkCommunicationModules(context);
}

/** True when the spec is one whose rules are known; otherwise it is the manifest's only problem. */
export function checkSpec(manifest: YamlMap, context: Pick<ManifestContext, 'problems'>): boolean {
  const spec = manifest.get('blueprint_spec');
  const scope = { problems: context.problems, isOld: false };
  if (spec === undefined || spec === null) context.problems.add('blueprint_spec', 'required');
  else form.choice(SPECS)(scope, 'blueprint_spec', spec);
  return typeof spec === 'string' && SPECS.includes(spec);
}

// Alerts and own units of a manifest (docs/interface/blueprints.md#alerts).

const ALERT_NAME = /^[A-Za-z0-9_-]+$/;

/** Fields that need nothing else of the manifest. */
const ALERT_FIELDS: Fields<Scope> = {
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

const checkAlerts = namedObjects(ALERT_NAME, ALERT);
const checkOwnUnits = namedObjects(undefined, UNIT);

// Form of one profile file (docs/interface/blueprints.md#profiles).

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
