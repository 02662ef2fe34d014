/**
 * Every operation and stream of the whole gateway × every caller (docs/interface/http.md#roles), by the table of
 * `operations.ts`. For commands and configuration the access level in the manifest decides above that; of tokens, a caller
 * sees only its own.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ISSUABLE_ROLES } from '../../src/capabilities/auth/index.ts';
import { type Route } from '../../src/platform/http/index.ts';
import { roleIncludes } from '../../src/lib/role.ts';
import { Refusal } from '../support/serve.ts';
import { LEAST_ROLES } from './operations.ts';
import { type Caller, refusal, startTestGateway, type TestGateway } from '../support/test-gateway.ts';

/** Answer without a token although the box belongs to nobody. */
const BEFORE_CLAIM = [
  'get_health',
  'get_readiness',
  'get_claim',
  'claim',
  'get_authority_pem',
  'get_authority_crt',
  // Asks for no token at any time, and says nothing of the box.
  'validate_blueprint',
];

const NOT_HERE = '00000000-0000-4000-8000-000000000000';
const UNKNOWN: Caller = { token: 'unknown' };

let gateway: TestGateway;
const ends: (() => unknown)[] = [];

before(async () => {
  gateway = await startTestGateway({ after: (end) => void ends.push(end as () => unknown) });
});
after(async () => {
  for (const end of ends) await end();
});

const routes = (): readonly Route[] => gateway.gateway.operations().routes;

/** Every path of every operation, with ids of nothing, so that what is allowed changes nothing. */
async function walk(visit: (route: Route, path: string) => Promise<void>): Promise<void> {
  const { id } = (await gateway.ok('READONLY', 'GET', '/v3/site'))['site'] as { id: string };
  for (const route of routes())
    for (const path of route.paths)
      await visit(route, path.replace('{site_id}', id).replace(/\{\w+\}/g, NOT_HERE));
}

const ask = async (caller: Caller, { method }: Route, path: string): Promise<string> =>
  refusal(await gateway.call(caller, method, path));

describe('the table of roles', () => {
  test('the table of roles names every operation and stream of the gateway once, and no other', () => {
    const { routes: all, streams } = gateway.gateway.operations();
    const served = [...all, ...streams].map(({ operation }) => operation);
    assert.deepEqual(
      served.toSorted(),
      [...LEAST_ROLES.keys()].toSorted(),
      'write the least role of a new operation into the table',
    );
  });

  test('the table of roles equals what each operation declares', () => {
    const { routes: all, streams } = gateway.gateway.operations();
    for (const { operation, role } of [...all, ...streams])
      assert.equal(role, LEAST_ROLES.get(operation), operation);
  });
});

describe('an unclaimed gateway', () => {
  test('an unclaimed gateway refuses every operation without a token, except the way to its claim and the check of a blueprint', async () => {
    await walk(async (route, path) => {
      const answer = await ask(null, route, path);
      if (BEFORE_CLAIM.includes(route.operation)) assert.doesNotMatch(answer, /^40[13]/, path);
      else assert.equal(answer, '401 invalid_header', path);
    });
  });
});

describe('a claimed gateway', () => {
  before(async () => {
    const claim_code = readFileSync(join(gateway.dataDir, 'claim-code'), 'utf8');
    await gateway.ok(null, 'POST', '/v3/auth/claim', { claim_code, password: 'correct horse' });
  });

  test('a claimed gateway refuses callers without a token every operation that needs one', async () => {
    await walk(async (route, path) => {
      const answer = await ask(null, route, path);
      if (LEAST_ROLES.get(route.operation) === null) assert.doesNotMatch(answer, /^40[13]/, path);
      else assert.equal(answer, '401 invalid_header', path);
    });
  });

  test('a claimed gateway refuses every operation to an invalid token', async () => {
    await walk(async (route, path) => {
      // After some, the address is refused as guessing.
      assert.match(await ask(UNKNOWN, route, path), /^(403 access_denied|429 too_many_requests)$/, path);
    });
  });

  for (const role of ISSUABLE_ROLES)
    test(`a claimed gateway refuses ${role} exactly the operations above it`, async () => {
      await walk(async (route, path) => {
        const least = LEAST_ROLES.get(route.operation) ?? 'READONLY';
        const answer = await ask(role, route, path);
        if (roleIncludes(role, least)) assert.doesNotMatch(answer, /^40[13]/, `${route.method} ${path}`);
        else assert.equal(answer, '403 insufficient_role', `${route.method} ${path}`);
      });
    });

  test('a claimed gateway refuses every stream before its upgrade to callers who may not have it', async () => {
    const { id } = (await gateway.ok('READONLY', 'GET', '/v3/site'))['site'] as { id: string };
    const { streams } = gateway.gateway.operations();
    for (const [operation, template] of streams.flatMap(({ operation, paths }) =>
      paths.map((path) => [operation, path] as const),
    ))
      for (const [caller, allowed] of [
        [null, false],
        ...ISSUABLE_ROLES.map(
          (role) => [role, roleIncludes(role, LEAST_ROLES.get(operation) ?? 'READONLY')] as const,
        ),
      ] as const) {
        const path = template.replace('{site_id}', id).replace(/\{\w+\}/g, NOT_HERE);
        const refused = await gateway.watch(caller, path).then(
          (watched) => watched.close(),
          (error: unknown) => {
            if (error instanceof Refusal)
              return refusal({ status: error.status, body: error.body, headers: new Headers() });
            throw error;
          },
        );
        const expected = caller === null ? '401 invalid_header' : '403 insufficient_role';
        if (allowed) assert.doesNotMatch(refused ?? '', /^40[13]/, `${caller} ${path}`);
        else assert.equal(refused, expected, `${caller} ${path}`);
      }
  });
});
