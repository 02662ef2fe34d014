/** Pages of executions: filters, order, counts, and what a role must not see. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Device } from '../../../src/capabilities/devices/index.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import type { Role } from '../../../src/lib/role.ts';
import { type Bench, startBench } from './support.ts';

const DEFAULTS = { retention: 'PERSISTENT', descending: false, limit: 50, offset: 0 } as const;
const COMMANDS = {
  ping: { aliases: ['probe'] },
  audit: { read_access_level: 'installer' },
};

interface Filled {
  bench: Bench;
  first: Device;
  second: Device;
  /** Ids by what they are. */
  made: Record<'alias' | 'failed' | 'ephemeral' | 'other' | 'audit', string>;
}

/** Five executions, one second apart, over two devices. */
async function filled(t: Parameters<typeof startBench>[0]): Promise<Filled> {
  const bench = await startBench(t);
  const [first, second] = [bench.addDevice({ commands: COMMANDS }), bench.addDevice({ commands: COMMANDS })];
  const make = async (device: Device, name: string, state: string, ephemeral = false): Promise<string> => {
    const running = await bench.run(device, name, { ephemeral });
    await bench.answer(device, running, state);
    return running.id;
  };
  const made = {
    alias: await make(first, 'probe', 'completed'),
    failed: await make(first, 'ping', 'error'),
    ephemeral: await make(first, 'ping', 'completed', true),
    other: await make(second, 'ping', 'completed'),
    audit: await make(second, 'audit', 'completed'),
  };
  return { bench, first, second, made };
}

describe('what a role must not see', () => {
  test('what a role must not see is left out of pages and counts', async (t) => {
    const { bench, second, made } = await filled(t);
    const page = bench.commands.list({ ...DEFAULTS, deviceIds: [second.id] }, 'OWNER');
    assert.deepEqual(page, { ids: [made.other], totalCount: 1 });
    const all = bench.commands.list({ ...DEFAULTS, deviceIds: [second.id] }, 'INSTALLER');
    assert.deepEqual(all, { ids: [made.other, made.audit], totalCount: 2 });
    assert.equal(bench.commands.list(DEFAULTS, 'READONLY').totalCount, 3);
  });

  test('what a role must not see is refused by id', async (t) => {
    const { bench, second, made } = await filled(t);
    assert.throws(
      () => bench.commands.get(second, made.audit, 'OWNER'),
      (error) => error instanceof GatewayError && error.code === 'insufficient_role',
    );
    assert.equal(bench.commands.get(second, made.audit, 'INSTALLER').id, made.audit);
  });

  test('what a role must not see stays hidden when another blueprint does not know the command, or lets more people see it', async (t) => {
    const { bench, second, made } = await filled(t);
    const manifest = bench.devices.manifest(second);
    const { audit, ...others } = manifest.commands;
    assert.ok(audit);
    const open = { ...audit, read_access_level: 'readonly' };
    for (const commands of [others, { ...others, audit: open }]) {
      bench.assignManifest(second, { ...manifest, commands });
      const execution = bench.stored({ id: made.audit }) ?? assert.fail();
      for (const [role, isSeen] of [
        ['OWNER', false],
        ['INSTALLER', true],
      ] as const) {
        const { ids } = bench.commands.list({ ...DEFAULTS, deviceIds: [second.id] }, role);
        assert.deepEqual(ids, isSeen ? [made.other, made.audit] : [made.other], role);
        assert.equal(bench.commands.maySee(second, execution, role), isSeen, role);
        const get = () => bench.commands.get(second, made.audit, role);
        if (isSeen) get();
        else assert.throws(get, (error) => (error as GatewayError).code === 'insufficient_role');
      }
    }
  });

  test('what a role must not see is what another blueprint guards, too', async (t) => {
    const { bench, second, made } = await filled(t);
    const manifest = bench.devices.manifest(second);
    const { ping, ...others } = manifest.commands;
    assert.ok(ping);
    const commands = { ...others, ping: { ...ping, read_access_level: 'owner' } };
    bench.assignManifest(second, { ...manifest, commands });
    assert.deepEqual(bench.commands.list({ ...DEFAULTS, deviceIds: [second.id] }, 'USER').ids, []);
    assert.throws(() => bench.commands.get(second, made.other, 'USER'));
  });

  test('a list leaves out executions of another device and unknown ids', async (t) => {
    const { bench, second, made } = await filled(t);
    for (const id of [made.alias, 'nothing', '']) {
      assert.throws(
        () => bench.commands.get(second, id, 'SYSTEM'),
        (error) => error instanceof GatewayError && error.code === 'execution_not_found',
      );
    }
  });
});

