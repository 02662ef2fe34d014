/** What can be seen in the files of a blueprint before it runs: scripts that schedule nothing, commands without a handler. */
import { parse } from 'yaml';
import type { FoundBlueprint } from './find.ts';

const KEEPS_RUNNING = /\b(?:scheduler\s*\.\s*add|enapter\s*\.\s*main|on_update|on_frame|subscribe)\b/;
const REGISTERED = /register_command_handler\s*\(\s*(?:(["'])([^"']+)\1|([^\s"']))/g;
/** The library for configuration by commands registers these itself. */
const OF_CONFIGURATION = new Set(['write_configuration', 'read_configuration']);

export function notesOfFiles({ files }: FoundBlueprint): string[] {
  const scripts = [...files]
    .filter(([path]) => path.endsWith('.lua'))
    .map(([, content]) => content.toString('utf8'));
  if (scripts.length === 0) return [];
  const text = scripts.join('\n').replace(/--\[\[[\s\S]*?\]\]|--[^\n]*/g, '');
  const notes: string[] = [];
  if (!KEEPS_RUNNING.test(text)) notes.push('The script schedules nothing: it ends after its first run.');
  const registered = new Set<string>();
  let isKnown = true;
  for (const [, , name] of text.matchAll(REGISTERED)) {
    if (name === undefined) isKnown = false;
    else registered.add(name);
  }
  const isConfigured = /ucm\.config|\bconfig\s*\.\s*init\b/.test(text);
  for (const name of isKnown ? commandsOf(files) : [])
    if (!registered.has(name) && !(isConfigured && OF_CONFIGURATION.has(name)))
      notes.push(`The command "${name}" has no handler in the script.`);
  return notes;
}

/** Names of the manifest's commands; none where it cannot be read, which the gateway says better. */
function commandsOf(files: FoundBlueprint['files']): string[] {
  try {
    const manifest = parse(files.get('manifest.yml')?.toString('utf8') ?? '') as { commands?: object } | null;
    return Object.keys(manifest?.commands ?? {});
  } catch (error) {
    if (error instanceof Error) return [];
    throw error;
  }
}
