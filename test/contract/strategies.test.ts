/** Strategies over HTTP: the extension of the interface under `/v3/library/strategies`. Denials first. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import { refusal, useTestGateway } from '../support/test-gateway.ts';

const STRATEGIES = '/v3/library/strategies';
const RULES = '/v3/site/rule_engine/rules';

type Json = Record<string, unknown>;

interface Parameter {
  name: string;
  kind: string;
  display_name: Record<string, string>;
  required: boolean;
  parameters?: Parameter[];
}

interface StrategyRule {
  id: string;
  slug: string;
  script: { code: string; runtime_version: string };
  strategy?: { id: string; parameters: Json };
}

const BATTERY = 'battery';
const gateway = useTestGateway({}, async (started) => {
  await started.provision('Battery');
});

const meter = { device: BATTERY, attribute: 'grid_total_power' };
const setMode = (mode: string): Json => ({ device: BATTERY, command: 'set_mode', arguments: { mode } });
const load = { power_w: 2_000, on: setMode('backup'), off: setMode('self_consumption') };
const surplus = { meter, loads: [load] };
const daily = { action: setMode('backup') };

const make = (id: string, slug: string, parameters: Json) =>
  gateway().call('OWNER', 'POST', `${STRATEGIES}/${id}/rule`, { slug, parameters, disable: true });
const made = async (id: string, slug: string, parameters: Json): Promise<StrategyRule> => {
  const { rule } = await gateway().ok('OWNER', 'POST', `${STRATEGIES}/${id}/rule`, {
    slug,
    parameters,
    disable: true,
  });
  return rule as StrategyRule;
};
const codeOf = ({ script }: StrategyRule): string => Buffer.from(script.code, 'base64').toString('utf8');
const fieldsOf = ({ body }: { body: unknown }): unknown[] =>
  (body as { errors: { details: { field: string } }[] }).errors.map(({ details }) => details.field);

describe('the library of strategies refuses', () => {
  test('the library of strategies refuses an unknown strategy', async () => {
    for (const [method, path, body] of [
      ['GET', `${STRATEGIES}/nobody`, undefined],
      ['POST', `${STRATEGIES}/nobody/script`, { parameters: {} }],
      ['POST', `${STRATEGIES}/nobody/rule`, { slug: 'nobody', parameters: {} }],
    ] as const)
      assert.equal(
        refusal(await gateway().call('OWNER', method, path, body)),
        '404 strategy_not_found',
        path,
      );
  });

  test('the library of strategies refuses parameters that do not fit, each by its path', async () => {
    const rows: [id: string, parameters: Json, fields: string[]][] = [
      ['daily', {}, ['parameters.action']],
      ['daily', { ...daily, colour: 'red' }, ['parameters.colour']],
      ['daily', { ...daily, at: '25:00' }, ['parameters.at']],
      ['daily', { ...daily, days: ['someday'] }, ['parameters.days']],
      ['daily', { ...daily, days: [] }, ['parameters.days']],
      ['daily', { ...daily, patience_min: 721, at: 7 }, ['parameters.at', 'parameters.patience_min']],
      ['daily', { action: { device: 'nobody', command: 'set_mode' } }, ['parameters.action.device']],
      ['daily', { action: { device: BATTERY, command: 'fly' } }, ['parameters.action.command']],
      ['daily', { action: { device: BATTERY, command: 'set_mode' } }, ['parameters.action.arguments']],
      ['daily', { action: setMode('party') }, ['parameters.action.arguments']],
      ['daily', { action: { ...setMode('backup'), when: 'now' } }, ['parameters.action.when']],
      ['daily', { action: 'set_mode' }, ['parameters.action']],
      [
        'surplus-loads',
        { ...surplus, meter: { ...meter, attribute: 'mode' } },
        ['parameters.meter.attribute'],
      ],
      [
        'surplus-loads',
        { ...surplus, meter: { ...meter, attribute: 'battery_soc' } },
        ['parameters.meter.attribute'],
      ],
      ['surplus-loads', { ...surplus, meter: { ...meter, inverted: 'yes' } }, ['parameters.meter.inverted']],
      ['surplus-loads', { ...surplus, meter: [] }, ['parameters.meter']],
      ['surplus-loads', { ...surplus, loads: [] }, ['parameters.loads']],
      ['surplus-loads', { ...surplus, loads: [{ ...load, power_w: 0 }] }, ['parameters.loads.0.power_w']],
      [
        'surplus-loads',
        { ...surplus, loads: [load, { on: load.on, off: load.off }] },
        ['parameters.loads.1.power_w'],
      ],
      [
        'battery-by-price',
        {
          prices: { device: BATTERY, attribute: 'battery_soc' },
          battery_soc: { device: BATTERY, attribute: 'battery_soc' },
          charge: { device: BATTERY, command: 'set_mode' },
          hold: load.on,
          release: load.off,
        },
        ['parameters.prices.attribute', 'parameters.charge.arguments'],
      ],
      [
        // The only argument is the one that the strategy sets.
        'battery-health',
        {
          battery_soc: { device: BATTERY, attribute: 'battery_soc' },
          limit: { device: BATTERY, command: 'set_charge_limit', arguments: { limit_w: 3_000 } },
        },
        ['parameters.limit.arguments.limit_w'],
      ],
      [
        'battery-reserve',
        {
          battery_soc: { device: BATTERY, attribute: 'battery_soc' },
          hold: load.on,
          release: load.off,
          window: { from: '22:00' },
        },
        ['parameters.window.to'],
      ],
      [
        'surplus-charging',
        { min_a: 20, max_a: 10 },
        [
          'parameters.meter',
          'parameters.charger_power',
          'parameters.current',
          'parameters.stop',
          'parameters.min_a',
        ],
      ],
    ];
    for (const [id, parameters, fields] of rows) {
      const answer = await make(id, 'refused', parameters);
      assert.match(refusal(answer), /^422 invalid_strategy_parameters/, JSON.stringify(parameters));
      assert.deepEqual(fieldsOf(answer), fields, JSON.stringify(answer.body));
    }
    const answer = await gateway().call('READONLY', 'GET', `${RULES}/refused`);
    assert.equal(refusal(answer), '404 rule_not_found');
  });

  test('the library of strategies refuses a slug of another rule, and parameters for a rule with a script of its own', async () => {
    await made('daily', 'taken', daily);
    assert.equal(refusal(await make('daily', 'taken', daily)), '409 already_exists');
    const script = { code: Buffer.from('return 1').toString('base64'), runtime_version: 'V3' };
    await gateway().ok('OWNER', 'POST', RULES, { slug: 'own', script, disable: true });
    for (const [slug, refused] of [
      ['own', '422 rule_without_strategy'],
      ['nobody', '404 rule_not_found'],
    ] as const) {
      const answer = await gateway().call('OWNER', 'POST', `${RULES}/${slug}/update_parameters`, {
        parameters: {},
      });
      assert.equal(refusal(answer), refused);
    }
  });

  test('the library of strategies refuses arguments that would make the script too large', async () => {
    const answer = await make('surplus-loads', 'large', {
      meter,
      loads: [{ ...load, on: setMode('x'.repeat(LIMITS.rules.scriptBytes)) }],
    });
    assert.equal(refusal(answer), '422 invalid_strategy_parameters');
  });
});

describe('the library of strategies', () => {
  test('the library of strategies lists strategies by name, in pages, and finds them by words of both languages and by category', async () => {
    const list = async (
      query = '',
    ): Promise<{ strategies: { id: string; name: { en: string } }[]; total_count: number }> =>
      (await gateway().ok('READONLY', 'GET', `${STRATEGIES}${query}`)) as never;
    const all = await list();
    assert.ok(all.total_count >= 9);
    const namesEn = all.strategies.map(({ name }) => name.en);
    assert.deepEqual(
      namesEn,
      namesEn.toSorted((a, b) => a.localeCompare(b, 'en')),
    );
    const page = await list('?limit=2&offset=1');
    assert.deepEqual([page.strategies, page.total_count], [all.strategies.slice(1, 3), all.total_count]);
    const idsOf = async (query: string): Promise<string[]> =>
      (await list(query)).strategies.map(({ id }) => id);
    assert.deepEqual(await idsOf('?search=surplus%20car'), ['surplus-charging']);
    assert.deepEqual(await idsOf('?search=Wärmepumpe'), ['heat-pump']);
    assert.deepEqual((await idsOf('?category.in=grid')).toSorted(), [
      'export-limit',
      'grid-signal',
      'peak-limit',
    ]);
  });

  test('the library of strategies describes each parameter in both languages, and what is read and commanded', async () => {
    const { strategies } = (await gateway().ok('READONLY', 'GET', STRATEGIES)) as {
      strategies: { id: string }[];
    };
    for (const { id } of strategies) {
      const { strategy } = await gateway().ok('READONLY', 'GET', `${STRATEGIES}/${id}`);
      const { parameters } = strategy as { parameters: Parameter[] };
      for (const { name, display_name: title } of parameters.flatMap((each) => [
        each,
        ...(each.parameters ?? []),
      ]))
        assert.ok(title['en'] && title['de'], `${id} ${name}`);
    }
    const { strategy } = await gateway().ok('READONLY', 'GET', `${STRATEGIES}/surplus-loads`);
    const { reads, commands, parameters } = strategy as {
      reads: string[];
      commands: string[];
      parameters: Parameter[];
    };
    assert.deepEqual(reads, ['meter', 'battery_soc']);
    assert.deepEqual(commands, ['loads.on', 'loads.off']);
    assert.deepEqual(
      parameters.filter(({ required }) => required).map(({ name }) => name),
      ['meter', 'loads'],
    );
  });

  test('the library of strategies makes an ordinary rule with a readable script that keeps all its parameters', async () => {
    const rule = await made('surplus-loads', 'sun', { meter: { ...meter, inverted: true }, loads: [load] });
    const { rule: shown } = await gateway().ok('READONLY', 'GET', `${RULES}/sun`);
    assert.deepEqual(shown, rule);
    assert.equal(rule.strategy?.id, 'surplus-loads');
    assert.deepEqual(rule.strategy?.parameters['loads'], [load]);
    assert.equal(rule.strategy?.parameters['import_w'], 200);
    assert.match(
      codeOf(rule),
      /meter = \{ device = 'battery', attribute = 'grid_total_power', factor = -1 \}/,
    );
    const { script } = await gateway().ok('OWNER', 'POST', `${STRATEGIES}/surplus-loads/script`, {
      parameters: rule.strategy?.parameters,
    });
    assert.deepEqual(script, rule.script, 'its parameters give the same script again');
    const check = await gateway().ok('OWNER', 'POST', `${RULES}/check`, { script: rule.script });
    assert.deepEqual(check, {});
  });

  test('the library of strategies changes parameters of the same rule, and null restores the default', async () => {
    const rule = await made('surplus-loads', 'changing', { ...surplus, import_w: 50 });
    const change = async (parameters: Json): Promise<StrategyRule> =>
      (await gateway().ok('OWNER', 'POST', `${RULES}/changing/update_parameters`, { parameters }))[
        'rule'
      ] as StrategyRule;
    const changed = await change({ hold_s: 7 });
    assert.equal(changed.id, rule.id);
    assert.deepEqual(changed.strategy?.parameters, { ...rule.strategy?.parameters, hold_s: 7 });
    assert.match(codeOf(changed), /hold_s = 7,/);
    assert.equal((await change({ import_w: null })).strategy?.parameters['import_w'], 200);
    const refused = await gateway().call('OWNER', 'POST', `${RULES}/changing/update_parameters`, {
      parameters: { hold_s: -1 },
    });
    assert.deepEqual(
      [refusal(refused), fieldsOf(refused)],
      ['422 invalid_strategy_parameters', ['parameters.hold_s']],
    );
  });

  test('the library of strategies lets a person take the script over, and keeps the parameters when the same text is saved', async () => {
    const rule = await made('daily', 'mine', daily);
    const save = async (code: string): Promise<StrategyRule> =>
      (
        await gateway().ok('OWNER', 'POST', `${RULES}/mine/update_script`, {
          script: { code: Buffer.from(code).toString('base64'), runtime_version: 'V3' },
        })
      )['rule'] as StrategyRule;
    assert.deepEqual((await save(codeOf(rule))).strategy, rule.strategy);
    const own = await save(`${codeOf(rule)}\n-- mine`);
    assert.equal(own.id, rule.id);
    assert.equal(own.strategy, undefined);
  });
});
