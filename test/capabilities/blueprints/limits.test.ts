/** Every limit on the content of a blueprint, reached. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { manifestWith, problemsOf } from './support.ts';

const { manifestBytes, luaFileBytes, manifestNodes, manifestDepth } = LIMITS.blueprints;

const script = (source: string): string[] =>
  problemsOf(
    'blueprint_spec: device/3.0\ndisplay_name: S\nruntime: {type: lua, options: {file: main.lua}}\n',
    { 'main.lua': source },
  );

test('a manifest up to 2 MiB is read, a larger one is not', () => {
  const head = manifestWith('#');
  assert.deepEqual(problemsOf(head.padEnd(manifestBytes, 'x')), []);
  assert.deepEqual(problemsOf(head.padEnd(manifestBytes + 1, 'x')), ['manifest.yml: larger than 2 MiB']);
});

test('a Lua file up to 2 MiB is read, a larger one is not', () => {
  assert.deepEqual(script('return 1 --'.padEnd(luaFileBytes, 'x')), []);
  assert.deepEqual(script('return 1 --'.padEnd(luaFileBytes + 1, 'x')), ['main.lua: larger than 2 MiB']);
});

test('a manifest holds a bounded number of values, those behind aliases counted each time', () => {
  const bomb = Array.from('bcdef', (name, index) => {
    const before = `*${'abcdef'[index]}`;
    return `.${name}: &${name} [${Array(20).fill(before).join(', ')}]\n`;
  }).join('');
  assert.match(problemsOf(manifestWith(`.a: &a [1, 2, 3]\n${bomb}`))[0] ?? '', /: too many values$/);
  const keys = Array.from({ length: manifestNodes / 2 }, (_, index) => ` k${index}: 1\n`).join('');
  assert.match(problemsOf(manifestWith(`.x:\n${keys}`))[0] ?? '', /: too many values$/);
});

test('a manifest whose every byte is a value of its own is refused before it is parsed', () => {
  for (const unit of ['- a\n', '-\n', '#\n', '\n', '- &a b\n- *a\n', '- !x a\n', '[a: b: ', ']', '---\n'])
    assert.deepEqual(problemsOf(unit.repeat(manifestBytes / unit.length)), ['manifest.yml: too many values']);
});

test('a manifest is nested to a bounded depth', () => {
  const nested = (depth: number): string => manifestWith(`.x: ${'['.repeat(depth)}${']'.repeat(depth)}\n`);
  assert.deepEqual(problemsOf(nested(manifestDepth)), []);
  assert.match(problemsOf(nested(manifestDepth + 1))[0] ?? '', /: nested too deeply$/);
  assert.match(problemsOf(nested(5_000))[0] ?? '', /: nested too deeply$/);
});

test('a JSON schema is nested to a bounded depth', () => {
  const schema = (depth: number): string => `${'{"not":'.repeat(depth)}{}${'}'.repeat(depth)}`;
  const telemetry = (depth: number): string[] =>
    problemsOf(
      manifestWith(`telemetry: {t: {display_name: T, type: json, json_schema: '${schema(depth)}'}}\n`),
    );
  assert.deepEqual(telemetry(manifestDepth), []);
  assert.match(
    telemetry(manifestDepth + 1)[0] ?? '',
    /^telemetry\.t\.json_schema: invalid JSON schema: .* is nested too deeply$/,
  );
});

test('a JSON schema is refused when members beside its keywords are nested too deeply', () => {
  const problems = (levels: number): string[] => {
    const schema = `{"default":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    return problemsOf(
      manifestWith(`telemetry: {t: {display_name: T, type: json, json_schema: '${schema}'}}\n`),
    );
  };
  assert.deepEqual(problems(2 * manifestDepth + 1), []);
  assert.deepEqual(problems(2 * manifestDepth + 2), [
    'telemetry.t.json_schema: invalid JSON schema: nested too deeply',
  ]);
});
