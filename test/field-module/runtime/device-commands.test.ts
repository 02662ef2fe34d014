import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { settle, TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { closeBenches, scriptBench } from './script-bench.ts';

after(closeBenches);

const LATE = 'it has waited too long for what ran before it';

describe('a command of a device script', () => {
  const SOURCE = `
    enapter.register_command_handler('table', function(ctx, args) return { echo = args.value, none = args.none } end)
    enapter.register_command_handler('nothing', function() end)
    enapter.register_command_handler('number', function() return 5 end)
    enapter.register_command_handler('list', function() return { 1, 2 } end)
    enapter.register_command_handler('empty', function() return {} end)
    enapter.register_command_handler('refuse', function(ctx) ctx.error('too hot') enapter.log('still there') end)
    enapter.register_command_handler('stubborn', function(ctx) pcall(ctx.error, 'too hot') return { fine = true } end)
    enapter.register_command_handler('raise', function() error('boom') end)
    enapter.register_command_handler('steps', function(ctx) ctx.log('one') system.delay(5) ctx.log('two') return {} end)
    enapter.register_command_handler('replaced', function() return { version = 1 } end)
    enapter.register_command_handler('replaced', function() return { version = 2 } end)`;

  for (const [name, args, responses] of [
    ['missing', {}, [{ state: 'error', payload: { message: 'command handler not implemented' } }]],
    ['refuse', {}, [{ state: 'error', payload: { message: 'too hot' } }]],
    ['stubborn', {}, [{ state: 'error', payload: { message: 'too hot' } }]],
    ['raise', {}, [{ state: 'error', payload: { message: 'boom' } }]],
    ['table', { value: 7 }, [{ state: 'completed', payload: { echo: 7 } }]],
    ['nothing', {}, [{ state: 'completed', payload: {} }]],
    ['number', {}, [{ state: 'completed', payload: { result: 5 } }]],
    ['list', {}, [{ state: 'completed', payload: { result: [1, 2] } }]],
    ['empty', {}, [{ state: 'completed', payload: {} }]],
    ['replaced', {}, [{ state: 'completed', payload: { version: 2 } }]],
    [
      'steps',
      {},
      [
        { state: 'log', payload: { message: 'one' } },
        { state: 'log', payload: { message: 'two' } },
        { state: 'completed', payload: {} },
      ],
    ],
  ] as const)
    test(`a command of a device script is answered so when it does "${name}"`, async () => {
      const bench = scriptBench(SOURCE);
      await bench.started();
      assert.deepEqual(await bench.command(name, args), responses);
      // A raised error is the script's fault and logged; a refusal is not.
      assert.equal(bench.logs().length, name === 'raise' ? 1 : 0);
    });

  test('a command of a device script is not answered again by a context that was kept', async () => {
    const bench = scriptBench(`
      enapter.register_command_handler('keep', function(ctx) kept = ctx end)
      enapter.register_command_handler('use', function() kept.log('late') pcall(kept.error, 'late') end)`);
    await bench.started();
    const completed = [{ state: 'completed', payload: {} }];
    assert.deepEqual(await bench.command('keep'), completed);
    assert.deepEqual(await bench.command('use'), completed);
    assert.equal(bench.posted.filter(({ kind }) => kind === 'response').length, 2);
  });

  test('a command of a device script waits for the one before it', async () => {
    const bench = scriptBench(`
      enapter.register_command_handler('slow', function(ctx, args)
        enapter.log('begin ' .. args.n) system.delay(20) enapter.log('end ' .. args.n)
      end)`);
    await bench.started();
    await Promise.all([bench.command('slow', { n: 1 }), bench.command('slow', { n: 2 })]);
    assert.deepEqual(bench.logs(), ['info: begin 1', 'info: end 1', 'info: begin 2', 'info: end 2']);
  });

  test('a command of a device script waits for the entry, which may register its handler late', async () => {
    const bench = scriptBench(`function enapter.main()
      system.delay(20)
      enapter.register_command_handler('late', function() return { here = true } end)
    end`);
    assert.deepEqual(await bench.command('late'), [{ state: 'completed', payload: { here: true } }]);
    const broken = scriptBench("system.delay(20) error('boom')");
    assert.deepEqual(await broken.command('late'), [
      { state: 'error', payload: { message: 'script is not running' } },
    ]);
  });

  test('a command of a device script is answered beside an entry that loops for ever with waits, which nothing ends', async () => {
    const time = new TestClock();
    const bench = scriptBench(
      `local rounds = 0
      enapter.register_command_handler('rounds', function() return { many = rounds > 3 } end)
      while true do rounds = rounds + 1 system.delay(4000) end`,
      { clock: time },
    );
    for (let second = 0; second < 60; second++) {
      await time.advance(1_000);
      await settle();
    }
    await bench.started();
    assert.deepEqual(await bench.command('rounds'), [{ state: 'completed', payload: { many: true } }]);
    assert.deepEqual(
      bench.posted.filter(({ kind }) => kind !== 'response'),
      [{ kind: 'running' }],
    );
  });

  test('a command of a device script is not begun after a wait so long that its caller would miss its end', async () => {
    const time = new TestClock();
    const bench = scriptBench(
      `enapter.register_command_handler('slow', function() enapter.log('begun') system.delay(5000) end)`,
      { clock: time },
    );
    await bench.started();
    let isOver = false;
    const all = Promise.all(Array.from({ length: 12 }, () => bench.command('slow')));
    void all.then(() => (isOver = true));
    await until(async () => {
      await time.advance(1_000);
      return isOver;
    });
    const states = (await all).map(([response]) => response?.['state']);
    assert.equal(states[0], 'completed');
    assert.equal(states.at(-1), 'error');
    assert.equal(bench.logs().length, states.filter((state) => state === 'completed').length);
  });

  test('a command of a device script waits no longer than its gateway allows', async () => {
    const time = new TestClock();
    const bench = scriptBench(
      `enapter.register_command_handler('slow', function() enapter.log('begun') system.delay(5000) end)`,
      { clock: time },
    );
    bench.surroundings.commandMs = 14_000;
    await bench.started();
    let isOver = false;
    const all = Promise.all(Array.from({ length: 3 }, () => bench.command('slow')));
    void all.then(() => (isOver = true));
    await until(async () => {
      await time.advance(1_000);
      return isOver;
    });
    assert.deepEqual((await all).at(-1), [{ state: 'error', payload: { message: LATE } }]);
  });

  test('a command of a device script is not begun in the older generation when jobs before it have kept it too long', async () => {
    const time = new TestClock();
    const bench = scriptBench(
      `enapter.register_command_handler('late', function() enapter.log('begun') end)
      for _ = 1, 2 do scheduler.add(1000, function() system.delay(20000) end) end`,
      { clock: time, facts: { api: 'v1' } },
    );
    await bench.started();
    await time.advance(1_000);
    let isOver = false;
    const late = bench.command('late').finally(() => (isOver = true));
    await until(async () => {
      await time.advance(1_000);
      return isOver;
    });
    assert.deepEqual(await late, [{ state: 'error', payload: { message: LATE } }]);
    assert.deepEqual(bench.logs(), []);
  });

  test('a command of a device script is refused when too many wait, and when the script ends', async () => {
    const bench = scriptBench("enapter.register_command_handler('slow', function() system.delay(100) end)", {
      limits: { commandsWaiting: 1 },
    });
    await bench.started();
    void bench.command('slow');
    const waiting = bench.command('slow');
    assert.deepEqual(await bench.command('slow'), [
      { state: 'error', payload: { message: 'too many commands are waiting' } },
    ]);
    bench.device.close();
    assert.deepEqual(await waiting, [{ state: 'error', payload: { message: 'script is not running' } }]);
  });
});
