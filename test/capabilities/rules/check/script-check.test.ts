/** What a check by names finds in a script, and that it leaves right scripts alone. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { RULE_API } from '../../../../src/capabilities/rules/check/rule-api.ts';
import {
  type KnownDevice,
  type KnownSite,
  scriptWarnings,
} from '../../../../src/capabilities/rules/check/script-check.ts';
import { LIMITS } from '../../../../src/lib/limits.ts';
import { answers, ok, startRule } from '../../../support/rule-run.ts';

const { warnings: most } = LIMITS.rules;

const BATTERY: KnownDevice = {
  slug: 'battery',
  attribute: ['soc', 'power', 'alerts'],
  property: ['model'],
  command: ['charge', 'set_mode'],
};
const METER: KnownDevice = {
  slug: 'grid-meter',
  attribute: ['voltage', 'alerts'],
  property: [],
  command: [],
};
const SITE: KnownSite = {
  device: (name) => [BATTERY, METER].find(({ slug }) => slug === name),
  devices: () => [BATTERY, METER],
};

function found(code: string, runtimeVersion: 'V1' | 'V3' = 'V3', site: KnownSite | null = SITE): string[] {
  const script = { code, runtimeVersion, execIntervalMs: undefined };
  return scriptWarnings(script, most, site ?? undefined).map(({ line, message }) => `${line} ${message}`);
}

const runtimeFound = (code: string, runtime: 'V1' | 'V3'): string[] =>
  found(code, runtime).flatMap((warning) => /^(\d+ \S+) is of runtime/.exec(warning)?.[1] ?? []);

describe('a check of a script finds', () => {
  for (const [title, code, wanted] of [
    [
      'a misspelt function of a library',
      `scheduler.add_crn('* * * * *', print)`,
      ['1 scheduler has no "add_crn", did you mean "add_cron"?'],
    ],
    ['a function of Lua that is not there', `\nos.execute('ls')`, ['2 os has no "execute".']],
    [
      'a misspelt member below another one',
      `storage.shared.raed('a')`,
      ['1 storage.shared has no "raed", did you mean "read"?'],
    ],
    ['a misspelt library', `enaptr.log('x')`, ['1 Nothing is called "enaptr", did you mean "enapter"?']],
    ['a misspelt global function', `notfy('x')`, ['1 Nothing is called "notfy", did you mean "notify"?']],
    [
      'a misspelt function of its own',
      `local function decide() end\ndecied()`,
      ['2 Nothing is called "decied", did you mean "decide"?'],
    ],
    [
      'an unknown device',
      `enapter.device('batery')`,
      ['1 The site has no device "batery", did you mean "battery"?'],
    ],
    [
      'an unknown device of an output',
      `output.request('batery', 'charge')`,
      ['1 The site has no device "batery", did you mean "battery"?'],
    ],
    [
      'an unknown device by a name for its slug',
      `local SLUG = 'batery'\nlocal b = assert(enapter.device(SLUG))`,
      ['2 The site has no device "batery", did you mean "battery"?'],
    ],
    [
      'an unknown attribute',
      `local b = enapter.device('battery')\nb.telemetry.now('sox')`,
      ['2 Device "battery" has no attribute "sox", did you mean "soc"?'],
    ],
    [
      'an unknown attribute without a variable',
      `enapter.device('battery').telemetry.avg('sox', '5m')`,
      ['1 Device "battery" has no attribute "sox", did you mean "soc"?'],
    ],
    [
      'an attribute of another device',
      `local b, m = enapter.device('battery'), enapter.device('grid-meter')\nm.telemetry.on_update('soc', print)`,
      ['2 Device "grid-meter" has no attribute "soc".'],
    ],
    [
      'an attribute by way of its telemetry',
      `local t = enapter.device('battery').telemetry\nt.max('sox', '1h')`,
      ['2 Device "battery" has no attribute "sox", did you mean "soc"?'],
    ],
    [
      'an attribute that no device has',
      `local function read(d) return d.telemetry.now('volts') end`,
      ['1 No device has the attribute "volts".'],
    ],
    [
      'an unknown property',
      `enapter.device('battery'):property('mode')`,
      ['1 Device "battery" has no property "mode", did you mean "model"?'],
    ],
    [
      'an unknown command',
      `local b = enapter.device('battery') or error('none')\nb.execute_command('chrge')`,
      ['2 Device "battery" has no command "chrge", did you mean "charge"?'],
    ],
    [
      'an unknown command of an output',
      `local b = enapter.device('battery')\noutput.request(b, 'set_mod', {})\noutput.release('battery', 'set_mod')`,
      ['2 Device "battery" has no command "set_mod", did you mean "set_mode"?'],
    ],
    [
      'a command that no device has',
      `for _, d in ipairs(enapter.devices()) do d.execute_command('chrge') end`,
      ['1 No device has the command "chrge", did you mean "charge"?'],
    ],
    [
      'a misspelt function of a device',
      `local b = enapter.device('battery')\nb.exeute_command('charge')`,
      ['2 device has no "exeute_command", did you mean "execute_command"?'],
    ],
    [
      'a misspelt function of a device that is handed in',
      `local function act(d) d:exeute_command('charge') end`,
      ['1 device has no "exeute_command", did you mean "execute_command"?'],
    ],
    [
      'a misspelt function of telemetry',
      `local b = enapter.device('battery')\nb.telemetry.nwo('soc')`,
      ['2 telemetry has no "nwo", did you mean "now"?'],
    ],
    [
      'too few arguments',
      `scheduler.add(function(a, b) return a, b end)`,
      ['1 Arguments of scheduler.add: 2 expected, 1 given.'],
    ],
    [
      'too many arguments',
      `notify('a', 'b', 'info', 'battery')`,
      ['1 Arguments of notify: 1 to 3 expected, 4 given.'],
    ],
  ] as const)
    test(title, () => assert.deepEqual(found(code), wanted));

  test('a check of a script finds everything in a V1 script that only V3 has, once each', () => {
    const code = `local d = enapter.device('a')
scheduler.add(1000, function() end)
scheduler . add_cron('* * * * *', function() end)
scheduler.add(2000, function() end)
d.telemetry.on_update('x', print)
d.on_online_changed(print)
storage.write('a', 1)
function enapter.main() end
notify('x')
output.request('a', 'b')
enapter.devices()[1].telemetry.on_update('x', print)`;
    assert.deepEqual(runtimeFound(code, 'V1'), [
      '2 scheduler.add',
      '3 scheduler.add_cron',
      '5 telemetry.on_update',
      '6 on_online_changed',
      '7 storage.write',
      '8 enapter.main',
      '9 notify',
      '10 output.request',
    ]);
    assert.deepEqual(runtimeFound(code, 'V3'), []);
  });

  for (const [title, code, wanted] of [
    [
      'a misspelt function of a library that only V3 has',
      `scheduler.ad(1000, print)`,
      [
        '1 scheduler is of runtime V3; this rule has runtime V1.',
        '1 scheduler has no "ad", did you mean "add"?',
      ],
    ],
    [
      'a misspelt library that only V3 has',
      `schedular.add(1000, print)`,
      [
        '1 Nothing is called "schedular", did you mean "scheduler"?',
        '1 scheduler is of runtime V3; this rule has runtime V1.',
      ],
    ],
    [
      'a misspelt function that only V3 has',
      `notfiy('x')\nstorage.wriet('a', 1)`,
      [
        '1 Nothing is called "notfiy", did you mean "notify"?',
        '1 notify is of runtime V3; this rule has runtime V1.',
        '2 storage has no "wriet", did you mean "write"?',
        '2 storage.write is of runtime V3; this rule has runtime V1.',
      ],
    ],
    [
      'misspelt functions of devices that only V3 has',
      `local d = enapter.device('battery')\nd.on_online_change(print)\nd.telemetry.on_updat('soc', print)`,
      [
        '2 device has no "on_online_change", did you mean "on_online_changed"?',
        '2 on_online_changed is of runtime V3; this rule has runtime V1.',
        '3 telemetry has no "on_updat", did you mean "on_update"?',
        '3 telemetry.on_update is of runtime V3; this rule has runtime V1.',
      ],
    ],
    [
      'misspelt functions of V3 of a device that is handed in',
      `local function on(d) d.on_online_change(print) d.telemetry.on_updat('soc', print) end`,
      [
        '1 device has no "on_online_change", did you mean "on_online_changed"?',
        '1 on_online_changed is of runtime V3; this rule has runtime V1.',
        '1 telemetry has no "on_updat", did you mean "on_update"?',
        '1 telemetry.on_update is of runtime V3; this rule has runtime V1.',
      ],
    ],
  ] as const)
    test(`a check of a script finds ${title}, in a script of V1`, () =>
      assert.deepEqual(found(code, 'V1'), wanted));

  for (const [title, code, wanted] of [
    [
      'suggests no name of the site that is much longer',
      `enapter.device('meter')`,
      ['1 The site has no device "meter".'],
    ],
    [
      'suggests no short name with two other letters',
      `enapter.device('battery').telemetry.now('sun')`,
      ['1 Device "battery" has no attribute "sun".'],
    ],
    [
      'suggests a name that differs in the case of letters',
      `enapter.device('Battery').telemetry.now('SOC')\nenapter.device('battery').telemetry.now('SOC')`,
      [
        '1 The site has no device "Battery", did you mean "battery"?',
        '2 Device "battery" has no attribute "SOC", did you mean "soc"?',
      ],
    ],
  ] as const)
    test(`a check of a script ${title}`, () => assert.deepEqual(found(code), wanted));

  test('a check of a script finds the store of V1 in a script of V3', () => {
    assert.deepEqual(runtimeFound(`storage.public.write('a', 1)`, 'V3'), ['1 storage.public']);
    assert.deepEqual(found(`storage.public.write('a', 1)\nstorage.shared.read('a')`, 'V1'), []);
  });

  test(`a check of a script finds no more than ${most} problems`, () => {
    const code = Array.from({ length: most + 1 }, (_, index) => `unknown_${index}()`).join('\n');
    assert.equal(found(code).length, most);
  });
});

describe('a check of a script keeps silent', () => {
  for (const [title, code] of [
    [
      'of comments and texts',
      `-- enaptr.log()\n--[[ scheduler.ad()\nnotfy() ]]\nlocal text = "os.execute()" .. 'x' .. [==[ notfy() ]==]`,
    ],
    [
      'of names that the script defines',
      `local function act(x, ...) return x(...) end\nfor i, each in ipairs({}) do each(i) end\na, b = print, print\na() b()\nact(print)`,
    ],
    ['of a library that the script replaces', `local scheduler = { run = print }\nscheduler.run()`],
    [
      'of members that the script adds',
      `function string.trim(s) return s end\nstring.trim('x')\nenapter.note = print\nenapter.note('x')`,
    ],
    [
      'of globals when names may come from elsewhere',
      `for name in pairs(settings or {}) do _G[name] = print end\nsurprise()`,
    ],
    [
      'of a variable that stands for two devices',
      `local d = enapter.device('battery')\nd = enapter.device('grid-meter')\nd.telemetry.now('soc')`,
    ],
    [
      'of texts that are put together',
      `local p = 'bat'\nenapter.device(p .. 'tery')\nenapter.device('x' .. p)`,
    ],
    [
      'of arguments that another call gives',
      `enapter.log(pcall(print))\nlocal function f(...) scheduler.add(...) end\nf()`,
    ],
    [
      'of functions of other tables',
      `local net = http.client({})\nnet:get('http://x')\nlocal t = { now = print }\nt.now('x')`,
    ],
    [
      'of a read of a name that may be nil',
      `if not started then started = true end\nif other then print(other) end`,
    ],
    [
      'of tables with names of functions as keys',
      `local t = { notfy = 1, scheduler = 2 }\nprint(t.notfy, #t, -1 // 2, 1 .. 2, 0x1F)`,
    ],
  ] as const)
    test(title, () => assert.deepEqual(found(code), []));

  test('a check of a script names no device when it does not know the site', () => {
    assert.deepEqual(found(`enapter.device('nobody').telemetry.now('x')`, 'V3', null), []);
  });

  test('a check of a script finds nothing in the scripts that the gateway brings', () => {
    const root = join(import.meta.dirname, '../../../..');
    const files = [
      ...readdirSync(join(root, 'docs/samples/rules')).map((name) => join(root, 'docs/samples/rules', name)),
      ...readdirSync(join(root, 'src/library/strategies'), { recursive: true }).map((name) =>
        join(root, 'src/library/strategies', String(name)),
      ),
    ].filter((name) => name.endsWith('.lua'));
    assert.ok(files.length > 10);
    const shared = readFileSync(join(root, 'src/library/strategies/shared.lua'), 'utf8');
    for (const file of files) {
      const own = readFileSync(file, 'utf8');
      const code = file.includes('strategies') ? `local P = {}\n${shared}\n${own}` : own;
      assert.deepEqual([file, ...found(code, 'V3', null)], [file]);
    }
  });
});

for (const runtimeVersion of ['V1', 'V3'] as const)
  test(`the check of ${runtimeVersion} knows what the sandbox has, and nothing else`, async () => {
    const rule = startRule(
      `local function tell(name, owner)
         local members = {}
         for member in pairs(owner) do members[#members + 1] = member end
         table.sort(members)
         print(name .. ': ' .. table.concat(members, ' '))
       end
       tell('', _G)
       for name, owner in pairs(_G) do
         if type(owner) == 'table' and owner ~= _G and name ~= 'inspect' then tell(name, owner) end
       end
       for name, owner in pairs(storage) do
         if type(owner) == 'table' then tell('storage.' .. name, owner) end
       end
       local device = enapter.device('battery')
       tell('device', device)
       tell('telemetry', device.telemetry)`,
      { answers: answers({ properties: () => ok({}) }), rule: { runtimeVersion, execIntervalMs: 60_000 } },
    );
    await rule.idle();
    await rule.clock.advance(200);
    const there = new Map(
      rule.said().flatMap((line) => {
        const [, name, members] = /^(\S*): (.*)$/.exec(line) ?? [];
        return name === undefined ? [] : [[name, members?.split(' ').toSorted()] as const];
      }),
    );
    const { libraries, device, telemetry } = RULE_API[runtimeVersion];
    // The first is computed, the second is for the script to define.
    const withheld = new Set(['TIMEZONE', 'main']);
    const known = [...libraries, ['device', device] as const, ['telemetry', telemetry] as const];
    for (const [name, members] of known)
      assert.deepEqual(
        [name, ...[...members.keys()].filter((member) => !withheld.has(member)).toSorted()],
        [name, ...(there.get(name) ?? []).filter((member) => !withheld.has(member))],
        name,
      );
    assert.deepEqual(
      [...there.keys()].filter((name) => !known.some(([one]) => one === name)),
      [],
    );
  });
