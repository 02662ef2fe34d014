/** Lists of executions over HTTP (docs/interface/http.md#commands). */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import type { Running } from '../../src/capabilities/commands/index.ts';
import type { Device } from '../../src/capabilities/devices/index.ts';
import { COMMANDS, startCommands as start } from './support.ts';

describe('lists', () => {
  interface Listed {
    executions: { id: string; log?: unknown[] }[];
    total_count: number;
  }

  /** Three devices; executions a…e, a second apart. */
  async function filled(t: TestContext) {
    const context = await start(t);
    const { bench, device } = context;
    const lua = bench.addDevice({
      slug: 'pump',
      type: 'LUA',
      communication: { type: 'UCM_LUA', upstreamId: device.id },
      commands: COMMANDS,
      profiles: ['energy.battery', 'lib.pump'],
    });
    const run = async (target: Device, name: string, word: string, ephemeral = false): Promise<string> => {
      const running: Running = await bench.run(target, name, { ephemeral });
      await bench.answer(target, running, word);
      return running.id;
    };
    const a = await run(device, 'ping', 'completed');
    const b = await run(device, 'probe', 'error');
    const c = await run(device, 'ping', 'completed', true);
    const d = await run(lua, 'look', 'completed');
    const e = await run(lua, 'ping', 'error', true);
    const names = new Map([
      [a, 'a'],
      [b, 'b'],
      [c, 'c'],
      [d, 'd'],
      [e, 'e'],
    ]);
    const list = async (path: string): Promise<string> => {
      const { status, body } = await context.ask('READONLY', 'GET', path);
      assert.equal(status, 200);
      const { executions, total_count } = body as Listed;
      return `${executions.map(({ id }) => names.get(id)).join('')} of ${total_count}`;
    };
    return { ...context, lua, list, ids: { a, b, c, d, e } };
  }

  const rows: [query: string, expected: string][] = [
    ['', 'ab of 2'],
    ['?retention=PERSISTENT', 'ab of 2'],
    ['?retention=ephemeral', 'c of 1'],
    ['?retention=ALL', 'abc of 3'],
    ['?expand=ephemeral', 'abc of 3'],
    ['?expand=ephemeral&retention=PERSISTENT', 'ab of 2'],
    ['?order=CREATED_AT_DESC', 'ba of 2'],
    ['?limit=1&offset=1', 'b of 2'],
    ['?offset=2', ' of 2'],
    ['?limit=0', ' of 2'],
    ['?limit=5000', 'ab of 2'],
    ['?state.in=ERROR,TIMEOUT', 'b of 1'],
    ['?state.in=unsync', ' of 0'],
    ['?name.in=ping', 'ab of 2'],
    ['?name.in=probe', 'b of 1'],
    ['?name.in=nothing', ' of 0'],
    ['?created_at.gte=2026-03-01T08:00:01', 'b of 1'],
    ['?created_at.lt=2026-03-01T09:00:01%2B01:00', 'a of 1'],
    ['?device_id.in=nobody', 'ab of 2'],
  ];
  for (const [query, expected] of rows)
    test(`a list of executions gives ${expected} for a device with ${query || 'nothing'}`, async (t) => {
      const { list } = await filled(t);
      assert.equal(await list(`/v3/devices/battery/commands/executions${query}`), expected);
    });

  const siteRows: [query: string, expected: string][] = [
    ['', 'abd of 3'],
    ['retention=ALL', 'abcde of 5'],
    ['retention=ALL&order=CREATED_AT_DESC&limit=2', 'ed of 5'],
    ['retention=ALL&device_id.in=pump', 'de of 2'],
    ['retention=ALL&device_id.in=pump,battery', 'abcde of 5'],
    ['retention=ALL&device.profiles.has_all=energy.battery', 'abcde of 5'],
    ['retention=ALL&device.profiles.has_all=energy.battery,lib.pump', 'de of 2'],
    ['retention=ALL&device.child_type.in=LUA,NATIVE', 'de of 2'],
    ['retention=ALL&device.child_type.in=standalone', 'abc of 3'],
    ['retention=ALL&device.parent_id.in=battery', 'de of 2'],
    ['retention=ALL&device.parent_id.in=pump', ' of 0'],
    ['retention=ALL&device.child_type.in=LUA&name.in=ping&state.in=ERROR', 'e of 1'],
  ];
  for (const [query, expected] of siteRows)
    test(`a list of executions gives ${expected} for the site with ${query || 'nothing'}`, async (t) => {
      const { list } = await filled(t);
      assert.equal(await list(`/v3/site/commands/executions?${query}`), expected);
    });

  test('a list of executions of the site takes a device id as well as a slug', async (t) => {
    const { list, lua } = await filled(t);
    assert.equal(await list(`/v3/site/commands/executions?retention=ALL&device_id.in=${lua.id}`), 'de of 2');
  });

  test('a list has the whole execution as an item, and its log on demand', async (t) => {
    const { ask, ids, device } = await filled(t);
    const path = '/v3/devices/battery/commands/executions?limit=1';
    const second = (text: string) => `2026-03-01T08:00:${text}Z`;
    const item = {
      id: ids.a,
      device_id: device.id,
      state: 'SUCCESS',
      ephemeral: false,
      created_at: second('00.000'),
      request: { name: 'ping', arguments: {}, manifest_name: 'ping' },
      response: { state: 'SUCCEEDED', payload: {}, received_at: second('00.000') },
    };
    const plain = await ask('READONLY', 'GET', path);
    assert.deepEqual(plain.body, { executions: [item], total_count: 2 });
    assert.equal(plain.headers.get('content-type'), 'application/json');
    const log = [item.response, { state: 'STARTED', payload: {}, received_at: second('00.000') }];
    for (const expand of ['expand=log', 'expand=log,log', 'expand=&expand=log', 'expand=%20log%20'])
      assert.deepEqual((await ask('READONLY', 'GET', `${path}&${expand}`)).body, {
        executions: [{ ...item, log }],
        total_count: 2,
      });
  });

  test('pages of a thousand executions have no gap and no repeat', async (t) => {
    const { ask, bench, device } = await start(t);
    const insert = bench.state.prepare(`
      INSERT INTO execution (id, device_id, state, ephemeral, created_at_ms, requested_name, manifest_name,
                             arguments, origin, read_role)
      VALUES (?, ?, 'SUCCESS', 0, ?, 'ping', 'ping', '{}', '{}', 'READONLY')`);
    bench.state.transaction(() => {
      for (let i = 0; i < 1_234; i++) insert.run(`id-${i}`, device.id, Math.floor(i / 10));
    });
    const seen = new Set<string>();
    for (let offset = 0; ;) {
      const { body } = await ask('OWNER', 'GET', `/v3/site/commands/executions?limit=1000&offset=${offset}`);
      const { executions, total_count } = body as Listed;
      assert.equal(total_count, 1_234);
      if (executions.length === 0) break;
      for (const { id } of executions) seen.add(id);
      offset += executions.length;
      assert.equal(seen.size, offset);
    }
    assert.equal(seen.size, 1_234);
  });
});
