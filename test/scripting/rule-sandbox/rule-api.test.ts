/** What a rule may call, and what it gets back: docs/interface/lua-rules.md, row by row. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { answers, BATTERY, ok, prints, refused, startRule } from '../../support/rule-run.ts';
import { TestClock } from '../../support/test-clock.ts';

describe('devices of a rule', () => {
  test('an unknown device is nil and a text', async () => {
    assert.deepEqual(await prints('print(enapter.device("x"))'), ['nil\tdevice "x" not found']);
  });

  test('wrong argument types raise', async () => {
    assert.deepEqual(
      await prints('print(pcall(enapter.device))\nprint(pcall(enapter.device("battery").property, 1))'),
      [
        "false\tbad argument #1 to 'device' (string expected, got nil)",
        "false\tbad argument #1 to 'property' (string expected, got number)",
      ],
    );
  });

  test('a device is found by id and slug, and has its facts', async () => {
    assert.deepEqual(
      await prints(
        'local d = enapter.device("battery") print(d.id, d.slug, d.name, d.type)\n' +
          'print(enapter.device("d-1").id, #enapter.devices(), enapter.devices()[1].slug)',
      ),
      ['d-1\tbattery\tBattery\tLUA', 'd-1\t1\tbattery'],
    );
  });

  test('online, implements and property are current, with a dot or a colon', async () => {
    const read = answers({
      device_online: () => ok(true),
      device_profiles: () => ok(['energy.battery', 'lib.x']),
      property: ({ name }: { name: string }) =>
        name === 'model' ? ok('B1') : name === 'unset' ? ok(null) : refused(`unknown property "${name}"`),
    });
    assert.deepEqual(
      await prints(
        'local d = enapter.device("battery") print(d.online(), d:online())\n' +
          'local p = d.implements() print(#p, p[1], p["energy.battery"], p.nothing)\n' +
          'print(d.property("model"), d:property("model"))\nprint(d.property("unset"))\nprint(d.property("no"))',
        { answers: read },
      ),
      [
        'true\ttrue',
        '2\tenergy.battery\ttrue\tnil',
        'B1\tB1',
        'nil\tproperty "unset" has no value',
        'nil\tunknown property "no"',
      ],
    );
  });

  test('functions of enapter itself take a colon as well as a dot', async () => {
    const rule = startRule(
      'print(enapter:device("battery").name, #enapter:devices(), select(2, enapter:device("x")))\n' +
        'enapter:log("said", "warning")',
    );
    await rule.idle();
    assert.deepEqual(rule.said(), ['Battery\t1\tdevice "x" not found', 'said']);
    assert.equal(rule.entries[1]?.severity, 'warning');
  });

  test('every function of a deleted device returns that it was deleted', async () => {
    const gone = answers({
      device_online: () => refused('device not found'),
      latest: () => refused('device not found'),
    });
    assert.deepEqual(
      await prints('local d = enapter.device("battery") print(d.online()) print(d.telemetry.now("power"))', {
        answers: gone,
      }),
      ['false\tdevice not found', 'nil\tdevice not found'],
    );
  });

  test('telemetry.now gives every type of value, and requires 30 s by default', async () => {
    const values: Record<string, unknown> = {
      power: 1.5,
      count: 2,
      big: 9_007_199_254_740_993n,
      on: false,
      mode: 'eco',
      alerts: ['a', 'b'],
      info: { x: [1] },
    };
    const rule = startRule(
      'local t = enapter.device("battery").telemetry\n' +
        'print(t.now("power"), t.now("count"), t.now("big"), t.now("on"), t.now("mode"), t.now("alerts")[2], t.now("info").x[1])\n' +
        't.now("power", "2m") t:now("power", { relevance_interval = "1h" }) t.now("power", 500)\n' +
        'print(t.now("power", "soon"))',
      {
        answers: answers({
          latest: ({ name }: { name: string }) => ok({ value: values[name] as string, timestampMs: 1 }),
        }),
      },
    );
    await rule.idle();
    assert.deepEqual(rule.said(), [
      '1.5\t2\t9007199254740993\tfalse\teco\tb\t1',
      'nil\tbad relevance interval "soon"',
    ]);
    const asked = rule.asked.flatMap(({ method, parameters }) =>
      method === 'latest' ? [parameters.relevanceMs] : [],
    );
    assert.deepEqual(new Set(asked), new Set([30_000, 120_000, 3_600_000, 500]));
  });

  test('averages take a number with one letter, and cover a day at most', async () => {
    const rule = startRule(
      'local t = enapter.device("battery").telemetry\n' +
        'print(t.avg("power", "10s"), t:min("power", "1.5m"), t.max("power", "3d"))\n' +
        'print(t.avg("power", "1h30m")) print(t.avg("power"))',
      {
        answers: answers({ aggregate: ({ kind }: { kind: string }) => (kind === 'avg' ? ok(2.5) : ok(1)) }),
      },
    );
    await rule.idle();
    assert.deepEqual(rule.said(), ['2.5\t1\t1', 'nil\tbad interval "1h30m"', 'nil\tbad interval "nil"']);
    assert.deepEqual(
      rule.asked.flatMap((q) =>
        q.method === 'aggregate' ? [[q.parameters.kind, q.parameters.windowMs]] : [],
      ),
      [
        ['avg', 10_000],
        ['min', 90_000],
        ['max', LIMITS.rules.averageMaxMs],
      ],
    );
  });

  test('a rule reacts to new values with the newest only, and ends when it stops watching', async () => {
    const clock = new TestClock();
    const rule = startRule(
      'local id = enapter.device("battery").telemetry.on_update("power", function(v, t) print(v, t) system.delay(1000) end)\n' +
        'scheduler.add(5000, function() scheduler.remove(id) end)',
      { clock, answers: answers({ watch: () => ok(null), unwatch: () => ok(null) }) },
    );
    await rule.idle();
    for (const value of [1, 2, 3]) rule.run.changed({ watchId: 1, value, timestampMs: 5_000 });
    await rule.idle();
    await clock.advance(1_000);
    await rule.idle();
    await clock.advance(4_000);
    await rule.idle();
    assert.deepEqual(rule.said(), ['1\t5', '3\t5']);
    assert.equal(rule.asked.at(-1)?.method, 'unwatch');
    rule.run.stop();
  });
});

describe('commands of a rule', () => {
  const line = 'local d = enapter.device("battery")\n';

  test('a failed command is nil and its text', async () => {
    assert.deepEqual(
      await prints(`${line}print(d.execute_command("go")) print(d.execute("go", nil, { timeout = "x" }))`, {
        answers: answers({ execute: () => refused('device is offline') }),
      }),
      ['nil\tdevice is offline', 'nil\tbad timeout "x"'],
    );
  });

  test('arguments that JSON cannot hold are nil and a text, and nothing is sent', async () => {
    const rule = startRule(
      `${line}print(d.execute_command("set", { power = 0 / 0 })) print(d.execute_command("set", { list = { print } }))`,
    );
    await rule.idle();
    assert.deepEqual(rule.said(), [
      'nil\ta number that is not finite cannot be written as JSON',
      'nil\ta function cannot be written as JSON',
    ]);
    assert.ok(!rule.asked.some(({ method }) => method === 'execute'));
  });

  test('a successful command returns the payload; arguments and options arrive', async () => {
    const rule = startRule(
      `${line}print(d.execute_command("set", { power = 5, exact = 1.5 }, { timeout = "2s", ephemeral = true }).result)\n` +
        'print(next(d:execute("stop", nil, { timeout = math.maxinteger })))',
      {
        answers: answers({
          execute: ({ name }: { name: string }) => ok(name === 'set' ? { result: 'done' } : {}),
        }),
      },
    );
    await rule.idle();
    assert.deepEqual(rule.said(), ['done', 'nil']);
    assert.deepEqual(
      rule.asked.flatMap((q) => (q.method === 'execute' ? [q.parameters] : [])),
      [
        {
          deviceId: BATTERY.id,
          name: 'set',
          arguments: { power: 5, exact: 1.5 },
          timeoutMs: 2_000,
          ephemeral: true,
        },
        {
          deviceId: BATTERY.id,
          name: 'stop',
          arguments: {},
          timeoutMs: Number.MAX_SAFE_INTEGER,
          ephemeral: false,
        },
      ],
    );
  });

  test(`at most ${LIMITS.rules.commandsAtOnce} commands of a rule wait at once`, async () => {
    const clock = new TestClock();
    const rule = startRule(
      `${line}for i = 1, ${LIMITS.rules.commandsAtOnce + 1} do scheduler.add(1000, function() local _, e = d.execute("go") print(e) end) end`,
      { clock, answers: answers({ execute: () => new Promise(() => undefined) }) },
    );
    await rule.idle();
    await clock.advance(1_000);
    await rule.idle();
    assert.deepEqual(rule.said(), [`too many commands at once, at most ${LIMITS.rules.commandsAtOnce}`]);
    rule.run.stop();
  });

  test('a flood of questions and commands is slowed down, not refused', async () => {
    const clock = new TestClock();
    const rule = startRule(`${line}while true do d.online() d.execute("x") end`, {
      clock,
      answers: answers({ device_online: () => ok(true), execute: () => ok({}) }),
    });
    await rule.idle();
    for (let second = 0; second < 10; second++) {
      await clock.advance(1_000);
      await rule.idle();
    }
    const commands = rule.asked.filter(({ method }) => method === 'execute').length;
    const { writeBurst, writesPerSecond } = LIMITS.rules;
    assert.ok(commands <= writeBurst + 10 * writesPerSecond + 1, String(commands));
    assert.ok(commands >= writeBurst, String(commands));
    rule.run.stop();
  });

  test('a command that waits for its turn is not sent after its function was given up', async () => {
    const clock = new TestClock();
    const rule = startRule(
      `${line}local id\nscheduler.add(60000, function() end)\n` +
        'id = scheduler.add(1000, function() scheduler.remove(id) d.execute("a") d.execute("b") end)',
      {
        clock,
        answers: answers({ execute: () => ok({}) }),
        limits: { rules: { writesPerSecond: 0.05, writeBurst: 1 } },
      },
    );
    await rule.idle();
    for (let second = 0; second < 30; second++) {
      await clock.advance(1_000);
      await rule.idle();
    }
    rule.run.stop();
    const commands = rule.asked.filter(({ method }) => method === 'execute');
    assert.equal(commands.length, 1);
    assert.match(rule.said().join('\n'), /execution time exceeded/);
  });
});

describe('questions of a rule', () => {
  test(`at most ${LIMITS.rules.requestsPerSecond} questions of a rule reach the gateway in a second, after a burst`, async () => {
    const clock = new TestClock();
    const rule = startRule('local d = enapter.device("battery") while true do d.online() end', {
      clock,
      answers: answers({ device_online: () => ok(true) }),
    });
    for (let step = 0; step < 50; step++) {
      await clock.advance(40);
      for (let turn = 0; turn < 5; turn++) await rule.idle();
    }
    rule.run.stop();
    const { requestBurst, requestsPerSecond } = LIMITS.rules;
    assert.ok(rule.asked.length <= requestBurst + 2 * requestsPerSecond + 2, String(rule.asked.length));
    assert.ok(rule.asked.length > requestBurst / 2, String(rule.asked.length));
  });
});

describe('time, constants and logs of a rule', () => {
  const berlin = { timeZone: 'Europe/Berlin' };

  test('is_now_between wraps over midnight, includes its start and not its end', async () => {
    const clock = new TestClock(Date.UTC(2026, 6, 1, 20, 0));
    assert.deepEqual(
      await prints(
        'local b = time.is_now_between\n' +
          'print(b("22:00", "23:00"), b("21:00", "22:00"), b("21:59", "22:01"), b("23:00", "06:00"), b("21:00", "06:00"), b("22:00", "22:00"))\n' +
          'print(b("20:00", "20:01", 0), b("10:00", "10:01", -36000))\nprint(pcall(b, "25:00", "x"))\n' +
          'for _, offset in ipairs({ "x", 0/0, 1/0, true }) do print(pcall(b, "20:00", "20:01", offset)) end\n' +
          'print(b("20:00", "20:01", "0"))',
        { clock, site: berlin },
      ),
      [
        'true\tfalse\ttrue\tfalse\ttrue\tfalse',
        'true\ttrue',
        'false\tbad argument #1 to \'is_now_between\' (time of day expected, as "08:30")',
        ...Array.from({ length: 4 }, () => "false\tbad argument #3 to 'is_now_between' (seconds expected)"),
        'true',
      ],
    );
  });

  test('the constants of a rule are id, version, and an offset that follows daylight saving', async () => {
    const clock = new TestClock(Date.UTC(2026, 2, 29, 0, 59, 58));
    const rule = startRule(
      'print(RULE_ID, runtime_version, TIMEZONE) system.delay(3000) print(TIMEZONE, nothing)',
      {
        clock,
        site: berlin,
      },
    );
    await rule.idle();
    await clock.advance(3_000);
    await rule.idle();
    assert.deepEqual(rule.said(), ['r-1\tv3\t3600', '7200\tnil']);
  });

  test('log entries of a rule have the documented severities and texts of any type, and long ones are cut', async () => {
    const rule = startRule(
      'enapter.log("a", "error") enapter.log(1.0) enapter.log({} == nil, "warning") enapter.log("x", "loud", true)\n' +
        `enapter.log(("ä"):rep(${LIMITS.rules.logMessageBytes}))`,
    );
    await rule.idle();
    assert.deepEqual(
      rule.entries.slice(0, 4).map(({ severity, message }) => [severity, message]),
      [
        ['error', 'a'],
        ['info', '1.0'],
        ['warning', 'false'],
        ['info', 'x'],
      ],
    );
    assert.equal(Buffer.byteLength(rule.entries[4]?.message ?? ''), LIMITS.rules.logMessageBytes);
  });

  test('a flood of logs is cut off, and its size reported', async () => {
    const clock = new TestClock();
    const rule = startRule('for i = 1, 1000 do enapter.log(i) end system.delay(5000)', { clock });
    await rule.idle();
    await clock.advance(2_000);
    const { logsPerSecond } = LIMITS.rules;
    assert.equal(rule.entries.length, logsPerSecond + 1);
    assert.match(
      rule.entries.at(-1)?.message ?? '',
      new RegExp(`^${1_000 - logsPerSecond} log entries were dropped`),
    );
    rule.run.stop();
  });
});
