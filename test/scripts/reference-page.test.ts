import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as v from 'valibot';
import { renderReferencePage } from '../../scripts/reference/page.ts';
import { describeApi } from '../../src/platform/http-description/index.ts';
import { route, shape } from '../../src/platform/http/index.ts';
import { referenceFolder } from '../support/reference.ts';
import { startTestGateway } from '../support/test-gateway.ts';

const HOSTILE = '<script>alert("1")</script> & \'more\'';

function page(about: string, answer: v.GenericSchema): Promise<string> {
  return renderReferencePage(
    describeApi({
      title: 'Things',
      version: '1',
      about,
      groups: [
        {
          name: 'Things',
          about,
          routes: [
            route({
              operation: 'get_thing',
              GET: ['/v3/thing', '/v3/things/one'],
              role: 'USER',
              about,
              body: v.object({ [HOSTILE]: v.optional(v.picklist(['<b>'])) }),
              answer,
              handle: () => ({}),
            }),
          ],
        },
      ],
      pathParameters: {},
      isOlder: (path) => path.endsWith('one'),
      withAliases: true,
    }),
  );
}

test('the reference page shows the content of a description as text', async () => {
  const text = await page(HOSTILE, v.pipe(v.object({ a: v.string() }), v.examples([{ a: HOSTILE }])));
  assert.doesNotMatch(text, /<script>/);
  assert.ok(!text.includes('<b>'));
  assert.ok(text.includes('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;more&#39;'));
});

test('the reference page shows path, role, older paths and every member with its type, each shape once', async () => {
  const thing = shape.named(
    'Thing',
    v.object({ size: shape.count(), place: v.nullish(v.object({ x: v.number() })) }),
  );
  const text = (await page('About `size`.', v.object({ things: v.array(thing) }))).replace(/\s+/g, ' ');
  for (const shown of [
    '<code>/v3/thing</code>',
    'least role: USER',
    '<code>/v3/things/one</code> (older)',
    'About <code>size</code>.',
    '<code><span></span>things[]</code>',
    'list of <a href="#shape-Thing">Thing</a>',
    '<section id="shape-Thing">',
    '<code><span></span>size</code>',
    'integer, from 0',
    '<code><span>place.</span>x</code>',
  ])
    assert.ok(text.includes(shown), shown);
  assert.ok(!text.includes('<span>things[].</span>size'), 'a shape with a name is shown in its own place');
});

test('the reference page shows every served operation, and loads nothing from elsewhere', async (t) => {
  const served = await startTestGateway(t, { consoleDir: await referenceFolder(t) });
  const page = await served.call('READONLY', 'GET', '/docs');
  const text = String(page.body);
  for (const { operation } of served.gateway.operations().routes)
    assert.ok(text.includes(`id="${operation}"`), operation);
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
  assert.match(page.headers.get('content-security-policy') ?? '', /^default-src 'self';/);
  // An address in an example is only text.
  assert.doesNotMatch(
    text,
    /<script>|<style|<img|https?:\/\/(?!metrics\.example|192\.168\.)|\sstyle=|<[^>]*\son\w+=/,
  );
  for (const [, address = ''] of text.matchAll(/<(?:script|link)[^>]* (?:src|href)="([^"]*)"/g))
    assert.equal((await served.call(null, 'GET', address)).status, 200, address);
});
