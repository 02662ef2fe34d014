import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, assert as assertProperty, asyncProperty, nat, uint8Array } from 'fast-check';
import { gatewayError, GatewayError } from '../../../src/lib/errors.ts';
import { readUpload } from '../../../src/platform/upload/index.ts';
import { runs } from '../../support/runs.ts';

const TYPE = 'multipart/form-data; boundary=limit';

const MAXIMUM_BYTES = 4_096;

/** Reads a body that arrives in pieces of the given size. */
function read(body: Uint8Array | string, contentType?: string, pieceBytes = 7): Promise<Buffer> {
  const bytes = Buffer.from(body);
  return readUpload(
    {
      header: (name) => (name === 'content-type' ? contentType : undefined),
      stream: () => ReadableStream.from(pieces(bytes, pieceBytes)),
    },
    'data',
    MAXIMUM_BYTES,
  );
}

function* pieces(bytes: Uint8Array, sizeBytes: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += sizeBytes) yield bytes.subarray(at, at + sizeBytes);
}

const part = (name: string, content: string, more = '; filename="a.zip"'): string =>
  `--limit\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${content}\r\n`;

const refused = (message: RegExp) => (error: unknown) =>
  error instanceof GatewayError &&
  error.kind === 'invalid_argument' &&
  error.code === 'invalid_body' &&
  message.test(error.message);

test('an upload as a form is refused without boundary, without end, or without the field', async () => {
  const broken = refused(/^The multipart form is broken: /);
  const missing = refused(/^The form has no file in field "data"\.$/);
  await assert.rejects(read('x', 'multipart/form-data'), broken);
  await assert.rejects(read(part('data', 'PK'), TYPE), broken);
  await assert.rejects(read('', TYPE), broken);
  await assert.rejects(read('nothing of a form', TYPE), broken);
  await assert.rejects(read(`${part('file', 'PK')}--limit--\r\n`, TYPE), missing);
});

test('an upload fails with the error of its stream', async () => {
  const tooLarge = gatewayError('too_large', 'payload_too_large', 'too large');
  const failing = (contentType: string): Promise<Buffer> =>
    readUpload(
      {
        header: () => contentType,
        stream: () =>
          new ReadableStream({
            start(controller) {
              controller.enqueue(Buffer.from(part('data', 'PK').slice(0, -2)));
            },
            pull(controller) {
              controller.error(tooLarge);
            },
          }),
      },
      'data',
      MAXIMUM_BYTES,
    );
  for (const contentType of [TYPE, 'application/zip'])
    await assert.rejects(failing(contentType), (error) => error === tooLarge);
});

test('an upload one byte larger than the limit is refused, whatever it is wrapped in', async () => {
  const largest = 'x'.repeat(MAXIMUM_BYTES);
  const form = (content: string): string => `${part('data', content)}--limit--\r\n`;
  const tooLarge = (error: unknown): boolean =>
    error instanceof GatewayError && error.code === 'payload_too_large' && error.kind === 'too_large';
  assert.equal((await read(largest, undefined, 1_000)).length, MAXIMUM_BYTES);
  assert.equal((await read(form(largest), TYPE, 1_000)).length, MAXIMUM_BYTES);
  await assert.rejects(read(`${largest}x`, undefined, 1_000), tooLarge);
  await assert.rejects(read(form(`${largest}x`), TYPE, 1_000), tooLarge);
});

test('an upload takes the named file of a form, the first of several, among other parts', async () => {
  const body = `${part('note', 'hello', '')}${part('other', 'no')}${part('data', 'PK\r\n--limi\r\nx')}${part('data', 'second')}--limit--\r\n`;
  assert.equal((await read(body, TYPE)).toString(), 'PK\r\n--limi\r\nx');
  assert.equal(
    (await read(body, TYPE.toUpperCase().replace('LIMIT', 'limit'))).toString(),
    'PK\r\n--limi\r\nx',
  );
});

test('an upload takes the named part of a form without a file name, too, whatever its type', async () => {
  for (const more of [
    '',
    '\r\nContent-Type: application/zip',
    '\r\nContent-Type: text/plain',
    '; filename=""',
  ])
    assert.equal(
      (await read(`${part('data', 'PK\0\xff', more)}--limit--\r\n`, TYPE)).toString(),
      'PK\0\xff',
      more,
    );
});

test('an upload takes the whole body of any other content type', async () => {
  for (const contentType of [undefined, '', 'application/zip', 'application/x-www-form-urlencoded'])
    assert.equal((await read('PK raw', contentType)).toString(), 'PK raw');
});

test('a form of the browser keeps every byte, however the pieces are cut', async () => {
  await assertProperty(
    asyncProperty(
      array(uint8Array({ maxLength: 300 }), { maxLength: 3 }),
      nat({ max: 60 }),
      async (parts, size) => {
        const bytes = Buffer.concat(parts);
        const form = new FormData();
        form.append('before', 'text');
        form.append('data', new Blob([bytes]), 'blueprint.zip');
        const response = new Response(form);
        const body = new Uint8Array(await response.arrayBuffer());
        assert.deepEqual(await read(body, response.headers.get('content-type') ?? '', size + 1), bytes);
      },
    ),
    { numRuns: runs(200) },
  );
});
