/** Dry runs on the whole gateway: the real sandbox, real devices on MQTT, and what they recorded. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { STUCK_BOMB } from '../../scripts/support/script-zoo.ts';
import type { MockDevice } from '../support/mock-device.ts';
import { type Answer, refusal, type TestGateway, useTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { RULES, startRuleGateway, WITH_SANDBOX, withRules } from './rule-support.ts';

const DRY_RUN = `${RULES}/dry_run`;
const HOUR_S = 3_600;

interface Report {
  end: string;
  limit?: string;
  ended_at: string;
  entries: ({ at: string; kind: string } & Record<string, unknown>)[];
  truncated: boolean;
  counts: Record<string, number>;
  read: { device_id: string; attribute: string }[];
}

type Version = 'V1' | 'V3';
const scriptOf = (code: string, version: Version = 'V3', interval?: string): object => ({
  code: Buffer.from(code).toString('base64'),
  runtime_version: version,
  ...(interval !== undefined && { exec_interval: interval }),
});

const attempt = (gateway: TestGateway, body: object): Promise<Answer> =>
  gateway.call('OWNER', 'POST', DRY_RUN, body);

async function dryRun(gateway: TestGateway, body: object): Promise<Report> {
  const { dry_run: report } = await gateway.ok('OWNER', 'POST', DRY_RUN, body);
  return report as Report;
}

const ENDLESS = `while true do pcall(function() while true do end end) system.delay(1) end`;

/** Starts a long dry run and waits until it is the one that is going on. */
async function occupied<Result extends { status: number }>(
  gateway: TestGateway,
  period: object,
  start: () => Promise<Result>,
): Promise<{ answer: Promise<Result> }> {
  const begin = () => {
    const begun = { answer: start(), isOver: false };
    const isOver = (): void => void (begun.isOver = true);
    begun.answer.then(isOver, isOver);
    return begun;
  };
  let first = begin();
  await until(async () => {
    const probe = await attempt(gateway, { ...period, script: scriptOf('') });
    // It may be the first one that came too late.
    if (first.isOver) first = begin();
    else return refusal(probe) === '409 dry_run_active';
    return false;
  });
  return first;
}

/** The hour before `nowS`, which begins with a minute. */
const hourBefore = (nowS: number): { from: number; to: number } => ({ from: nowS - HOUR_S, to: nowS });
const minuteOfNow = (): number => Math.floor(Date.now() / 60_000) * 60;
const iso = (epochS: number): string => new Date(epochS * 1_000).toISOString();
const texts = ({ entries }: Report, kind: string): unknown[] =>
  entries.filter((entry) => entry.kind === kind).map(({ message }) => message);

describe('a dry run is refused', () => {
  const gateway = useTestGateway();
  const period = hourBefore(minuteOfNow());
  const script = scriptOf('x = 1');

  test('a dry run is refused when a user asks', async () => {
    const answer = await gateway().call('USER', 'POST', DRY_RUN, { ...period, script });
    assert.equal(refusal(answer), '403 insufficient_role');
  });

  const bodies: [title: string, body: object, fields: string[]][] = [
    ['without anything', {}, ['from', 'to']],
    ['without a script or a rule', period, ['']],
    ['with an empty rule', { ...period, rule_id: '' }, ['']],
    ['with a script that is no base64', { ...period, script: { ...script, code: '*' } }, ['script.code']],
    ['with a time that is none', { ...period, from: 'yesterday', script }, ['from']],
    ['with an end before its beginning', { from: period.to, to: period.from, script }, ['from']],
    ['of the future', { from: period.to + 7_200, to: period.to + 10_000, script }, ['from']],
    ['of more than seven days', { from: period.to - 7 * 86_400 - 1, to: period.to, script }, ['to']],
  ];
  for (const [title, body, fields] of bodies)
    test(title, async () => {
      const answer = await gateway().call('OWNER', 'POST', DRY_RUN, body);
      assert.equal(answer.status, 400, JSON.stringify(answer.body));
      const { errors } = answer.body as { errors: { code: string; details: { field: string } }[] };
      assert.deepEqual(
        errors.map(({ code, details }) => [code, details.field]),
        fields.map((field) => ['invalid_body', field]),
      );
    });

  test('a dry run is refused when the rule is unknown', async () => {
    const answer = await gateway().call('OWNER', 'POST', DRY_RUN, { ...period, rule_id: 'nobody' });
    assert.equal(refusal(answer), '404 rule_not_found');
  });

  test('a dry run is refused where no rules run', async () => {
    const answer = await gateway().call('OWNER', 'POST', DRY_RUN, { ...period, script });
    assert.equal(refusal(answer), '422 rule_sandbox_off');
  });
});

