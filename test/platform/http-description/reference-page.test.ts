import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as v from 'valibot';
import { describeApi, renderReferencePage } from '../../../src/platform/http-description/index.ts';
import { route, shape } from '../../../src/platform/http/index.ts';

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
    }),
  );
}

test('shows whatever a description says as text', async () => {
  const text = await page(HOSTILE, v.pipe(v.object({ a: v.string() }), v.examples([{ a: HOSTILE }])));
  assert.equal(text.split('<script>').length, 2, 'its own, and no other');
  assert.ok(!text.includes('<b>'));
  assert.ok(text.includes('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;more&#39;'));
});

test('shows path, role, older paths and every member with its type, shapes once', async () => {
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
