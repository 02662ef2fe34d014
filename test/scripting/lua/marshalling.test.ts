import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  assert as assertProperty,
  asyncProperty,
  bigInt,
  boolean,
  constant,
  double,
  jsonValue,
  oneof,
  uint8Array,
} from 'fast-check';
import { LIMITS } from '../../../src/lib/limits.ts';
import {
  formatFloat,
  jsonOf,
  LuaData,
  LuaError,
  LuaJson,
  type LuaValue,
} from '../../../src/scripting/lua/index.ts';
import { exactJson } from '../../../src/lib/json.ts';
import { testScript } from '../../support/lua.ts';
import { runs } from '../../support/runs.ts';

/** `echo(…)` returns what the host got; `give()` what the test set. */
function echoScript() {
  const border: { seen: LuaValue[]; given: (LuaValue | LuaData | string)[] } = { seen: [], given: [] };
  const library = { name: 'echo', source: 'local host = ...\necho, give = host.echo, host.give' };
  const made = testScript({
    libraries: [library],
    functions: {
      echo: (values) => {
        border.seen = values;
        return values;
      },
      give: () => border.given,
    },
  });
  return { ...made, border };
}

const scalar = oneof(
  boolean(),
  constant(undefined),
  bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  double({ noNaN: true }),
  uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
);

