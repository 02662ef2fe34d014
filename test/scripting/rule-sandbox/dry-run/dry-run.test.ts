/** A script on its way through a past period: what it is not given, what it meets, how it ends. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FROM_MS, HOUR_MS, tryDry } from '../../../support/dry-run.ts';
import { refused } from '../../../support/rule-run.ts';

const BATTERY = `local battery = enapter.device('battery')\n`;
/** One value a minute, which is the number of the minute. */
const MINUTES = Array.from({ length: 61 }, (_, minute) => [minute * 60, minute] as const);

describe('a dry run denies a script', () => {
  test('a dry run makes no HTTP requests: they are noted and fail', async () => {
    const { story, faults } = await tryDry(`
      local answer, message = http.get('http://127.0.0.1:1/${'x'.repeat(2_000)}')
      enapter.log(tostring(answer) .. ' ' .. message)`);
    const [request = '', ...others] = story();
    assert.match(request, /^0 http GET http:\/\/127\.0\.0\.1:1\/x+$/);
    assert.equal(Buffer.byteLength(request.slice('0 http GET '.length)), 1_024);
    assert.deepEqual(others, ['0 log nil no requests are sent in a dry run']);
    assert.deepEqual(faults, []);
  });

  test('a dry run has no devices, attributes and commands that do not exist', async () => {
    const { story } = await tryDry(`${BATTERY}
      enapter.log(select(2, enapter.device('nobody')))
      enapter.log(select(2, battery.telemetry.now('nothing')))
      enapter.log(select(2, battery.telemetry.on_update('nothing', function() end)))
      enapter.log(select(2, battery.execute_command('explode', { now = true })))`);
    assert.deepEqual(story(), [
      '0 log device "nobody" not found',
      '0 log unknown telemetry attribute "nothing"',
      '0 log unknown telemetry attribute "nothing"',
      '0 command explode {"now":true} no command "explode"',
      '0 log no command "explode"',
    ]);
  });

  test('a dry run refuses more attributes than it may hold', async () => {
    const recorded = { soc: MINUTES, power: MINUTES };
    const { story } = await tryDry(
      `${BATTERY} battery.telemetry.now('soc')
       enapter.log(select(2, battery.telemetry.now('power')))`,
      { recorded, limits: { attributes: 1 } },
    );
    assert.deepEqual(story(), ['0 log a dry run reads at most 1 attributes']);
  });

  test('a dry run refuses a scratch storage larger than the real one may be', async () => {
    const { story } = await tryDry(`
      for index = 1, 17 do
        local message = storage.write('key' .. index, string.rep('x', 65000))
        if message then enapter.log(index .. ' ' .. message) end
      end`);
    assert.equal(story().at(-1), '0 log 17 the store holds at most 1048576 bytes');
  });

  test('a dry run fails a question as a live rule would when the gateway cannot answer', async () => {
    const { story } = await tryDry(`${BATTERY} enapter.log(select(2, battery.telemetry.now('soc')))`, {
      answers: { samples: () => refused('Too many time series queries are waiting.') },
    });
    assert.deepEqual(story(), ['0 log Too many time series queries are waiting.']);
  });
});

