/** Every strategy of the library on the simulated house, from its form to its script, in a real browser by the keyboard. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { RULES } from '../flows/rule-support.ts';
import { manifestWith, zipOf } from '../capabilities/blueprints/support.ts';
import type { MockDevice } from '../support/mock-device.ts';
import { sampleBlueprint } from '../support/samples.ts';
import { until } from '../support/until.ts';
import { findBrowser, keyboardOf, NO_BROWSER } from './browser.ts';
import { picture, useConsole } from './support.ts';

interface Parameter {
  name: string;
  kind: string;
  required: boolean;
  type?: string;
  unit?: string;
  min?: number;
  max?: number;
  default?: unknown;
  parameters?: Parameter[];
}

interface Scene {
  /** What the meters show. */
  readings?: Record<string, unknown>;
  /** Attribute of a parameter, where it is not the one of its unit. */
  attributes?: Record<string, string>;
  /** Command of an action, where it is not `Stop`. */
  commands?: Record<string, string>;
  /** What is written into numbers; those without a default have 5000. */
  numbers?: Record<string, string>;
  /** What the page of the rule shows once it acts. */
  acts: string;
}

const NOW_S = Math.floor(Date.now() / 900_000) * 900;
const SUN = { grid: -4_200, soc: 60 };
/** A situation in which each strategy has something to do at once. */
const SCENES: Readonly<Record<string, Scene>> = {
  // Its minute comes while the others are looked at.
  daily: { acts: 'Stop sent to Simulated House' },
  'battery-by-price': {
    readings: {
      soc: 60,
      prices: {
        start: NOW_S,
        step_s: 900,
        values: Array.from({ length: 96 }, (_, step) => 0.5 - step / 400),
      },
    },
    commands: { release: 'Start' },
    acts: 'Simulated House · start',
  },
  'battery-health': { readings: { soc: 95 }, acts: 'set_charge_limit limit_w=0' },
  'battery-reserve': {
    readings: { soc: 20 },
    commands: { release: 'Start' },
    acts: 'Simulated House · stop',
  },
  electrolyser: {
    readings: { ...SUN, electrolyser: 0, tank: 50 },
    attributes: { electrolyser_power: 'Electrolyser', tank: 'Tank' },
    numbers: { start_hold_s: '0' },
    acts: 'set_charge_limit limit_w=500',
  },
  'export-limit': {
    readings: { ...SUN, sun: 4_500 },
    attributes: { pv_power: 'Sun' },
    acts: 'set_charge_limit limit_w=6',
  },
  generator: { readings: { soc: 20 }, commands: { start: 'Start' }, acts: 'Simulated House · start' },
  'grid-signal': { readings: { contact: 1 }, acts: 'set_charge_limit limit_w=4200' },
  'heat-pump': {
    readings: SUN,
    commands: { more: 'Start' },
    numbers: { hold_s: '0' },
    acts: 'Simulated House · start',
  },
  limit: {
    readings: { contact: 9_000 },
    numbers: { hold_s: '0' },
    acts: 'Stop sent to Simulated House',
  },
  'peak-limit': { readings: { grid: 9_000 }, commands: { on: 'Start' }, acts: 'Simulated House · stop' },
  'surplus-charging': {
    readings: { ...SUN, charger: 0 },
    attributes: { charger_power: 'Charger' },
    numbers: { start_hold_s: '0' },
    acts: 'set_charge_limit limit_w=6',
  },
  'surplus-loads': {
    readings: { ...SUN, grid: -9_000 },
    commands: { on: 'Start' },
    numbers: { hold_s: '0' },
    acts: 'Simulated House · start',
  },
};

const READINGS = { grid: 'W', sun: 'W', charger: 'W', electrolyser: 'W', soc: '%', tank: '%', contact: '1' };
const titleOf = (name: string): string => `${name[0]?.toUpperCase()}${name.slice(1)}`;
const MANIFEST = `telemetry:
${Object.entries(READINGS)
  .map(([name, unit]) => `  ${name}: { type: float, display_name: ${titleOf(name)}, unit: '${unit}' }\n`)
  .join('')}  prices: { type: json, json_schema: '{}', display_name: Prices }
`;

