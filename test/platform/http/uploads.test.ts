import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { firstError, serve } from './support.ts';

const FORM = 'multipart/form-data; boundary=limit';
const part = (name: string, content: string): string =>
  `--limit\r\nContent-Disposition: form-data; name="${name}"; filename="a.zip"\r\n\r\n${content}\r\n--limit--\r\n`;

describe('an upload', () => {
  test('an upload is 400 when its form is broken or lacks the field', async (t) => {
    const { ask } = await serve(t);
    for (const body of ['', 'nothing of a form', part('other', 'PK'), part('data', 'PK').slice(0, -12)]) {
      const answer = await ask('POST', '/v3/upload', { body, headers: { 'Content-Type': FORM } });
      assert.equal(`${answer.status} ${answer.code}`, '400 invalid_body', body);
    }
  });

  test('an upload is 413 when it is too large, as a form and as it is, declared or not', async (t) => {
    const { ask } = await serve(t);
    const large = 'x'.repeat(3_000);
    for (const type of [FORM, 'application/zip'])
      for (const isDeclared of [true, false]) {
        const text = type === FORM ? part('data', large) : large;
        const body = isDeclared ? text : ReadableStream.from([Buffer.from(text)]);
        const answer = await ask('POST', '/v3/upload', { body, headers: { 'Content-Type': type } });
        assert.equal(answer.status, 413, type);
        assert.deepEqual(firstError(answer)?.details, { limit: 2_000 });
      }
  });

  test('an upload is read as a form by its type, else as it is', async (t) => {
    const { ask } = await serve(t);
    const form = await ask('POST', '/v3/upload', {
      body: part('data', 'PK12'),
      headers: { 'Content-Type': FORM },
    });
    assert.deepEqual(form.json, { size: 4 });
    for (const type of ['application/zip', 'application/x-www-form-urlencoded', ''])
      assert.deepEqual(
        (await ask('POST', '/v3/upload', { body: 'PK', headers: { 'Content-Type': type } })).json,
        { size: 2 },
      );
    assert.deepEqual((await ask('POST', '/v3/upload')).json, { size: 0 });
  });
});