describe('the border between Lua and its host', () => {
  test('a value crosses from Lua as its JSON text does', async () => {
    const { run, printed, border } = echoScript();
    const check = async (value: unknown): Promise<void> => {
      border.given = [new LuaData(value), new LuaJson(exactJson(value))];
      assert.equal(await run('local a, b = give() print(inspect(a)) print(inspect(b))'), undefined);
      const [data, text] = printed.splice(0);
      assert.equal(data, text);
    };
    const edges = [-0, 1e20, 1e21, 1e300, 2 ** 53, 2 ** 60, -(2 ** 63), 2 ** 63, 0.1, 2n ** 60n + 1n, null];
    await check([...edges, true, '\u0000ä€\ud800', { a: undefined, b: null, 1: [] }, Number.NaN]);
    for (const edge of edges) await check(edge);
    await assertProperty(asyncProperty(jsonValue(), check), { numRuns: runs(100) });
  });

  test('a whole number from Lua has all its digits, however it was written', async () => {
    const { run, printed, border } = echoScript();
    const numbers = [2 ** 60, -(2 ** 60), 2 ** 53 + 2, 2n ** 60n + 1n, 1e20];
    border.given = [new LuaData(numbers), new LuaJson(exactJson(numbers))];
    assert.equal(
      await run('for _, t in ipairs({ give() }) do print(table.unpack(t)) print(t[1] == 2.0^60) end'),
      undefined,
    );
    const digits = '1152921504606846976\t-1152921504606846976\t9007199254740994\t1152921504606846977\t1e+20';
    assert.deepEqual(printed, [digits, 'true', digits, 'true']);
  });

  test('a value nested too deep does not cross from Lua', async () => {
    const { run, printed, border } = echoScript();
    let deep: unknown = 1;
    for (let depth = 0; depth <= LIMITS.lua.jsonDepth; depth++) deep = [deep];
    border.given = [new LuaData(deep)];
    assert.equal(await run('print(pcall(give))'), undefined);
    assert.deepEqual(printed, [`false\tthe JSON text is nested deeper than ${LIMITS.lua.jsonDepth} levels`]);
  });

  test('a float without a fraction is written with its digits, as far as integers go', async () => {
    const { run, border } = echoScript();
    const written: [lua: string, text: string][] = [
      ['5.0', '5'],
      ['-0.0', '0'],
      ['1e18', '1000000000000000000'],
      ['2.0^60', '1152921504606846976'],
      ['-2.0^63', '-9223372036854775808'],
      ['2.0^63', '9.223372036854776e+18'],
      ['1e300', '1e+300'],
      ['0.1', '0.1'],
    ];
    const numbers = written.map(([lua]) => lua).join(', ');
    assert.equal(await run(`echo({${numbers}}, ${numbers})`), undefined);
    const texts = written.map(([, text]) => text);
    assert.deepEqual(border.seen.map(jsonOf), [`[${texts.join(',')}]`, ...texts]);
  });

  test('what is no value does not cross from Lua', async () => {
    const { run, printed } = echoScript();
    const failure = await run(
      'for _, v in ipairs{ print, coroutine.create(print), { print } } do print(pcall(echo, v)) end\n' +
        'local t = {} t[1] = t print(pcall(echo, t))\n' +
        'print(pcall(echo, { 0/0 }))\nprint(pcall(echo, { [true] = 1 }))',
    );
    assert.equal(failure, undefined);
    assert.deepEqual(printed, [
      'false\ta function cannot be handed over',
      'false\ta thread cannot be handed over',
      'false\ta function cannot be written as JSON',
      `false\ta table is nested deeper than ${LIMITS.lua.jsonDepth} levels`,
      'false\ta number that is not finite cannot be written as JSON',
      'false\ta key of type boolean cannot be written as JSON',
    ]);
  });

  test('an error of the host has the line that called it', async () => {
    const { run } = testScript({
      libraries: [
        { name: 'fail', source: 'local host, kit = ...\nfail, later = host.fail, kit.wait("later")' },
      ],
      functions: {
        fail: () => {
          throw new LuaError('not like this');
        },
        later: { waits: () => Promise.reject(new LuaError('too late')) },
      },
    });
    assert.equal((await run('local x = 1\nfail()'))?.message, 'main.lua:2: not like this');
    assert.equal((await run('\n\nlater()'))?.message, 'main.lua:3: too late');
  });

  test('every scalar crosses exactly, both ways: bytes, 64-bit integers, 1 beside 1.0', async () => {
    const { script, border } = echoScript();
    await script.run(Buffer.from('function cross() echo(give()) end\nscheduler.add(50, cross)'), 'm.lua');
    await assertProperty(
      asyncProperty(scalar, async (value) => {
        border.given = [value];
        await script.machine.call('job', [1n]);
        const [seen] = border.seen;
        if (typeof value === 'number') assert.ok(Object.is(seen, value), String(value));
        else assert.deepEqual(seen, value);
      }),
      { numRuns: runs(500) },
    );
    script.close();
  });

  test('JSON survives tables, except what Lua has no room for', async () => {
    const { script, border } = echoScript();
    await script.run(Buffer.from('scheduler.add(50, function() echo(give()) end)'), 'm.lua');
    await assertProperty(
      asyncProperty(jsonValue({ maxDepth: 5 }), async (value) => {
        border.given = [new LuaJson(exactJson({ value }))];
        await script.machine.call('job', [1n]);
        const [seen] = border.seen;
        assert.ok(seen instanceof LuaJson);
        const expected = withoutNulls({ value });
        assert.deepEqual(JSON.parse(seen.text), expected);
      }),
      { numRuns: runs(500) },
    );
    script.close();
  });

  test('numbers of JSON are read as Lua wants them, and integral floats written without fraction', async () => {
    const { run, printed } = testScript();
    const failure = await run(
      'local t = json.decode("[1, 1.0, 1e2, -0, 9223372036854775807, 9223372036854775808.0, 0.1]")\n' +
        'for i = 1, 7 do print(math.type(t[i]), t[i]) end\n' +
        'print(json.encode({ 1, 2.0, 2.5, 1e300, math.mininteger }), json.encode("a\\0\\255ä"), json.encode(nil))\n' +
        'print(json.encode({}), json.encode({ n = {} }), json.encode({ [1] = "a", [3] = "c" }), json.encode({ 1, x = 2 }))\n' +
        'print(json.decode("{\\"a\\": [1, null, 3], \\"b\\": null}").b, #json.decode("\\"\\\\ud83d\\\\ude00\\\\ud800\\\\n\\""))',
    );
    assert.equal(failure, undefined);
    assert.deepEqual(printed.slice(0, 8), [
      'integer\t1',
      'float\t1.0',
      'float\t100.0',
      'integer\t0',
      'integer\t9223372036854775807',
      'float\t9.2233720368548e+18',
      'float\t0.1',
      '[1,2,2.5,1e+300,-9223372036854775808]\t"a\\u0000\ufffdä"\tnull',
    ]);
    assert.match(printed[8] ?? '', /^\{\}\t\{"n":\{\}\}\t\{.*\}\t\{.*\}$/);
    assert.equal(printed[9], 'nil\t8');
  });

  test('a table of table.pack is a list with null for what is absent', async () => {
    const { run, printed } = testScript();
    const failure = await run(
      'print(json.encode(table.pack(nil, 2, nil)), json.encode({ n = 2, [2] = { n = 2, [1] = true } }))\n' +
        'print(json.encode({ n = 3 }), json.encode({ n = 1.5, "a" }), json.encode({ n = 1, [2] = "b" }))\n' +
        'print(pcall(json.encode, { n = math.maxinteger, "a" }))',
    );
    assert.equal(failure, undefined);
    assert.equal(printed[0], '[null,2,null]\t[null,[true,null]]');
    assert.match(printed[1] ?? '', /^\{"n":3\}\t\{.*"1":"a".*\}\t\{.*"2":"b".*\}$/);
    assert.match(printed[2] ?? '', /^true\t\{/);
  });

  const faults = ['', '{', '{"a" 1}', 'nan', 'tru', '1 2', '[1', '"abc', '-', 'nul'];
  for (const text of faults)
    test(`json.decode refuses what is no JSON: ${JSON.stringify(text)}`, async () => {
      const { run, printed } = testScript();
      await run(`print(pcall(json.decode, ${JSON.stringify(text)}))`);
      assert.match(printed[0] ?? '', /^false\tinvalid JSON/);
    });

  test('json.decode leaves out what printf writes for no number, and warns once an hour for each name', async () => {
    const { run, printed, warned } = testScript();
    const decode = `local t = json.decode('{"power":nan,"list":[1,-inf,007],"text":"a\tb",}')
      print(t.power, t.list[1], t.list[2], math.type(t.list[3]), t.text)`;
    for (let times = 0; times < 3; times++) assert.equal(await run(decode), undefined);
    assert.equal(printed[0], 'nil\t1\tnil\tinteger\ta\tb');
    const sentences = ['power', 'list'].map(
      (name) => `json.decode left out the value of "${name}", which is no JSON.`,
    );
    assert.deepEqual(warned, sentences);
  });

  for (const [number, message] of [
    ['9223372036854775808', 'the JSON text has an integer of more than 64 bits at byte 2'],
    ['-9223372036854775809', 'the JSON text has an integer of more than 64 bits at byte 2'],
    ['1e400', 'the JSON text has a number that is not finite at byte 2'],
  ] as const)
    test(`json.decode refuses ${number}, which no number of Lua holds`, async () => {
      const { run, printed } = testScript();
      await run(`print(pcall(json.decode, "[${number}]"))`);
      assert.equal(printed[0], `false\t${message}`);
    });

  test('json.decode refuses endless nesting before it fills memory', async () => {
    const { run, printed } = testScript();
    await run('print(pcall(json.decode, ("["):rep(100000)))');
    assert.equal(printed[0], `false\tthe JSON text is nested deeper than ${LIMITS.lua.jsonDepth} levels`);
  });

  test('JSON beyond the limit of size is refused, reading and writing', async () => {
    // Megabytes of text take longer than a turn on a busy machine.
    const limits = { turnMs: 60_000, nativeMs: 60_000 };
    const { run, printed } = testScript({ memoryBytes: 64 * 1_048_576, limits });
    await run(
      `local big = ("x"):rep(${LIMITS.lua.jsonBytes})\n` +
        'print(pcall(json.decode, "\\"" .. big .. "\\""))\nprint(pcall(echo or json.encode, { big }))',
    );
    assert.deepEqual(printed, [
      'false\tthe JSON text is too large',
      'false\tthe value is too large to be written as JSON',
    ]);
  });

  test('floats are written as Lua does', async () => {
    const { script, printed } = testScript();
    await script.run(Buffer.from('scheduler.add(50, function(x) print(x) end)'), 'm.lua');
    await assertProperty(
      asyncProperty(double({ noNaN: true }), async (value) => {
        await script.machine.call('job', [1n, value]);
        assert.equal(formatFloat(value), printed.at(-1));
      }),
      { numRuns: runs(2_000), examples: [[-894307654659565], [894307654659575]] },
    );
    script.close();
  });
});

/** Fields that are null do not exist in Lua; neither do nulls at the end of a list, nor tables left empty. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return listOf(value);
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? 0 : value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== null)
      .map(([key, item]) => [key, withoutNulls(item)]),
  );
}

/** A list with a hole is a table with integer keys, which JSON writes as texts. */
function listOf(items: unknown[]): unknown {
  const present = items.flatMap((item, index) =>
    item === null ? [] : [[index + 1, withoutNulls(item)] as const],
  );
  if (present.length === 0) return {};
  if (present.at(-1)?.[0] === present.length) return present.map(([, item]) => item);
  return Object.fromEntries(present.map(([key, item]) => [String(key), item]));
}
