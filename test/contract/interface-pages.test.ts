/** The pages about the interface leave nothing out that the gateway serves (docs/interface/README.md). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { membersOf } from '../../scripts/request-check/description.ts';
import { DEVICE_PAYLOADS } from '../../src/protocol/device-payloads.ts';
import { DEVICE_SUBJECTS } from '../../src/protocol/device-topic.ts';
import { startTestGateway } from '../support/test-gateway.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

const pageOf = (name: string): string => readFileSync(join(PROJECT_ROOT, 'docs/interface', name), 'utf8');

/** Words of the page in the form of code, taken apart at whatever is no part of a name. */
function codeWordsOf(page: string): Set<string> {
  const words = [...page.matchAll(/`([^`\n]+)`/g)].flatMap(([, code = '']) => code.split(/[^\w.]+/));
  return new Set(words.flatMap((word) => [word, word.replace(/^\.+|\.+$/g, '')]));
}

/** Names of a described value's members, those of every form it may have included. */
function memberNames(document: Record<string, unknown>, schema: unknown): string[] {
  const { $ref: reference, properties, anyOf } = membersOf(schema);
  if (typeof reference === 'string') {
    const name = reference.split('/').at(-1) ?? '';
    return memberNames(document, membersOf(membersOf(document['components'])['schemas'])[name]);
  }
  const forms = Array.isArray(anyOf) ? anyOf.flatMap((form) => memberNames(document, form)) : [];
  return [...Object.keys(membersOf(properties)), ...forms];
}

describe('docs/interface/http.md', () => {
  test('names every part of a path, query parameter and member of a body that is served, and every stream', async (t) => {
    const served = await startTestGateway(t);
    const document: Record<string, unknown> = await served.ok('READONLY', 'GET', '/v3/openapi.json');
    const known = codeWordsOf(pageOf('http.md'));
    const missing = new Set<string>();
    for (const [path, item] of Object.entries(membersOf(document['paths'])))
      for (const [method, operation] of Object.entries(membersOf(item))) {
        const { parameters = [], requestBody } = membersOf(operation);
        const inQuery = (parameters as Record<string, unknown>[]).filter((each) => each['in'] === 'query');
        const bodies = Object.values(membersOf(membersOf(requestBody)['content']));
        const words = [
          ...path.split('/').filter((part) => part !== '' && !part.startsWith('{')),
          ...inQuery.map(({ name }) => String(name)),
          ...bodies.flatMap((body) => memberNames(document, membersOf(body)['schema'])),
        ];
        for (const word of words) if (!known.has(word)) missing.add(`${method} ${path}: ${word}`);
      }
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
