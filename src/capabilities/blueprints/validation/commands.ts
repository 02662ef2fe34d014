/** Commands, command groups and configuration groups of a manifest (docs/interface/blueprints.md#commands). */
import { mapOf } from '../source/tree.ts';
import type { YamlValue } from '../source/yaml.ts';
import { checkAliases, takenNames } from './aliases.ts';
import { checkArgumentMap, checkResponse } from './arguments.ts';
import { ACCESS_LEVELS, NAME } from './attributes.ts';
import type { ManifestContext } from './context.ts';
import {
  checkNamed,
  checkObject,
  choice,
  type Fields,
  filledText,
  flag,
  namedObjects,
  objectOf,
  text,
  textOrTexts,
} from './shape.ts';

const ICON: Fields<ManifestContext> = { icon: text };

const GROUP: Fields<ManifestContext> = {
  display_name: { required: filledText },
  description: text,
  ui: objectOf(ICON),
};

const COMMAND_UI: Fields<ManifestContext> = { icon: text, quick_access: flag, mobile_quick_access: flag };

const CONFIRMATION: Fields<ManifestContext> = {
  severity: { required: choice(['info', 'warning']) },
  title: { required: filledText },
  description: text,
};

const COMMAND: Fields<ManifestContext> = {
  display_name: { required: filledText },
  group: {
    required: (context, path, value) => {
      text(context, path, value);
      if (typeof value === 'string' && !context.commandGroups.has(value))
        context.problems.add(path, `unknown command group "${value}"`);
    },
  },
  description: text,
  arguments: checkArgumentMap,
  response: checkResponse,
  populate_values_command: (context, path, value) => {
    text(context, path, value);
    if (typeof value === 'string' && !context.commandNames.has(value))
      context.problems.add(path, `unknown command "${value}"`);
  },
  ui: objectOf(COMMAND_UI),
  confirmation: objectOf(CONFIRMATION),
  access_level: choice(ACCESS_LEVELS),
  read_access_level: choice(ACCESS_LEVELS),
  implements: textOrTexts,
  aliases: textOrTexts,
};

const CONFIGURATION_GROUP: Fields<ManifestContext> = {
  display_name: { required: filledText },
  parameters: {
    required: (context, path, value) => {
      if (value instanceof Map && value.size === 0) context.problems.add(path, 'must not be empty');
      else checkArgumentMap(context, path, value);
    },
  },
  description: text,
  ui: objectOf(ICON),
  access_level: choice(ACCESS_LEVELS),
};

export function checkCommands(context: ManifestContext, value: YamlValue): void {
  const taken = takenNames(mapOf(value), []);
  checkNamed(context, 'commands', value, NAME, (_, path, entry) => {
    if (checkObject(context, path, entry, COMMAND) && !context.isOld)
      checkAliases(context, path, entry, taken);
  });
}

export const checkCommandGroups = namedObjects(NAME, GROUP);
export const checkConfiguration = namedObjects(NAME, CONFIGURATION_GROUP);
