/** Sites: docs/interface/http.md#sites and docs/interface/http.md#cloud-operations. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Api, refusal, startApi } from './access-support.ts';

const OTHER = '00000000-0000-4000-8000-000000000000';

describe('site operations are refused', () => {
  const operations: [method: string, path: string, body?: unknown][] = [
    ['GET', '/v3/site'],
    ['GET', '/v3/sites'],
    ['GET', '/v3/users/me/sites'],
    ['GET', '/v3/sites/users/me/sites'],
    ['PATCH', '/v3/site', {}],
    ['POST', '/v3/sites', { name: 'A', timezone: 'UTC' }],
    ['DELETE', '/v3/site'],
    ['DELETE', '/v3/sites'],
    ['POST', '/v3/site/archive'],
    ['POST', '/v3/site/unarchive'],
    ['POST', '/v3/site/connections'],
  ];
  for (const [method, path, body] of operations)
    test(`site operations are refused without a token: ${method} ${path}`, async (t) => {
      const answer = await startApi(t).call(null, method, path, body);
      assert.equal(refusal(answer), '401 invalid_header');
    });

  for (const [method, path, body] of operations.slice(4, -1))
    test(`site operations are refused when a USER calls: ${method} ${path} needs OWNER`, async (t) => {
      const answer = await startApi(t).call('USER', method, path, body);
      assert.equal(answer.status, 403);
      assert.deepEqual((answer.body as { errors: unknown[] }).errors, [
        {
          code: 'insufficient_role',
          message: 'This needs the role OWNER or higher.',
          details: { required: 'OWNER', actual: 'USER' },
        },
      ]);
    });

  for (const [method, path] of [
    ['GET', `/v3/sites/${OTHER}`],
    ['PATCH', `/v3/sites/${OTHER}`],
    ['DELETE', `/v3/sites/${OTHER}`],
    ['DELETE', `/v3/sites/${OTHER}?skip_check_existence=false`],
    ['POST', `/v3/sites/${OTHER}/archive`],
    ['POST', `/v3/sites/${OTHER}/unarchive?skip_check_existence=true`],
    ['GET', '/v3/sites/nonsense'],
  ] as const)
    test(`site operations are refused for a site that is not here: ${method} ${path}`, async (t) => {
      assert.equal(refusal(await startApi(t).call('OWNER', method, path)), '404 site_not_found');
    });

  test('site operations are refused when a body has faults, with every one listed', async (t) => {
    const { call, site } = startApi(t);
    const before = site.get();
    const answer = await call('OWNER', 'PATCH', '/v3/site', {
      name: ' ',
      timezone: 'Mars/Olympus',
      location: { name: 'x'.repeat(256), latitude: 90.1, longitude: '-180.5' },
      _reset: ['location.name', 'location'],
    });
    assert.equal(answer.status, 400);
    const { errors } = answer.body as { errors: { message: string; details: { field: string } }[] };
    assert.deepEqual(
      errors.map(({ message }) => message),
      [
        'Field "name" must not be empty.',
        'Field "timezone" must be an IANA time zone such as Europe/Berlin.',
        'Field "location.name" must have at most 255 characters.',
        'Field "location.latitude" must be from -90 to 90.',
        'Field "location.longitude" must be from -180 to 180.',
        'Field "_reset.1" must be of: location.name, location.latitude, location.longitude.',
      ],
    );
    assert.deepEqual(site.get(), before);
  });

  for (const [body, field] of [
    [{ name: '' }, 'name'],
    [{ name: 5 }, 'name'],
    [{ timezone: '' }, 'timezone'],
    [{ timezone: '+02:00' }, 'timezone'],
    [{ timezone: 'SystemV/AST4' }, 'timezone'],
    [{ location: { latitude: 'north' } }, 'location.latitude'],
    [{ location: { latitude: '' } }, 'location.latitude'],
    [{ location: { longitude: true } }, 'location.longitude'],
    [{ location: [] }, 'location'],
    [{ _reset: 'location.name' }, '_reset'],
  ] as const)
    test(`site operations are refused for the body ${JSON.stringify(body)}`, async (t) => {
      const answer = await startApi(t).call('OWNER', 'PATCH', '/v3/site', body);
      assert.equal(refusal(answer), '400 invalid_body');
      const { errors } = answer.body as { errors: { details: unknown }[] };
      assert.deepEqual(errors[0]?.details, { field });
    });

  for (const query of ['limit=-1', 'limit=1.5', 'limit=x', 'offset=-1', 'archived_state=GONE'])
    test(`site operations are refused for a list with ${query}`, async (t) => {
      const answer = await startApi(t).call('READONLY', 'GET', `/v3/sites?${query}`);
      assert.equal(refusal(answer), '400 invalid_query');
    });

  for (const path of ['/v3/site', '/v3/sites', '/v3/site?skip_check_existence=true'])
    test(`site operations are refused when they are not available: DELETE ${path} never removes the one site`, async (t) => {
      const { call } = startApi(t);
      assert.equal(refusal(await call('INSTALLER', 'DELETE', path)), '422 not_available_on_gateway');
      assert.equal((await call('READONLY', 'GET', '/v3/site')).status, 200);
    });

  test('site operations are refused when they are not available: a second site, after its body was checked', async (t) => {
    const { call } = startApi(t);
    const create = (body: unknown) => call('OWNER', 'POST', '/v3/sites', body);
    assert.equal(refusal(await create({ name: 'A' })), '400 invalid_body');
    assert.equal(
      refusal(await create({ name: 'A', timezone: 'UTC', location: { latitude: 100 } })),
      '400 invalid_body',
    );
    assert.equal(
      refusal(await create({ name: 'A', timezone: 'UTC', location: null })),
      '422 not_available_on_gateway',
    );
  });

  for (const [method, path] of [
    ['POST', '/v3/devices/some-device/run_terminal'],
    ['POST', '/v3/sites/any/devices/some-device/run_terminal'],
    ['GET', '/v3/site/connections'],
    ['GET', `/v3/sites/${OTHER}/users`],
    ['DELETE', '/v3/site/users/anna'],
    ['POST', '/v3/invitations'],
    ['GET', '/v3/users/me'],
    ['PATCH', '/v3/notifications/1'],
    ['POST', '/api/v3/tokens'],
  ] as const)
    test(`site operations are refused when they are not available: ${method} ${path}`, async (t) => {
      const answer = await startApi(t).call('READONLY', method, path);
      assert.equal(refusal(answer), '422 not_available_on_gateway');
    });

  test('site operations are refused when the path is one of the cloud that the gateway does not know', async (t) => {
    assert.equal(refusal(await startApi(t).call('OWNER', 'GET', '/v3/dashboards')), '404 route_not_found');
  });
});

describe('the site', () => {
  test('the site is one after the first start and the same after the next', async (t) => {
    const { site, call } = startApi(t);
    const expected = {
      id: site.get().id,
      name: 'Depot',
      timezone: 'UTC',
      version: 'V3',
      authorized_role: 'READONLY',
      archived: false,
    };
    assert.match(site.get().id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    for (const path of [
      '/v3/site',
      '/v3/site/',
      '/api/v3/site',
      `/v3/sites/${site.get().id}`,
      `/api/v3/sites/${site.get().id}/`,
    ])
      assert.deepEqual((await call('READONLY', 'GET', path)).body, { site: expected });
    for (const path of ['/v3/sites', '/v3/sites/', '/v3/users/me/sites', '/v3/sites/users/me/sites'])
      assert.deepEqual((await call('READONLY', 'GET', path)).body, { sites: [expected], total_count: 1 });
  });

  test('the site has the role of the caller', async (t) => {
    const { call } = startApi(t);
    for (const role of ['READONLY', 'USER', 'OWNER', 'INSTALLER'] as const) {
      const { body } = await call(role, 'GET', '/v3/site');
      assert.equal((body as { site: { authorized_role: string } }).site.authorized_role, role);
    }
  });

  test('the site tells every role what has changed since it asked before', async (t) => {
    const { call } = startApi(t);
    for (const name of ['Yard', 'Hall', 'Yard'])
      for (const role of ['OWNER', 'READONLY'] as const) {
        await call(role, 'GET', '/v3/site');
        await call('OWNER', 'PATCH', '/v3/site', { name: `${name} of ${role}` });
        const { body } = await call(role, 'GET', '/v3/site');
        assert.equal((body as { site: { name: string } }).site.name, `${name} of ${role}`);
      }
  });

  const changes: [title: string, before: unknown, body: unknown, expected: Record<string, unknown>][] = [
    ['keeps what is absent', {}, {}, {}],
    ['keeps what is null', {}, { name: null, timezone: null, location: null, _reset: null }, {}],
    [
      'takes name and time zone',
      {},
      { name: ' Yard ', timezone: 'europe/berlin' },
      { name: 'Yard', timezone: 'Europe/Berlin' },
    ],
    [
      'takes a location in parts, its name always a text',
      {},
      { location: { latitude: 52.5, longitude: null } },
      { location: { name: '', latitude: 52.5 } },
    ],
    [
      'takes numbers as text and gives them as numbers',
      {},
      { location: { name: 'Hall', latitude: '52.50', longitude: '-13' } },
      { location: { name: 'Hall', latitude: 52.5, longitude: -13 } },
    ],
    [
      'keeps parts of the location that are null',
      { location: { name: 'Hall', latitude: 1, longitude: 2 } },
      { location: { name: null, latitude: 0, longitude: null } },
      { location: { name: 'Hall', latitude: 0, longitude: 2 } },
    ],
    [
      'resets parts of the location',
      { location: { name: 'Hall', latitude: 1, longitude: 2 } },
      { _reset: ['location.name', 'location.longitude'] },
      { location: { name: '', latitude: 1 } },
    ],
    [
      'leaves the location out when all of it is reset',
      { location: { name: 'Hall', latitude: 1 } },
      { _reset: ['location.name', 'location.latitude', 'location.longitude'] },
      {},
    ],
    [
      'resets first and then sets',
      { location: { name: 'Hall', latitude: 1 } },
      { _reset: ['location.latitude', 'location.name'], location: { latitude: 3 } },
      { location: { name: '', latitude: 3 } },
    ],
    ['leaves out a location whose only part is an empty name', {}, { location: { name: ' ' } }, {}],
  ];
  for (const [title, before, body, expected] of changes)
    test(`the update of a site ${title}`, async (t) => {
      const { call, site } = startApi(t);
      assert.equal((await call('OWNER', 'PATCH', '/v3/site', before)).status, 200);
      const whole = {
        site: {
          id: site.get().id,
          name: 'Depot',
          timezone: 'UTC',
          version: 'V3',
          authorized_role: 'OWNER',
          archived: false,
          ...expected,
        },
      };
      const answer = await call('OWNER', 'PATCH', `/v3/sites/${site.get().id}`, body);
      assert.deepEqual([answer.status, answer.body], [200, whole]);
      assert.deepEqual((await call('OWNER', 'GET', '/v3/site')).body, whole);
    });

  test('the site reports a change once it is stored, and nothing when nothing changed', async (t) => {
    const { call, site } = startApi(t);
    const told: string[] = [];
    site.events.on('site_updated', 'test', ({ site: now, previous }) => {
      told.push(`${previous.timezone} → ${now.timezone}`);
    });
    await call('OWNER', 'PATCH', '/v3/site', { timezone: 'UTC' });
    assert.deepEqual(told, []);
    await call('OWNER', 'PATCH', '/v3/site', { timezone: 'Asia/Tokyo' });
    assert.deepEqual(told, ['UTC → Asia/Tokyo']);
  });
});

describe('the list of sites', () => {
  const listed = async (api: Api, query: string): Promise<[number, number]> => {
    const { body } = await api.call('READONLY', 'GET', `/v3/sites?${query}`);
    const { sites, total_count } = body as { sites: unknown[]; total_count: number };
    return [sites.length, total_count];
  };

  const rows: [query: string, active: [number, number], archived: [number, number]][] = [
    ['', [1, 1], [0, 0]],
    ['archived_state=', [1, 1], [0, 0]],
    ['archived_state=active', [1, 1], [0, 0]],
    ['archived_state=ARCHIVED', [0, 0], [1, 1]],
    ['archived_state=all', [1, 1], [1, 1]],
    ['archived_state=ALL&limit=0', [0, 1], [0, 1]],
    ['archived_state=ALL&limit=5000', [1, 1], [1, 1]],
    ['archived_state=ALL&offset=1', [0, 1], [0, 1]],
    ['archived_state=ALL&name.contains=EPO', [1, 1], [1, 1]],
    ['archived_state=ALL&name.contains=yard', [0, 0], [0, 0]],
    ['archived_state=ALL&name=undefined&unknown=1', [1, 1], [1, 1]],
  ];
  for (const [query, active, archived] of rows)
    test(`the list of sites has ${active[0]} active, ${archived[0]} archived with "${query}"`, async (t) => {
      const api = startApi(t);
      assert.deepEqual(await listed(api, query), active);
      api.site.setArchived(true);
      assert.deepEqual(await listed(api, query), archived);
    });
});

describe('archiving', () => {
  test('archiving only hides the site in lists, can be repeated and undone', async (t) => {
    const { call, site } = startApi(t);
    for (const path of ['/v3/site/archive', `/v3/sites/${site.get().id}/archive?skip_check_existence=true`]) {
      const answer = await call('OWNER', 'POST', path);
      assert.deepEqual([answer.status, answer.body], [200, {}]);
      const { body } = await call('READONLY', 'GET', '/v3/site');
      assert.equal((body as { site: { archived: boolean } }).site.archived, true);
    }
    assert.equal((await call('OWNER', 'PATCH', '/v3/site', { name: 'Still here' })).status, 200);
    assert.deepEqual((await call('OWNER', 'POST', '/v3/site/unarchive')).body, {});
    assert.equal(site.get().archived, false);
  });

  test('archiving and deleting pass over a site that is not here, when asked to', async (t) => {
    const { call, site } = startApi(t);
    for (const [method, path] of [
      ['DELETE', `/v3/sites/${OTHER}?skip_check_existence=true`],
      ['POST', `/v3/sites/${OTHER}/archive?skip_check_existence=1`],
    ] as const) {
      const answer = await call('OWNER', method, path);
      assert.deepEqual([answer.status, answer.body], [200, {}]);
    }
    assert.equal(site.get().archived, false);
  });
});