describe('a dry run on recorded telemetry', () => {
  const nowS = minuteOfNow();
  const period = hourBefore(nowS);
  let battery: MockDevice;
  let relay: MockDevice;
  const gateway = useTestGateway(WITH_SANDBOX, async (started) => {
    battery = await started.provision('Battery');
    relay = await started.provision('Relay');
    for (const device of [battery, relay]) await device.connect();
    // One value every minute of the hour, which is the number of the minute.
    await Promise.all(
      Array.from({ length: 60 }, (_, minute) =>
        battery.telemetry({ timestamp: period.from + minute * 60, battery_soc: minute, status: 'idle' }),
      ),
    );
    await until(async () => (await attempt(started, { ...period, script: scriptOf('') })).status === 200);
  });

  const SWITCHING = `
    local battery, relay = enapter.device('battery'), enapter.device('relay')
    battery.telemetry.on_update('soc', function(soc)
      if soc == 30 then
        enapter.log('half past')
        storage.write('switched', true)
        local payload, message = relay.execute_command('set_charge_limit', { limit_w = 100 })
        enapter.log(tostring(payload and next(payload)) .. ' ' .. tostring(message))
      end
    end)`;

  test('a dry run on recorded telemetry reports what a rule would have done, and does none of it', async () => {
    const report = await dryRun(gateway(), { ...period, script: scriptOf(SWITCHING) });
    const at = iso(period.from + 30 * 60);
    assert.deepEqual(report, {
      from: iso(period.from),
      to: iso(period.to),
      end: 'period_ended',
      ended_at: iso(period.to),
      entries: [
        { at, kind: 'log', severity: 'info', message: 'half past' },
        { at, kind: 'storage', store: 'rule', key: 'switched', value: 'true' },
        {
          at,
          kind: 'command',
          device_id: relay.id,
          name: 'set_charge_limit',
          arguments: { limit_w: 100 },
        },
        { at, kind: 'log', severity: 'info', message: 'nil nil' },
      ],
      truncated: false,
      counts: { log: 2, storage: 1, command: 1 },
      read: [{ device_id: battery.id, attribute: 'battery_soc' }],
    });
    // A command that is sent after it comes first: nothing was on its way.
    relay.obey();
    await gateway().ok('USER', 'POST', `/v3/devices/${relay.id}/commands/execute`, {
      name: 'set_mode',
      arguments: { mode: 'backup' },
    });
    assert.deepEqual(
      relay.requests.map(({ name }) => name),
      ['set_mode'],
    );
    const { total_count: executions } = await gateway().ok(
      'USER',
      'GET',
      '/v3/site/commands/executions?name.in=set_charge_limit',
    );
    assert.equal(executions, 0);
    const { total_count: count } = await gateway().ok('READONLY', 'GET', RULES);
    assert.equal(count, 0);
  });

  test('a dry run on recorded telemetry reads values as they were, by polling as well, and earlier averages', async () => {
    const code = `
      local battery = enapter.device('battery')
      scheduler.add(20 * 60000, function()
        enapter.log(string.format('%d %s %.1f', battery.telemetry.now('battery_soc'), battery.telemetry.now('status'),
          battery.telemetry.avg('battery_soc', '2m')))
      end)`;
    const report = await dryRun(gateway(), { ...period, script: scriptOf(code) });
    // At the last instant of the period the value of the minute before is too old for a live rule as well.
    assert.deepEqual(texts(report, 'log'), ['20 idle 19.0', '40 idle 39.0']);
    assert.match(String(texts(report, 'error')), /bad argument #2 to 'format'/);
    assert.deepEqual(
      report.read.map(({ attribute }) => attribute),
      ['battery_soc', 'status'],
    );
  });

  test('a dry run on recorded telemetry takes script and storage of an existing rule, and changes neither', async () => {
    const rules = withRules(gateway());
    await rules.create(
      'counting',
      `storage.write('count', (storage.read('count') or 0) + 1)
      enapter.log('counted')
      scheduler.add(1200000, function()
        storage.write('count', storage.read('count') + 1)
        enapter.log('count ' .. storage.read('count'))
      end)`,
    );
    await rules.heard('counting', /^counted$/);
    const again = async (): Promise<unknown[]> =>
      texts(await dryRun(gateway(), { ...period, rule_id: 'counting' }), 'log');
    const first = await again();
    assert.deepEqual(first, ['counted', 'count 3', 'count 4', 'count 5']);
    assert.deepEqual(await again(), first);
    // Another script for it, as in an editor, with its storage.
    const changed = scriptOf(`enapter.log('stored ' .. storage.read('count'))`);
    const report = await dryRun(gateway(), { ...period, rule_id: 'counting', script: changed });
    assert.deepEqual(texts(report, 'log'), ['stored 1']);
    assert.equal(await rules.state('counting'), 'STARTED');
    assert.deepEqual(await rules.messages('counting'), ['rule started', 'counted']);
  });

  test('a dry run on recorded telemetry runs a V1 rule at every interval', async () => {
    const code = `local soc = enapter.device('battery').telemetry.now('battery_soc')
      if soc and soc % 25 == 0 then enapter.log(tostring(soc), 'warning') end`;
    const report = await dryRun(gateway(), {
      from: iso(period.from),
      to: iso(period.to),
      script: scriptOf(code, 'V1', '1m'),
    });
    assert.deepEqual(
      report.entries.map(({ at, severity, message }) => [at, severity, message]),
      [0, 25, 50].map((minute) => [iso(period.from + minute * 60), 'warning', String(minute)]),
    );
  });

  test('a dry run on recorded telemetry ends a runaway, while rules beside it go on', async () => {
    const rules = withRules(gateway());
    await rules.create('neighbour', `scheduler.add(50, function() enapter.log('tick') end)`);
    await rules.heard('neighbour', /tick/);
    const report = await dryRun(gateway(), { ...period, script: scriptOf(STUCK_BOMB) });
    assert.equal(report.end, 'failed');
    assert.match(String(texts(report, 'error')), /stuck in a built-in function/);
    const ticks = await rules.count('neighbour', /tick/);
    await rules.heard('neighbour', /tick/, Math.min(ticks + 1, 40));
    assert.equal(await rules.count('neighbour', /starts again/), 0);
  });

  test('a dry run on recorded telemetry is one at a time, and ends with its caller', async () => {
    const caller = new AbortController();
    const first = await occupied(gateway(), period, () =>
      fetch(`${gateway().origin}${DRY_RUN}`, {
        method: 'POST',
        headers: { 'X-Service-Auth-Token': gateway().token('OWNER') },
        body: JSON.stringify({ ...period, script: scriptOf(ENDLESS) }),
        signal: caller.signal,
      }),
    );
    caller.abort();
    await assert.rejects(first.answer);
    await until(async () => (await attempt(gateway(), { ...period, script: scriptOf('') })).status === 200);
  });
});

test('a dry run whose sandbox is killed says so, and the next one works', async (t) => {
  const rules = await startRuleGateway(t);
  const { gateway } = rules;
  const period = hourBefore(minuteOfNow());
  const works = async (): Promise<boolean> =>
    (await attempt(gateway, { ...period, script: scriptOf('') })).status === 200;
  await until(works);
  const first = await occupied(gateway, period, () =>
    attempt(gateway, { ...period, script: scriptOf(ENDLESS) }),
  );
  process.kill(rules.sandboxPid(), 'SIGKILL');
  assert.equal(refusal(await first.answer), '503 unavailable');
  await until(works);
});
