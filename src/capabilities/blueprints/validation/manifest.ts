/**
 * All problems of a manifest in one pass, in document order, never throwing (docs/interface/blueprints.md#manifest).
 * Profiles and Lua files are judged by their own parts.
 */
import { BLUEPRINT_CATEGORIES } from '../../../lib/blueprint-categories.ts';
import type { YamlMap } from '../source/yaml.ts';
import { checkAlerts, checkOwnUnits } from './alerts.ts';
import { checkAttributes } from './attributes.ts';
import { checkCommandGroups, checkCommands, checkConfiguration } from './commands.ts';
import type { ManifestContext } from './context.ts';
import { checkCommunicationModules, checkRuntime } from './runtime.ts';
import * as form from './shape.ts';

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