describe('telemetry in a dry run', () => {
  test('telemetry in a dry run is what it was at the instant, and none when too old', async () => {
    const { story } = await tryDry(
      `${BATTERY}
       scheduler.add(90000, function()
         enapter.log(tostring(battery.telemetry.now('soc')) .. ' ' .. battery.telemetry.now('soc', '1m'))
       end)`,
      { recorded: { soc: MINUTES }, period: { toMs: FROM_MS + 360_000 } },
    );
    assert.deepEqual(story(), ['1.5 log 1 1', '3 log 3 3', '4.5 log 4 4', '6 log 6 6']);
    const { story: later } = await tryDry(
      `${BATTERY} scheduler.add(45000, function() enapter.log(select(2, battery.telemetry.now('soc'))) end)`,
      { recorded: { soc: [[0, 1]] }, period: { toMs: FROM_MS + 50_000 } },
    );
    assert.deepEqual(later(), ['0.75 log no recent value of "soc"']);
  });

  test('telemetry in a dry run has what was measured before the period', async () => {
    const { story } = await tryDry(`${BATTERY} enapter.log(battery.telemetry.now('soc', '1h'))`, {
      recorded: { soc: [[-1_800, 7]] },
    });
    assert.deepEqual(story(), ['0 log 7']);
  });

  for (const pieceSamples of [1, 7, 1_000])
    test(`telemetry in a dry run arrives at waiting functions, each value once, in pieces of ${pieceSamples}`, async () => {
      const { story, report } = await tryDry(
        `${BATTERY}
         battery.telemetry.on_update('soc', function(soc, at)
           assert(at == os.time())
           if soc % 20 == 0 then enapter.log(soc) end
         end)`,
        { recorded: { soc: MINUTES }, pieceSamples },
      );
      // The value of the first instant is not news to a rule that starts then.
      assert.deepEqual(story(), ['20 log 20', '40 log 40', '60 log 60']);
      assert.equal(report.end, 'period_ended');
    });

  test('telemetry in a dry run stops after the job was removed', async () => {
    const { story } = await tryDry(
      `${BATTERY}
       local id
       id = battery.telemetry.on_update('soc', function(soc)
         enapter.log(soc)
         if soc == 2 then scheduler.remove(id) end
       end)
       scheduler.add(3000000, function() end)`,
      { recorded: { soc: MINUTES } },
    );
    assert.deepEqual(story(), ['1 log 1', '2 log 2']);
  });

  test('telemetry in a dry run arrives in the order of time for two attributes', async () => {
    const { story } = await tryDry(
      `${BATTERY}
       for _, name in ipairs({ 'a', 'b' }) do
         battery.telemetry.on_update(name, function(value) enapter.log(name .. value) end)
       end`,
      {
        recorded: {
          a: [
            [60, 1],
            [180, 3],
          ],
          b: [
            [120, 2],
            [180, 4],
          ],
        },
      },
    );
    assert.deepEqual(story(), ['1 log a1', '2 log b2', '3 log a3', '3 log b4']);
  });

  test('telemetry in a dry run is averaged over the window that ends at the instant', async () => {
    const { asked } = await tryDry(
      `${BATTERY} scheduler.add(600000, function() battery.telemetry.avg('soc', '5m') end)`,
      { period: { toMs: FROM_MS + 600_000 } },
    );
    assert.deepEqual(
      asked.flatMap(({ method, parameters }) => (method === 'aggregate_at' ? [parameters] : [])),
      [{ deviceId: 'd-1', name: 'soc', kind: 'avg', windowMs: 300_000, endMs: FROM_MS + 600_000 }],
    );
  });
});

describe('a script in a dry run', () => {
  test('a script in a dry run has a clock and a calendar of the period, in the zone of the site', async () => {
    const { story } = await tryDry(
      `enapter.log(os.date('%Y-%m-%d %H:%M'))
       scheduler.add_cron('30 1 * * *', function() enapter.log(os.date('%H:%M')) end)`,
      { site: { timeZone: 'Europe/Berlin' } },
    );
    assert.deepEqual(story(), ['0 log 2026-03-01 01:00', '30 log 01:30']);
  });

  test('a script in a dry run waits in virtual time', async () => {
    const { story, report } = await tryDry(`
      for _ = 1, 3 do system.delay(600000) enapter.log(system.uptime()) end`);
    assert.deepEqual(story(), ['10 log 600', '20 log 1200', '30 log 1800']);
    assert.deepEqual([report.end, report.endedAtMs - FROM_MS], ['finished', 1_800_000]);
  });

  test('a script in a dry run sends no command: each is noted and counts as done', async () => {
    const { story, asked } = await tryDry(`${BATTERY}
      local payload, message = battery.execute_command('charge', { limit_w = 100 })
      enapter.log(inspect(payload) .. ' ' .. tostring(message))`);
    assert.deepEqual(story(), ['0 command charge {"limit_w":100}', '0 log {} nil']);
    assert.deepEqual(
      asked.filter(({ method }) => method === 'check_command').map(({ parameters }) => parameters),
      [{ deviceId: 'd-1', name: 'charge', arguments: { limit_w: 100 } }],
    );
  });

  test('a script in a dry run writes to a copy of the storage', async () => {
    const { story, asked } = await tryDry(
      `storage.write('count', storage.read('count') + 1)
       storage.write('count', storage.read('count'))
       storage.shared.write('long', string.rep('x', 3000))
       storage.remove('count')
       storage.remove('count')
       enapter.log(tostring(storage.read('count')))`,
      {
        answers: {
          storage_read: ({ store }: { store: string }) => ({
            ok: true,
            result: store === 'rule' ? '4' : null,
          }),
        },
      },
    );
    const [write, long = '', ...others] = story();
    assert.equal(write, '0 storage rule/count 5');
    assert.equal(long.length, '0 storage shared/long '.length + 1_024);
    assert.deepEqual(others, ['0 storage rule/count removed', '0 log nil']);
    assert.deepEqual(new Set(asked.map(({ method }) => method)), new Set(['storage_read']));
  });

  test('a script in a dry run finds every device ONLINE, as connectivity is not recorded', async () => {
    const { story } = await tryDry(`${BATTERY}
      enapter.log(tostring(battery.online()))
      enapter.log(tostring(battery.on_online_changed(function() end) ~= nil))`);
    assert.deepEqual(story(), ['0 log true', '0 log true']);
  });

  test('a script in a dry run requests facts of a device once', async () => {
    const { asked } = await tryDry(
      `scheduler.add(60000, function() enapter.device('battery').implements() end)`,
    );
    assert.deepEqual(
      asked.map(({ method }) => method),
      ['find_device', 'device_profiles'],
    );
  });

  test('a script in a dry run starts from the top every interval in runtime V1', async () => {
    const { story } = await tryDry(
      `local count = (storage.namespaced.read('count') or 0) + 1
       storage.namespaced.write('count', count)
       if count % 20 == 0 then enapter.log(count) end`,
      { rule: { runtimeVersion: 'V1', execIntervalMs: 60_000 } },
    );
    assert.deepEqual(
      story().filter((line) => line.includes('log')),
      ['19 log 20', '39 log 40', '59 log 60'],
    );
  });

  test('a script in a dry run gives the same every time', async () => {
    const code = `for _ = 1, 5 do enapter.log(math.random(1000)) end`;
    assert.deepEqual((await tryDry(code)).story(), (await tryDry(code)).story());
  });
});

