/**
 * All problems of a manifest in one pass, in document order, never throwing (docs/interface/blueprints.md#manifest).
 * Profiles and Lua files are judged by their own parts.
 */
import type { YamlMap } from '../source/yaml.ts';
import { checkAlerts, checkOwnUnits } from './alerts.ts';
import { checkAttributes } from './attributes.ts';
import { checkCommandGroups, checkCommands, checkConfiguration } from './commands.ts';
import type { ManifestContext } from './context.ts';
import { checkCommunicationModules, checkRuntime } from './runtime.ts';
import {
  anything,
  checkObject,
  choice,
  type Fields,
  filledText,
  objectOf,
  text,
  textOrTexts,
  texts,
} from './shape.ts';

export const CATEGORIES = [
  'hydrogen-storage',
  'electrolysers',
  'solar-generators',
  'fuel-cells',
  'water-treatment',
  'battery-systems',
  'power-meters',
  'hvac',
  'electric-vehicles',
  'control',
  'data-providers',
  'sensors',
];

const SPECS = ['device/1.0', 'device/3.0'];

const COMMON: Fields<ManifestContext> = {
  blueprint_spec: { required: choice(SPECS) },
  display_name: { required: filledText },
  description: text,
  icon: text,
  license: text,
  author: text,
  contributors: texts,
  support: objectOf({ url: text, email: text }),
  implements: textOrTexts,
  properties: (context, _, value) => checkAttributes(context, 'properties', value),
  telemetry: (context, _, value) => checkAttributes(context, 'telemetry', value),
  alerts: checkAlerts,
  command_groups: checkCommandGroups,
  commands: (context, _, value) => checkCommands(context, value),
};

const NEW: Fields<ManifestContext> = {
  ...COMMON,
  category: choice(CATEGORIES),
  implements_draft: textOrTexts,
  runtime: { required: (context, _, value) => checkRuntime(context, value) },
  configuration: checkConfiguration,
  units: checkOwnUnits,
};

const REMOVED = {
  spec: 'device/3.0',
  names: ['vendor', 'verification_level', 'communication_module', 'communication_modules'],
};

const OLD: Fields<ManifestContext> = { ...COMMON, vendor: anything, verification_level: anything };

/** Reports every problem of the manifest's form into `context.problems`. */
export function checkManifest(context: ManifestContext): void {
  checkObject(context, '', context.manifest, context.isOld ? OLD : NEW, REMOVED);
  if (context.isOld) checkCommunicationModules(context);
}

/** True when the spec is one whose rules are known; otherwise it is the manifest's only problem. */
export function checkSpec(manifest: YamlMap, context: Pick<ManifestContext, 'problems'>): boolean {
  const spec = manifest.get('blueprint_spec');
  const scope = { problems: context.problems, isOld: false };
  if (spec === undefined || spec === null) context.problems.add('blueprint_spec', 'required');
  else choice(SPECS)(scope, 'blueprint_spec', spec);
  return typeof spec === 'string' && SPECS.includes(spec);
}
