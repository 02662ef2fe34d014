/** The pages about the interface leave nothing out that the gateway serves (docs/interface/README.md). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, test } from 'node:test';
import { readMarkdown } from '../../scripts/support/markdown.ts';
import { membersOf, readDescription, type Schema } from '../../scripts/checks/requests/description.ts';
import { DEVICE_PAYLOADS } from '../../src/protocol/device-payloads.ts';
import { DEVICE_SUBJECTS } from '../../src/protocol/device-topic.ts';
import { problemsOf } from '../capabilities/blueprints/support.ts';
import { startTestGateway } from '../support/test-gateway.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

const pageOf = (name: string): string => readFileSync(join(PROJECT_ROOT, 'docs/interface', name), 'utf8');

/** Words of the page in the form of code, taken apart at whatever is no part of a name. */
function codeWordsOf(page: string): Set<string> {
  const words = [...page.matchAll(/`([^`\n]+)`/g)].flatMap(([, code = '']) => code.split(/[^\w.]+/));
  return new Set(words.flatMap((word) => [word, word.replace(/^\.+|\.+$/g, '')]));
}

/** The page with those that it leads to. */
function withLinked(name: string): string {
  const linked = readMarkdown(pageOf(name)).targets.map((target) => target.split('#')[0] ?? '');
  const paths = new Set(linked.filter((target) => /^[^:]+\.md$/.test(target)));
  return [name, ...paths].map((path) => pageOf(posix.normalize(path))).join('\n');
}

/** What stands on a page in a language, each block as one text. */
function blocksOf(page: string, language: string): string[] {
  return [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].flatMap(([, word, text = '']) =>
    word === language ? [text] : [],
  );
}

/** Names of a described value's members, and of what they have inside, in every form that it may have. */
function memberNames(schema: Schema, definitions: ReadonlyMap<string, Schema>): string[] {
  const { $ref: reference, properties, items, anyOf } = schema;
  if (typeof reference === 'string') return memberNames(definitions.get(reference) ?? {}, definitions);
  const inside = [
    ...Object.values(membersOf(properties)),
    ...(items === undefined ? [] : [items]),
    ...(Array.isArray(anyOf) ? anyOf : []),
  ];
  return [
    ...Object.keys(membersOf(properties)),
    ...inside.flatMap((part) => memberNames(membersOf(part), definitions)),
  ];
}

describe('docs/interface/http.md', () => {
  test('docs/interface/http.md names every part of a path, query parameter, member of body and answer, and stream that is served', async (t) => {
    const served = await startTestGateway(t);
    const { operations, definitions } = readDescription(
      await served.ok('READONLY', 'GET', '/v3/openapi.json?aliases=true'),
    );
    const page = pageOf('http.md');
    const here = codeWordsOf(page);
    const known = codeWordsOf(withLinked('http.md'));
    const missed = new Set<string>();
    for (const { method, path, parameters, bodies, answers } of operations) {
      const schemas = [
        ...bodies.map(({ schema }) => schema),
        ...[...answers].flatMap(([status, forms]) => (status < 400 ? [...forms.values()] : [])),
      ];
      const missing = (word: string): void => void missed.add(`${method} ${path}: ${word}`);
      const parts = path.split('/').filter((part) => part !== '' && !part.startsWith('{'));
      for (const part of parts) if (!here.has(part)) missing(part);
      const words = [
        ...parameters.filter((each) => each.in === 'query').map(({ name }) => name),
        ...schemas.flatMap((schema) => memberNames(schema ?? {}, definitions)),
      ];
      for (const word of words) if (!known.has(word)) missing(word);
    }
    assert.ok(operations.length > 100);
    assert.deepEqual([...missed], []);
    for (const { operation, paths } of served.gateway.operations().streams)
      assert.ok(
        paths.some((path) => page.includes(`\`${path}\``)),
        operation,
      );
  });
});

describe('docs/interface/mqtt-devices.md', () => {
  test('docs/interface/mqtt-devices.md names every topic, and every key of a message', () => {
    const page = pageOf('mqtt-devices.md');
    for (const subject of DEVICE_SUBJECTS.keys()) assert.ok(page.includes(`/${subject}\``), subject);
    const known = new Set([
      ...codeWordsOf(page),
      ...[...page.matchAll(/"(\w+)":/g)].map(([, key = '']) => key),
    ]);
    for (const { schema, examples } of Object.values(DEVICE_PAYLOADS)) {
      const entries = 'entries' in schema ? Object.keys(schema.entries as object) : [];
      assert.ok(examples.length > 0);
      for (const key of entries) assert.ok(known.has(key), key);
    }
  });
});

describe('samples on the pages', () => {
  test('samples on the pages make a blueprint that is accepted, with the script that belongs to it', () => {
    const [manifest = ''] = blocksOf(pageOf('blueprints.md'), 'yaml');
    const [script = ''] = blocksOf(pageOf('lua-devices.md'), 'lua');
    assert.match(manifest, /file: main\.lua/);
    assert.deepEqual(problemsOf(manifest, { 'main.lua': script }), []);
    for (const [, name = ''] of script.matchAll(/(?:configuration\.\w+|register_command_handler)\('(\w+)'/g))
      assert.ok(manifest.includes(`  ${name}:`), name);
  });

  test('samples on the pages are JSON where they say so, line by line or as a whole', () => {
    const pages = ['http.md', 'mqtt-devices.md', 'blueprints.md', 'lua-devices.md', 'lua-rules.md'];
    const blocks = pages.flatMap((name) => blocksOf(pageOf(name), 'json'));
    assert.ok(blocks.length >= 5);
    for (const block of blocks) for (const line of block.trim().split(/\n(?=\{)/)) JSON.parse(line);
  });
});
