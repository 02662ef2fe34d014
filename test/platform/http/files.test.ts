import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { serveFiles } from '../../support/files-app.ts';
import { serve } from './support.ts';

const PAGE = '<!doctype html><title>page</title>';
const SCRIPT = 'export const answer = 42;';

describe('files for browsers', () => {
  let dir = '';
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'gateway-files-'));
    writeFileSync(join(dir, 'index.html'), PAGE);
    writeFileSync(join(dir, 'app-ABCDEFGH.js'), SCRIPT);
    writeFileSync(join(dir, 'app-ABCDEFGH.js.gz'), gzipSync(SCRIPT));
    writeFileSync(join(dir, 'notes.key'), 'of no known type');
    mkdirSync(join(dir, 'docs', 'manual'), { recursive: true });
    writeFileSync(join(dir, 'docs', 'manual', 'index.html'), '<title>manual</title>');
  });
  after(() => rmSync(dir, { recursive: true, force: true }));

  test('files for browsers are not served from outside the folder, nor of an unknown type, nor as their compressed name', async () => {
    const get = serveFiles({ dir });
    for (const path of [
      '/../package.json',
      '/%2e%2e/package.json',
      '/notes.key',
      '/app-ABCDEFGH.js.gz',
      '/x.js',
    ])
      assert.equal((await get(path)).status, 404, path);
  });

  test('files for browsers are missed with a sentence when the console has not been built', async () => {
    const answer = await serveFiles({ dir: join(dir, 'nowhere') })('/');
    assert.equal(answer.status, 404);
    assert.match(await answer.text(), /has not been built; run: npm run build/);
  });

  test('files for browsers are missed with a sentence when they were taken away since the start', async () => {
    const other = mkdtempSync(join(tmpdir(), 'gateway-files-'));
    writeFileSync(join(other, 'index.html'), PAGE);
    const get = serveFiles({ dir: other });
    rmSync(other, { recursive: true });
    const answer = await get('/');
    assert.equal(answer.status, 404);
    assert.match(await answer.text(), /load the page again/);
  });

  test('files for browsers have their first page at the folder', async () => {
    assert.equal(await (await serveFiles({ dir })('/docs/manual')).text(), '<title>manual</title>');
  });

  test('files for browsers carry headers that let the page use its own origin only', async () => {
    const answer = await serveFiles({ dir })('/');
    assert.equal(await answer.text(), PAGE);
    assert.match(
      answer.headers.get('content-security-policy') ?? '',
      /^default-src 'self'; .*frame-ancestors 'none'/,
    );
    assert.equal(answer.headers.get('cross-origin-opener-policy'), 'same-origin');
  });

  test('files for browsers are revalidated unless their name has the hash of their content', async () => {
    const get = serveFiles({ dir });
    assert.equal((await get('/')).headers.get('cache-control'), 'no-cache');
    const script = await get('/app-ABCDEFGH.js');
    assert.equal(script.headers.get('cache-control'), 'public, max-age=31536000, immutable');
  });

  test('files for browsers go compressed to those who take that', async () => {
    const get = serveFiles({ dir });
    const plain = await get('/app-ABCDEFGH.js');
    assert.equal(plain.headers.get('content-encoding'), null);
    assert.equal(plain.headers.get('content-length'), String(SCRIPT.length));
    assert.equal(await plain.text(), SCRIPT);
    const small = await get('/app-ABCDEFGH.js', { headers: { 'Accept-Encoding': 'gzip' } });
    assert.equal(small.headers.get('content-encoding'), 'gzip');
    assert.equal(gunzipSync(await small.arrayBuffer()).toString(), SCRIPT);
    assert.notEqual(small.headers.get('etag'), plain.headers.get('etag'));
  });

  test('files for browsers are not sent to those who have them', async () => {
    const get = serveFiles({ dir });
    const etag = (await get('/')).headers.get('etag') ?? '';
    const answer = await get('/', { headers: { 'If-None-Match': `"other", W/${etag}` } });
    assert.equal(answer.status, 304);
    assert.equal(await answer.text(), '');
  });

  test('files for browsers answer HEAD with the size and no body', async () => {
    const answer = await serveFiles({ dir })('/', { method: 'HEAD' });
    assert.equal(answer.headers.get('content-length'), String(PAGE.length));
    assert.equal(await answer.text(), '');
  });

  test('files for browsers have links that lead to a page, parameters encoded', async () => {
    const get = serveFiles({ dir, links: { '/devices/{device}': '/#/devices/{device}' } });
    const answer = await get('/devices/a%20b');
    assert.equal(answer.status, 302);
    assert.equal(answer.headers.get('location'), '/#/devices/a%20b');
  });

  test('files for browsers arrive whole, also empty or larger than what is read at once', async (test) => {
    const other = mkdtempSync(join(tmpdir(), 'gateway-files-'));
    test.after(() => rmSync(other, { recursive: true }));
    writeFileSync(join(other, 'index.html'), '');
    const large = `"${'0123456789'.repeat(30_000)}"`;
    writeFileSync(join(other, 'large.json'), large);
    const { ask } = await serve(test, { files: { dir: other } });
    const empty = await ask('GET', '/');
    assert.deepEqual([empty.status, empty.headers.get('content-length'), empty.text], [200, '0', '']);
    const answer = await ask('GET', '/large.json');
    assert.equal(answer.headers.get('content-length'), String(large.length));
    assert.ok(answer.text === large, 'every byte of it');
  });
});
