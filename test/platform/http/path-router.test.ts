/** Paths without parameters, which are found once, and all others. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Result, Router } from 'hono/router';
import { TrieRouter } from 'hono/router/trie-router';
import { PathRouter } from '../../../src/platform/http/path-router.ts';

const ADDED = [
  ['ALL', '*', 'around'],
  ['GET', '/v3/site', 'site'],
  ['PATCH', '/v3/site', 'change'],
  ['ALL', '/v3/site', 'other methods'],
  ['GET', '/v3/things/special', 'special'],
  ['GET', '/v3/things/:id', 'thing'],
  ['GET', '/v3/things/:id/zip', 'zip'],
  ['GET', '/v3/things/:space/:name/:tag', 'tagged'],
] as const;

/** Those that fit in their order, and the parameters of the last. */
function told([found, stash]: Result<string>): unknown[] {
  const values = found.map(([target, params]) => [
    target,
    Object.entries(params).map(([name, value]) => [name, stash ? stash[value as number] : value]),
  ]);
  return values;
}

describe('the router', () => {
  test('finds the same as that of the library, however often and in whatever order it is asked', () => {
    const routers: Router<string>[] = [new PathRouter(), new TrieRouter()];
    for (const router of routers)
      for (const [method, path, target] of ADDED) router.add(method, path, target);
    const paths = [
      '/v3/site',
      '/v3/things/special',
      '/v3/things/a',
      '/v3/things/a/zip',
      '/v3/things/a/b/c',
      '/v3',
      '/',
    ];
    for (let round = 0; round < 3; round++)
      for (const path of paths)
        for (const method of ['GET', 'PATCH', 'DELETE', 'ALL', 'PROPFIND']) {
          const [ours, theirs] = routers.map((router) => told(router.match(method, path)));
          assert.deepEqual(ours, theirs, `${method} ${path}`);
        }
  });
});
