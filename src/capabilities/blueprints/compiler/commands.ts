/** Commands and configuration groups of a compiled manifest (docs/interface/blueprints.md#compiled). */
import { fillProfiles, type SectionContext } from './attributes.ts';
import { authoredEnumForm } from '../source/enums.ts';
import type {
  AccessLevel,
  CompiledArgument,
  CompiledCommand,
  CompiledConfigurationGroup,
} from '../manifest.ts';
import { compiledEntries, sectionOf, textOf } from '../source/tree.ts';
import { plainOf, type YamlMap } from '../source/yaml.ts';

export function compileCommands(source: YamlMap, context: SectionContext): Record<string, CompiledCommand> {
  const filled = fillProfiles('commands', source, context);
  return compiledEntries(source, (entry, name) => {
    const command: CompiledCommand = {
      ...(plainOf(entry) as CompiledCommand),
      access_level: levelOf(entry),
      ...filled.get(name),
    };
    if (entry.get('arguments') instanceof Map)
      command.arguments = compileArguments(sectionOf(entry.get('arguments')), context);
    if (entry.get('response') instanceof Map)
      command.response = compileArguments(sectionOf(entry.get('response')), context);
    const ui = entry.get('ui');
    if (ui instanceof Map) command['ui'] = compileUi(ui);
    return command;
  });
}

export function compileConfiguration(
  source: YamlMap,
  context: SectionContext,
): Record<string, CompiledConfigurationGroup> {
  return compiledEntries(source, (entry) => ({
    ...(plainOf(entry) as CompiledConfigurationGroup),
    access_level: levelOf(entry),
    parameters: compileArguments(sectionOf(entry.get('parameters')), context),
  }));
}

/** Commands and configuration groups need the role `user` unless they say otherwise. */
function levelOf(entry: YamlMap): AccessLevel {
  return (textOf(entry.get('access_level')) ?? 'user') as AccessLevel;
}

function compileArguments(source: YamlMap, context: SectionContext): Record<string, CompiledArgument> {
  return compiledEntries(source, (entry) => {
    const { enum: _, ...rest } = plainOf(entry) as CompiledArgument;
    const argument: CompiledArgument = { ...rest, ...authoredEnumForm(entry) };
    const schema = entry.get('json_schema');
    if (typeof schema === 'string') argument.json_schema = context.schemaOf(schema);
    // Authors write the default of a boolean as text too.
    if (argument.type === 'boolean' && typeof argument.default === 'string')
      argument.default = argument.default === 'true';
    return argument;
  });
}

/** Two names of the same hint; the older one is not carried on. */
function compileUi(source: YamlMap): unknown {
  const { mobile_quick_access: older, ...ui } = plainOf(source) as Record<string, unknown>;
  return older === undefined || ui['quick_access'] !== undefined ? ui : { ...ui, quick_access: older };
}
