/** The manual as the gateway serves it: every page of docs/, with links that lead somewhere, and nothing to run. */
import assert from 'node:assert/strict';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { buildManual } from '../../scripts/support/manual.ts';
import { serveFiles } from '../support/files-app.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

const MANUAL = '/docs/manual';

describe('the manual', () => {
  let dir = '';
  let names: string[] = [];
  let get = serveFiles({ dir });

  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'gateway-manual-'));
    writeFileSync(join(dir, 'index.html'), '<!doctype html>');
    names = buildManual(join(dir, 'docs', 'manual'));
    get = serveFiles({ dir });
  });
  after(() => rmSync(dir, { recursive: true, force: true }));

  /** Without its body, whose file is closed: the runtime takes one that is forgotten for a fault of whatever runs then. */
  const headersOf = async (path: string): Promise<Headers> => {
    const { headers, body } = await get(path);
    await body?.cancel();
    return headers;
  };
  const pageAt = (name: string): string => readFileSync(join(dir, 'docs', 'manual', name), 'utf8');

  test('the manual has every page of docs/, and a list of them at its address', async () => {
    const sources = globSync('docs/**/*.md', { cwd: PROJECT_ROOT });
    assert.ok(sources.length > 20);
    for (const path of sources)
      assert.ok(names.includes(path.replace(/^docs\//, '').replace(/md$/, 'html')), path);
    const answer = await get(MANUAL);
    assert.equal(answer.status, 200);
    const list = await answer.text();
    for (const name of names) assert.ok(list.includes(`<li><a href="${MANUAL}/${name}">`), name);
  });

  test('the manual has only working links, to the very heading', async () => {
    // What the gateway serves besides.
    const beside = new Set(['/', '/docs', '/v3/openapi.json', '/v3/asyncapi.json']);
    const found = new Map<string, string>();
    const textAt = async (path: string): Promise<string> => {
      const known = found.get(path);
      if (known !== undefined) return known;
      const answer = await get(path);
      assert.equal(answer.status, 200, path);
      const text = await answer.text();
      found.set(path, text);
      return text;
    };
    let links = 0;
    for (const name of ['index.html', ...names])
      for (const [, href = ''] of pageAt(name).matchAll(/ href="([^"]*)"/g)) {
        if (href.startsWith('https:') || beside.has(href)) continue;
        const { pathname, hash } = new URL(href, `http://gateway.test${MANUAL}/${name}`);
        const text = await textAt(pathname);
        if (hash !== '')
          assert.ok(text.includes(` id="${decodeURIComponent(hash.slice(1))}"`), `${name}: ${href}`);
        links++;
      }
    assert.ok(links > 1_000, `${links} links`);
  });

  test('the manual runs no script and has no inline style, as the policy of pages wants it', async () => {
    for (const name of ['index.html', ...names])
      assert.doesNotMatch(pageAt(name), /<script|<style| style="| on[a-z]+="/, name);
    const headers = await headersOf(`${MANUAL}/interface/http.html`);
    assert.match(headers.get('content-security-policy') ?? '', /^default-src 'self'; /);
    assert.equal((await headersOf(`${MANUAL}/manual.css`)).get('content-type'), 'text/css; charset=utf-8');
  });

  test('the manual has the pictures of its pages, each with words in its place', async () => {
    let pictures = 0;
    for (const name of names)
      for (const [, source = '', words = ''] of pageAt(name).matchAll(/<img src="([^"]*)" alt="([^"]*)"/g)) {
        const headers = await headersOf(source);
        const type = source.endsWith('.svg') ? 'image/svg+xml' : 'image/png';
        assert.equal(headers.get('content-type'), type, `${name}: ${source}`);
        assert.notEqual(words, '', `${name}: ${source}`);
        pictures++;
      }
    assert.ok(pictures > 5, `${pictures} pictures`);
  });

  test('the manual shows text as it was written', () => {
    const page = pageAt('interface/mqtt-devices.html');
    assert.ok(page.includes('<code>v1/from/H/C/v1/telemetry</code>'));
    assert.ok(page.includes('&quot;id&quot;: &quot;0d9f1a52-51d7-4f51-9c66-8f8f3f6c2b10&quot;'));
  });
});
