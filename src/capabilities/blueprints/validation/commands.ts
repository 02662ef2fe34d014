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
  filledText,
  flag,
  text,
  textOrTexts,
  type Check,
  type Shape,
} from './shape.ts';

const objectOf =
  (shape: Shape<ManifestContext>): Check<ManifestContext> =>
  (context, path, value) =>
    void checkObject(context, path, value, shape);

const ICON: Shape<ManifestContext> = { fields: { icon: { check: text } } };

const GROUP: Shape<ManifestContext> = {
  fields: {
    display_name: { check: filledText, required: true },
    description: { check: text },
    ui: { check: objectOf(ICON) },
  },
};

const COMMAND_UI: Shape<ManifestContext> = {
  fields: { icon: { check: text }, quick_access: { check: flag }, mobile_quick_access: { check: flag } },
};

const CONFIRMATION: Shape<ManifestContext> = {
  fields: {
    severity: { check: choice(['info', 'warning']), required: true },
    title: { check: filledText, required: true },
    description: { check: text },
  },
};

const COMMAND: Shape<ManifestContext> = {
  fields: {
    display_name: { check: filledText, required: true },
    group: {
      check: (context, path, value) => {
        text(context, path, value);
        if (typeof value === 'string' && !context.commandGroups.has(value))
          context.problems.add(path, `unknown command group "${value}"`);
      },
      required: true,
    },
    description: { check: text },
    arguments: { check: checkArgumentMap },
    response: { check: checkResponse },
    populate_values_command: {
      check: (context, path, value) => {
        text(context, path, value);
        if (typeof value === 'string' && !context.commandNames.has(value))
          context.problems.add(path, `unknown command "${value}"`);
      },
    },
    ui: { check: objectOf(COMMAND_UI) },
    confirmation: { check: objectOf(CONFIRMATION) },
    access_level: { check: choice(ACCESS_LEVELS) },
    read_access_level: { check: choice(ACCESS_LEVELS) },
    implements: { check: textOrTexts },
    aliases: { check: textOrTexts },
  },
};

const CONFIGURATION_GROUP: Shape<ManifestContext> = {
  fields: {
    display_name: { check: filledText, required: true },
    parameters: {
      check: (context, path, value) => {
        if (value instanceof Map && value.size === 0) context.problems.add(path, 'must not be empty');
        else checkArgumentMap(context, path, value);
      },
      required: true,
    },
    description: { check: text },
    ui: { check: objectOf(ICON) },
    access_level: { check: choice(ACCESS_LEVELS) },
  },
};

export function checkCommandGroups(context: ManifestContext, value: YamlValue): void {
  checkNamed(context, 'command_groups', value, NAME, (_, path, entry) => {
    checkObject(context, path, entry, GROUP);
  });
}

export function checkCommands(context: ManifestContext, value: YamlValue): void {
  const taken = takenNames(mapOf(value), []);
  checkNamed(context, 'commands', value, NAME, (_, path, entry) => {
    if (checkObject(context, path, entry, COMMAND) && !context.isOld)
      checkAliases(context, path, entry, taken);
  });
}

export function checkConfiguration(context: ManifestContext, value: YamlValue): void {
  checkNamed(context, 'configuration', value, NAME, (_, path, entry) => {
    checkObject(context, path, entry, CONFIGURATION_GROUP);
  });
}