describe('strategies of the library', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole({ GATEWAY_RULE_SANDBOX: 'true', GATEWAY_BUILT_IN_MODULE: 'true' });
  let meters: MockDevice;

  const upload = async (files: Record<string, string>): Promise<string> => {
    const { blueprint } = await opened().gateway.ok(
      'OWNER',
      'POST',
      '/v3/blueprints/upload',
      await zipOf(files),
      {
        'Content-Type': 'application/zip',
      },
    );
    return (blueprint as { id: string }).id;
  };

  before(async () => {
    const { gateway } = opened();
    meters = await gateway.provision('Readings', await upload({ 'manifest.yml': manifestWith(MANIFEST) }));
    await meters.connect();
    const { devices } = await gateway.ok('OWNER', 'GET', '/v3/devices');
    await gateway.ok('OWNER', 'POST', '/v3/provisioning/lua_device', {
      name: 'Simulated House',
      runtime_id: (devices as { id: string; type: string }[]).find(({ type }) => type === 'GATEWAY')?.id,
      blueprint_id: await upload(sampleBlueprint('simulated-house')),
    });
  });

  const keyboard = () => keyboardOf(opened().page);

  /** In the place of what is chosen: a list takes the first choice that begins with what is typed. */
  async function select(name: string, text: string): Promise<void> {
    const { page } = opened();
    await keyboard().to(`[name="${name}"]`);
    await page.keyboard.type(text);
    await page.locator(`[name="${name}"] option:checked`, { hasText: text }).waitFor({ state: 'attached' });
  }

  async function fill(parameter: Parameter, scene: Scene, at = parameter.name): Promise<void> {
    const { name, kind, unit } = parameter;
    if (kind === 'list') {
      if ((await opened().page.locator(`[name^="${at}.0."]`).count()) === 0)
        await keyboard().choose('button', 'Add');
      for (const each of parameter.parameters ?? []) await fill(each, scene, `${at}.0.${each.name}`);
    } else if (kind === 'attribute') {
      const byUnit =
        parameter.type === 'json' ? 'Prices' : unit === '%' ? 'Soc' : unit === 'W' ? 'Grid' : 'Contact';
      await select(`${at}.device`, 'Readings');
      await select(`${at}.name`, scene.attributes?.[name] ?? byUnit);
    } else if (kind === 'action' || kind === 'setpoint') {
      await select(`${at}.device`, 'Simulated House');
      await select(
        `${at}.name`,
        kind === 'setpoint' ? 'Set Charge Limit' : (scene.commands?.[name] ?? 'Stop'),
      );
    } else if (kind === 'number' && (parameter.default === undefined || scene.numbers?.[name] !== undefined))
      await keyboard().write(`[name="${at}"]`, scene.numbers?.[name] ?? '5000');
  }

  /** The next minute of the gateway, as a field of an English page takes it. */
  async function nextMinute(): Promise<string> {
    const { site } = await opened().gateway.ok('OWNER', 'GET', '/v3/site');
    const inSeconds = new Date().getSeconds() > 30 ? 120 : 60;
    const time = new Intl.DateTimeFormat('en-US', {
      timeZone: (site as { timezone: string }).timezone,
      hour: '2-digit',
      minute: '2-digit',
    }).format(Date.now() + inSeconds * 1_000);
    return time.replace(/[^\dAP]/g, '');
  }

  async function makeByForm(id: string, name: string, parameters: readonly Parameter[]): Promise<void> {
    const { page, open } = opened();
    const scene = SCENES[id] ?? assert.fail(`${id} has no scene here`);
    await meters.telemetry(scene.readings ?? {});
    await open('#/new-rule');
    await page.getByRole('link', { name: new RegExp(`^${name}`) }).waitFor();
    await keyboard().choose('.ways a', name);
    await page.getByRole('heading', { name }).waitFor();
    await page.locator('[name=slug]').waitFor();
    for (const parameter of parameters)
      if (
        parameter.required ||
        parameter.name in (scene.numbers ?? {}) ||
        (parameter.kind === 'list' && scene.commands?.['on'])
      )
        await fill(parameter, scene);
    if (id === 'daily') {
      await keyboard().to('[name=at]');
      await page.keyboard.type(await nextMinute());
    }
    await keyboard().choose('button', 'Create rule');
    await page.getByRole('heading', { name: id, exact: true }).waitFor();
  }

  const ruleOf = async (id: string) => {
    const { rule } = await opened().gateway.ok('OWNER', 'GET', `${RULES}/${id}`);
    return rule as { strategy?: { parameters: Record<string, unknown> }; state: string };
  };

  /** Another value for the first number that has a default; the rule goes on with it. */
  async function changeWhileItRuns(id: string, parameters: readonly Parameter[]): Promise<void> {
    const { page } = opened();
    const all = parameters.flatMap(({ name, parameters: ofItem, ...parameter }) =>
      ofItem
        ? ofItem.map((each) => ({ ...each, at: `${name}.0.${each.name}` }))
        : [{ ...parameter, name, at: name }],
    );
    const number = all.find(({ kind, default: preset }) => kind === 'number' && typeof preset === 'number');
    assert.ok(number, `${id} has a number with a default`);
    const preset = Number(number.default);
    const wanted = preset < (number.max ?? Number.POSITIVE_INFINITY) ? preset + 1 : preset - 1;
    await keyboard().write(`[name="${number.at}"]`, String(wanted));
    await keyboard().choose('button', 'Save and restart');
    const line = page.locator('.cm-line', { hasText: `${number.name} = ${wanted}` });
    await line.first().waitFor();
    await until(async () => (await ruleOf(id)).state === 'STARTED');
    assert.ok((await ruleOf(id)).strategy, `${id} keeps its form`);
  }

  async function takeOver(id: string, name: string): Promise<void> {
    const { page } = opened();
    await keyboard().to('.cm-content');
    await keyboard().press('Control+End');
    await page.keyboard.type(' -- ours now');
    await keyboard().choose('button', 'Save and run');
    await page.getByRole('heading', { name }).waitFor({ state: 'detached' });
    assert.equal((await ruleOf(id)).strategy, undefined);
  }

  test('every strategy is made by its form, seen acting, changed while it runs and taken over as Lua, by the keyboard alone', async () => {
    const { gateway, page, open } = opened();
    const { strategies } = await gateway.ok('OWNER', 'GET', '/v3/library/strategies');
    const all = strategies as { id: string; name: { en: string } }[];
    assert.deepEqual(all.map(({ id }) => id).toSorted(), Object.keys(SCENES).toSorted());
    const ordered = Object.keys(SCENES).map((id) => all.find((one) => one.id === id) ?? assert.fail(id));
    const parametersOf = async (id: string): Promise<Parameter[]> => {
      const { strategy } = await gateway.ok('OWNER', 'GET', `/v3/library/strategies/${id}`);
      return (strategy as { parameters: Parameter[] }).parameters;
    };
    const lookAtIt = async (id: string, name: string): Promise<void> => {
      await page
        .getByText(SCENES[id]?.acts ?? '')
        .first()
        .waitFor({ timeout: 60_000 });
      if (id === 'surplus-loads') await picture(page, 'strategy-acts');
      await changeWhileItRuns(id, await parametersOf(id));
      await takeOver(id, name);
      await gateway.ok('OWNER', 'DELETE', `${RULES}/${id}`);
    };
    for (const { id, name } of ordered) {
      await makeByForm(id, name.en, await parametersOf(id));
      if (id !== 'daily') await lookAtIt(id, name.en);
    }
    await open('#/rules/daily');
    await lookAtIt('daily', 'At a time of day');
  });
});