describe('a dry run', () => {
  test('a dry run fails at once when its script does not compile', async () => {
    const { report, story } = await tryDry('x =');
    assert.equal(report.end, 'failed');
    assert.match(story().join(), /^0 error main\.lua:1: unexpected symbol/);
  });

  test('a dry run starts its script again after growing pauses when it fails', async () => {
    const { report, story } = await tryDry(`error('no')`, { period: { toMs: FROM_MS + 60_000 } });
    const seconds = story().map((line) =>
      line.replace(/^([\d.]+)/, (minute) => String(Math.round(Number(minute) * 60))),
    );
    assert.deepEqual(seconds, [
      '0 error main.lua:1: no',
      '0 restart after 10000',
      '10 error main.lua:1: no',
      '10 restart after 20000',
      '30 error main.lua:1: no',
      '30 restart after 40000',
    ]);
    assert.deepEqual([report.end, report.counts], ['period_ended', { error: 3, restart: 3 }]);
  });

  test('a dry run counts the processor time of the script, not that of others on the machine', async () => {
    const busy = `for i = 1, 3e7 do end enapter.log('done')`;
    const { story } = await tryDry(busy, { turnMs: 50, processorMs: () => 0 });
    assert.deepEqual(story(), ['0 log done']);
  });

  test('a dry run ends when the script has nothing left to do', async () => {
    const { report } = await tryDry(`enapter.log('done')`);
    assert.deepEqual(report, { end: 'finished', endedAtMs: FROM_MS, counts: { log: 1 } });
  });

  test('a dry run ends with the period, its last instant included', async () => {
    const { report, story } = await tryDry(
      `scheduler.add(${HOUR_MS / 2}, function() enapter.log('half') end)`,
    );
    assert.deepEqual(story(), ['30 log half', '60 log half']);
    assert.deepEqual([report.end, report.endedAtMs], ['period_ended', FROM_MS + HOUR_MS]);
  });

  test('a dry run ends after a bounded number of steps, and says how far it came', async () => {
    const { report, story } = await tryDry(`scheduler.add(60000, function() enapter.log('step') end)`, {
      limits: { steps: 3 },
    });
    assert.equal(story().length, 3);
    assert.deepEqual(
      [report.end, report.limit, report.endedAtMs],
      ['limit_reached', 'steps', FROM_MS + 180_000],
    );
  });

  test('a dry run ends when its time is over', async () => {
    const { report } = await tryDry(
      `while true do pcall(function() while true do end end) system.delay(1) end`,
      {
        limits: { durationMs: 1 },
      },
    );
    assert.deepEqual([report.end, report.limit], ['limit_reached', 'time']);
  });

  test('a dry run lists a bounded number of entries of a kind, and counts the others', async () => {
    const { report, story } = await tryDry(
      `scheduler.add(600000, function() enapter.log('a') storage.write('at', os.time()) end)`,
      { limits: { entriesOfKind: 2 } },
    );
    assert.deepEqual(
      story().map((line) => line.split(' ')[1]),
      ['log', 'storage', 'log', 'storage'],
    );
    assert.deepEqual(report.counts, { log: 6, storage: 6 });
  });

  test('a dry run lists entries up to a bounded number of bytes', async () => {
    const { report, entries } = await tryDry(`for _ = 1, 10 do enapter.log(string.rep('x', 1000)) end`, {
      limits: { entriesBytes: 3_500 },
    });
    assert.deepEqual([entries.length, report.counts], [3, { log: 10 }]);
  });

  test('a dry run keeps to the limits of a live rule: log entries per second', async () => {
    const { report, story } = await tryDry(`for _ = 1, 60 do enapter.log('a') end system.delay(5000)`);
    assert.equal(report.counts.log, 51);
    assert.match(story().at(-1) ?? '', /log 10 log entries were dropped/);
  });
});
