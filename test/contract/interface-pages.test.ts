/** The pages about the interface leave nothing out that the gateway serves (docs/interface/README.md). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { membersOf, readDescription, type Schema } from '../../scripts/request-check/description.ts';
import { DEVICE_PAYLOADS } from '../../src/protocol/device-payloads.ts';
import { DEVICE_SUBJECTS } from '../../src/protocol/device-topic.ts';
import { startTestGateway } from '../support/test-gateway.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

const pageOf = (name: string): string => readFileSync(join(PROJECT_ROOT, 'docs/interface', name), 'utf8');
/** Tells of dry runs. */
const rulesPage = readFileSync(join(PROJECT_ROOT, 'docs/rules.md'), 'utf8');

/** Words of the page in the form of code, taken apart at whatever is no part of a name. */
function codeWordsOf(page: string): Set<string> {
  const words = [...page.matchAll(/`([^`\n]+)`/g)].flatMap(([, code = '']) => code.split(/[^\w.]+/));
  return new Set(words.flatMap((word) => [word, word.replace(/^\.+|\.+$/g, '')]));
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
  test('names every part of a path, query parameter, member of body and answer, and stream that is served', async (t) => {
    const served = await startTestGateway(t);
    const { operations, definitions } = readDescription(
      await served.ok('READONLY', 'GET', '/v3/openapi.json'),
    );
    const known = codeWordsOf(`${pageOf('http.md')}${pageOf('blueprints.md')}${rulesPage}`);
    const missing = new Set<string>();
    for (const { method, path, parameters, bodies, answers } of operations) {
      const schemas = [
        ...bodies.map(({ schema }) => schema),
        ...[...answers].flatMap(([status, forms]) => (status < 400 ? [...forms.values()] : [])),
      ];
      const words = [
        ...path.split('/').filter((part) => part !== '' && !part.startsWith('{')),
        ...parameters.filter((each) => each.in === 'query').map(({ name }) => name),
        ...schemas.flatMap((schema) => memberNames(schema ?? {}, definitions)),
      ];
      for (const word of words) if (!known.has(word)) missing.add(`${method} ${path}: ${word}`);
    }
    assert.ok(operations.length > 100);
    assert.deepEqual([...missing], []);
    const page = pageOf('http.md');
    for (const { operation, paths } of served.gateway.operations().streams)
      assert.ok(
        paths.some((path) => page.includes(`\`${path}\``)),
        operation,
      );
  });
});

describe('docs/interface/mqtt-devices.md', () => {
  test('names every subject of a topic, and every key of a message', () => {
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
