import assert from 'node:assert/strict';
import { test } from 'node:test';
import { curlOf, websocatOf } from '../../scripts/reference/sample.ts';

const TOKEN = '-H "X-Service-Auth-Token: $TOKEN"';
const thing = { name: 'thing_id', in: 'path', schema: { type: 'string', examples: ['slug'] } };
const wanted = {
  name: 'things',
  in: 'query',
  required: true,
  schema: { type: 'object', examples: [{ a: 'x,y' }] },
};
const limit = { name: 'limit', in: 'query', schema: { type: 'integer' } };
const request = {
  method: 'GET',
  path: '/v3/things/{thing_id}',
  parameters: [thing],
  body: {},
  answer: {},
  needsToken: true,
};

test('a sample request has the method, examples in its path, and a token where one is needed', () => {
  assert.equal(curlOf(request, {}), `curl -s "$GATEWAY/v3/things/slug" \\\n  ${TOKEN}`);
  assert.equal(
    curlOf({ ...request, method: 'DELETE', needsToken: false }, {}),
    'curl -s -X DELETE "$GATEWAY/v3/things/slug"',
  );
});

test('a sample request has what is required in the query, and brackets are no patterns', () => {
  assert.equal(
    curlOf({ ...request, path: '/v3/things', parameters: [wanted, limit], needsToken: false }, {}),
    'curl -sg "$GATEWAY/v3/things?things[a]=x,y"',
  );
});

test('a sample body passes through a shell unchanged', () => {
  const body = { 'application/json': { example: { name: "O'Brien" } } };
  const text = curlOf({ ...request, method: 'PATCH', body, needsToken: false }, {});
  assert.equal(text.split(' \\\n  ')[1], `-d '{"name":"O'\\''Brien"}'`);
  const upload = curlOf({ ...request, method: 'POST', body: { 'application/zip': {} } }, {});
  assert.match(upload, /--data-binary @archive\.zip$/);
});

test('a sample request names what it takes and keeps files', () => {
  assert.match(curlOf({ ...request, answer: { 'text/csv': {} } }, {}), /-H "Accept: text\/csv"$/);
  assert.match(curlOf({ ...request, answer: { 'application/zip': {} } }, {}), /-o archive\.zip$/);
});

test('a sample stream is the same address over a WebSocket', () => {
  assert.equal(
    websocatOf('/v3/things/{thing_id}/feed', [thing, limit]),
    `websocat ${TOKEN} \\\n  "\${GATEWAY/http/ws}/v3/things/slug/feed"`,
  );
});