describe('a page', () => {
  const rows: [title: string, query: (filled: Filled) => object, expected: (keyof Filled['made'])[]][] = [
    ['holds persistent ones by default, oldest first', () => ({}), ['alias', 'failed', 'other', 'audit']],
    ['of ephemeral ones', () => ({ retention: 'EPHEMERAL' }), ['ephemeral']],
    ['of all', () => ({ retention: 'ALL' }), ['alias', 'failed', 'ephemeral', 'other', 'audit']],
    [
      'newest first',
      () => ({ retention: 'ALL', descending: true }),
      ['audit', 'other', 'ephemeral', 'failed', 'alias'],
    ],
    ['of one device', ({ first }) => ({ deviceIds: [first.id] }), ['alias', 'failed']],
    [
      'of several devices',
      ({ first, second }) => ({ deviceIds: [first.id, second.id] }),
      ['alias', 'failed', 'other', 'audit'],
    ],
    ['of no device', () => ({ deviceIds: [] }), []],
    ['of states', () => ({ states: ['ERROR', 'TIMEOUT'] }), ['failed']],
    ['of a state that a gateway never has', () => ({ states: ['UNSYNC'] }), []],
    ['of a name as requested', () => ({ names: ['probe'] }), ['alias']],
    ['of a name as in the manifest', () => ({ names: ['ping'] }), ['alias', 'failed', 'other']],
    ['of several names', () => ({ names: ['audit', 'probe'] }), ['alias', 'audit']],
    [
      'from an instant on, up to another, which is excluded',
      ({ bench, made }) => ({
        createdFromMs: bench.stored({ id: made.failed })?.createdAtMs,
        createdBeforeMs: bench.stored({ id: made.audit })?.createdAtMs,
      }),
      ['failed', 'other'],
    ],
    [
      'of everything at once',
      ({ second }) => ({ deviceIds: [second.id], states: ['SUCCESS'], names: ['ping'], retention: 'ALL' }),
      ['other'],
    ],
  ];
  for (const [title, query, expected] of rows)
    test(title, async (t) => {
      const context = await filled(t);
      const { ids, totalCount } = context.bench.commands.list({ ...DEFAULTS, ...query(context) }, 'SYSTEM');
      assert.deepEqual(
        ids,
        expected.map((name) => context.made[name]),
      );
      assert.equal(totalCount, expected.length);
    });

  test('a page counts all executions while limit and offset cut it', async (t) => {
    const { bench, made } = await filled(t);
    const page = (limit: number, offset: number) =>
      bench.commands.list({ ...DEFAULTS, limit, offset }, 'SYSTEM');
    assert.deepEqual(page(2, 1), { ids: [made.failed, made.other], totalCount: 4 });
    assert.deepEqual(page(0, 0), { ids: [], totalCount: 4 });
    assert.deepEqual(page(50, 99), { ids: [], totalCount: 4 });
  });

  test('a page orders executions of one moment by id', async (t) => {
    const { bench } = await filled(t);
    bench.state.prepare('UPDATE execution SET created_at_ms = 1').run();
    const { ids } = bench.commands.list({ ...DEFAULTS, retention: 'ALL' }, 'SYSTEM');
    assert.deepEqual(ids, ids.toSorted());
  });

  test('a page is read from an index without sorting the table', async (t) => {
    const { bench, first, second } = await filled(t);
    const filters = [
      {},
      { retention: 'ALL' as const },
      { deviceIds: [first.id], retention: 'ALL' as const },
      { deviceIds: [first.id, second.id], states: ['SUCCESS' as const], names: ['ping'] },
    ];
    for (const filter of filters) {
      const plan = queryPlan(bench, { ...DEFAULTS, ...filter });
      assert.ok(!plan.some((line) => line.includes('TEMP B-TREE')), plan.join('\n'));
      assert.ok(!plan.some((line) => /SCAN execution\b/.test(line)), plan.join('\n'));
    }
  });
});

describe('what must not be seen', () => {
  test('hidden executions are looked up by their index, and only where there are any', async (t) => {
    const { bench } = await filled(t);
    const looks = () =>
      queryPlan(bench, DEFAULTS, 'READONLY').filter((line) => line.includes('execution_guarded'));
    assert.deepEqual(looks(), ['SCAN execution USING COVERING INDEX execution_guarded']);
    bench.state.prepare(`UPDATE execution SET read_role = 'READONLY'`).run();
    assert.deepEqual(looks(), []);
    assert.equal(bench.commands.list(DEFAULTS, 'READONLY').totalCount, 3);
  });
});

/** The plan of the page statement, caught where the store prepares it. */
function queryPlan(
  bench: Bench,
  query: Parameters<Bench['commands']['list']>[0],
  role: Role = 'SYSTEM',
): string[] {
  const { $client: handle } = bench.state.orm;
  const prepare = handle.prepare.bind(handle);
  const plans: string[] = [];
  handle.prepare = ((sql: string) => {
    const statement = prepare(sql);
    if (sql.includes(' limit ?')) {
      const explain = prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`);
      // The plan does not depend on the values, but JSON lists must be some; the last two are limit and offset.
      const values = Array.from({ length: sql.split('?').length - 3 }, () => '[]');
      plans.push(...explain.all([...values, '1', '0']).map(({ detail }) => detail));
    }
    return statement;
  }) as typeof handle.prepare;
  bench.commands.list(query, role);
  handle.prepare = prepare;
  assert.ok(plans.length > 0);
  return plans;
}
