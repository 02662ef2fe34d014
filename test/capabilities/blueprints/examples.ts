/** Invalid blueprints and the exact messages they are refused with (docs/interface/blueprints.md#problems). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { manifestWith, problemsOf } from './support.ts';

export type Example = [title: string, manifest: string, problems: string[], files?: Record<string, string>];

export const SCRIPT = { 'main.lua': 'return 1' };

export function attribute(fields: string, section = 'telemetry', name = 'x'): string {
  return manifestWith(`${section}:\n  ${name}:\n    display_name: X\n${indented(fields, 4)}`);
}

export function argument(fields: string): string {
  return manifestWith(
    'command_groups: {g: {display_name: G}}\ncommands:\n  c:\n    display_name: C\n    group: g\n    arguments:\n' +
      `      a:\n        display_name: A\n${indented(fields, 8)}`,
  );
}

export function command(fields: string): string {
  return manifestWith(
    `command_groups: {g: {display_name: G}}\ncommands:\n  c:\n    display_name: C\n${indented(fields, 4)}`,
  );
}

export function lua(options: string): string {
  return `blueprint_spec: device/3.0\ndisplay_name: S\nruntime:\n  type: lua\n${indented(options, 2)}`;
}

function indented(lines: string, columns: number): string {
  return lines
    .split('\n')
    .map((line) => `${' '.repeat(columns)}${line}\n`)
    .join('');
}

export const EXPECTED_SPEC = 'expected one of: device/1.0, device/3.0';
export const NAME_RULE = 'must match ^[A-Za-z][A-Za-z0-9_]*$';

/** One test for each example. */
export function testExamples(subjects: Record<string, readonly Example[]>): void {
  for (const [subject, examples] of Object.entries(subjects))
    describe(`a blueprint is refused for its ${subject}:`, () => {
      for (const [title, manifest, problems, files] of examples)
        test(title, () => assert.deepEqual(problemsOf(manifest, files), problems));
    });
}
