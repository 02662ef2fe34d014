/** Photos and documents of devices over HTTP (docs/interface/http.md#documents). Denials first. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import { refusal, useTestGateway } from '../support/test-gateway.ts';

const JPEG = Buffer.concat([Buffer.from('ffd8ffe0', 'hex'), Buffer.alloc(64, 7)]);
const PDF = Buffer.from('%PDF-1.7\n%âãÏÓ\n');
const PAGE = Buffer.from('<script>alert(1)</script>\n');
const UNKNOWN_ID = '11111111-1111-4111-8111-111111111111';
const AT = '/v3/devices/battery/documents';

const gateway = useTestGateway({}, async (started) => {
  await started.provision('Battery', null);
  await started.provision('Other', null);
});

interface Document {
  id: string;
  name: string;
  media_type: string;
  size_bytes: number;
}

async function upload(content: Buffer, name: string, at = AT): Promise<Document> {
  const path = `${at}?name=${encodeURIComponent(name)}`;
  return (await gateway().ok('OWNER', 'POST', path, content))['document'] as Document;
}

async function listed(at = AT): Promise<Document[]> {
  return (await gateway().ok('READONLY', 'GET', at))['documents'] as Document[];
}

describe('a document is refused', () => {
  const { documentBytes } = LIMITS.documents;
  const named = `${AT}?name=a`;
  const rows: [title: string, method: string, path: string, body: unknown, expected: string][] = [
    ['of an unknown device', 'POST', '/v3/devices/nobody/documents?name=a', JPEG, '404 device_not_found'],
    ['with an empty name', 'POST', `${AT}?name=%20`, JPEG, '400 invalid_query'],
    ['with a name too long', 'POST', `${AT}?name=${'x'.repeat(256)}`, JPEG, '400 invalid_query'],
    ['without content', 'POST', named, Buffer.alloc(0), '422 invalid_document'],
    ['that is a program', 'POST', named, Buffer.from('7f454c4602010100', 'hex'), '422 invalid_document'],
    ['that is a GIF', 'POST', named, Buffer.from('GIF89a\x01\x00'), '422 invalid_document'],
    ['that is no UTF-8', 'POST', named, Buffer.from([0x61, 0xe4, 0x62]), '422 invalid_document'],
    [
      'larger than a document may be',
      'POST',
      named,
      Buffer.alloc(documentBytes + 1, 'a'),
      '413 payload_too_large',
    ],
    ['that is not there', 'GET', `${AT}/${UNKNOWN_ID}`, undefined, '404 document_not_found'],
    [
      'of which the content is not there',
      'GET',
      `${AT}/${UNKNOWN_ID}/content`,
      undefined,
      '404 document_not_found',
    ],
    ['whose deletion finds nothing', 'DELETE', `${AT}/${UNKNOWN_ID}`, undefined, '404 document_not_found'],
  ];
  for (const [title, method, path, body, expected] of rows)
    test(`a document is refused with ${expected}: ${title}`, async () => {
      assert.equal(refusal(await gateway().call('OWNER', method, path, body)), expected);
      assert.deepEqual(await listed(), []);
    });

  test('a document is neither uploaded nor deleted by somebody who may only read: 403 insufficient_role', async () => {
    const { id } = await upload(JPEG, 'Plate');
    for (const role of ['READONLY', 'USER'] as const) {
      assert.equal(refusal(await gateway().call(role, 'POST', named, JPEG)).slice(0, 3), '403');
      assert.equal(refusal(await gateway().call(role, 'DELETE', `${AT}/${id}`)).slice(0, 3), '403');
    }
    await gateway().ok('OWNER', 'DELETE', `${AT}/${id}`);
  });

  test('a document beyond the number of a device is refused: 422 document_limit_reached', async () => {
    const at = '/v3/devices/other/documents';
    for (let count = 0; count < LIMITS.documents.perDevice; count++) await upload(JPEG, `${count}`, at);
    assert.equal(
      refusal(await gateway().call('OWNER', 'POST', `${at}?name=more`, JPEG)),
      '422 document_limit_reached',
    );
    assert.equal((await listed(at)).length, LIMITS.documents.perDevice);
    await gateway().ok('OWNER', 'DELETE', '/v3/devices/other');
  });

  test('a document is not found below another device: 404 document_not_found', async () => {
    await gateway().provision('Third', null);
    const { id } = await upload(JPEG, 'Plate');
    for (const [method, suffix] of [
      ['GET', ''],
      ['GET', '/content'],
      ['DELETE', ''],
    ] as const)
      assert.equal(
        refusal(await gateway().call('OWNER', method, `/v3/devices/third/documents/${id}${suffix}`)),
        '404 document_not_found',
      );
    await gateway().ok('OWNER', 'DELETE', `${AT}/${id}`);
  });
});

describe('a document', () => {
  test('a document is judged by its content and comes back byte by byte, as a file that no page can run', async () => {
    const rows: [name: string, content: Buffer, type: string, fileName: string, plainName: string][] = [
      ['Typenschild äöü', JPEG, 'image/jpeg', 'Typenschild%20%C3%A4%C3%B6%C3%BC.jpg', 'Typenschild ___.jpg'],
      ['manual.pdf', PDF, 'application/pdf', 'manual.pdf', 'manual.pdf'],
      ['page.html', PAGE, 'text/plain; charset=utf-8', 'page.html.txt', 'page.html.txt'],
    ];
    for (const [name, content, type, fileName, plainName] of rows) {
      const document = await upload(content, name);
      assert.deepEqual([document.name, document.size_bytes], [name, content.length]);
      const answer = await gateway().request('READONLY', 'GET', `${AT}/${document.id}/content`);
      const header = (one: string): string => answer.headers.get(one) ?? '';
      assert.equal(answer.status, 200);
      assert.equal(header('content-type'), type);
      assert.equal(header('x-content-type-options'), 'nosniff');
      assert.equal(header('cache-control'), 'no-store');
      assert.match(header('content-security-policy'), /default-src 'none'/);
      assert.equal(
        header('content-disposition'),
        `attachment; filename="${plainName}"; filename*=UTF-8''${fileName}`,
      );
      assert.deepEqual(Buffer.from(await answer.arrayBuffer()), content);
      assert.deepEqual((await gateway().ok('READONLY', 'GET', `${AT}/${document.id}`))['document'], document);
    }
    assert.deepEqual(
      (await listed()).map(({ name }) => name),
      rows.map(([name]) => name),
    );
    const page = await gateway().ok('READONLY', 'GET', `${AT}?limit=1&offset=1`);
    assert.equal(page['total_count'], 3);
    assert.deepEqual(
      (page['documents'] as Document[]).map(({ name }) => name),
      ['manual.pdf'],
    );
  });

  test('a document is taken from a form too, below the site too, and its upload is in the audit trail', async () => {
    const { device } = await gateway().ok('READONLY', 'GET', '/v3/devices/battery');
    const { id } = device as { id: string };
    const form = new FormData();
    form.set('data', new Blob([new Uint8Array(PDF)]), 'x.pdf');
    const encoded = new Response(form);
    const answer = await fetch(`${gateway().origin}/v3/site/devices/${id}/documents?name=Form`, {
      method: 'POST',
      headers: {
        'X-Service-Auth-Token': gateway().token('OWNER'),
        'content-type': encoded.headers.get('content-type') ?? '',
      },
      body: await encoded.arrayBuffer(),
    });
    assert.equal(answer.status, 200);
    const { entries } = await gateway().ok('OWNER', 'GET', '/v3/audit?limit=1');
    const [entry] = entries as { operation: string; target: Record<string, string> }[];
    assert.equal(entry?.operation, 'upload_device_document');
    assert.equal(entry.target['document_name'], 'Form');
  });
});
