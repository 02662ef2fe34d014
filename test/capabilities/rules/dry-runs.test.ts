/** The gateway's side of dry runs: one at a time, ended with its caller, and what it is asked. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../../src/lib/errors.ts';
import type { ReadSeries } from '../../../src/capabilities/rules/model.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import type { DryRunReport } from '../../../src/protocol/dry-run.ts';
import type { RecordedRequest, RuleAnswer } from '../../../src/protocol/rule-sandbox.ts';
import { settle } from '../../support/test-clock.ts';
import { type Sandboxed, startSandbox } from './sandbox-support.ts';
import { batteryManifest, newRule, notingRunner, startRecords, startSite } from './support.ts';

const refused = (code: string) => (error: unknown) => error instanceof GatewayError && error.code === code;
const SCRIPT = { code: 'x = 1', runtimeVersion: 'V3', execIntervalMs: undefined } as const;
const FOR_EVER = new AbortController().signal;
const HOUR_MS = 3_600_000;
const REPORT: DryRunReport = { end: 'finished', endedAtMs: 1, entries: [], counts: {} };

/** Begins a dry run of the last hour. */
function begin({ rules, clock }: Sandboxed, signal = FOR_EVER) {
  const nowMs = clock.wallMs();
  return rules.dryRun(
    { script: SCRIPT, rule: undefined, period: { fromMs: nowMs - HOUR_MS, toMs: nowMs } },
    signal,
  );
}

const numberOf = ({ program }: Sandboxed): number => program.of('dry_run').at(-1)?.dryRun ?? 0;
const endsOf = ({ program }: Sandboxed): number[] => program.of('dry_run_end').map(({ dryRun }) => dryRun);

describe('a dry run is refused', () => {
  test('a dry run is refused where nothing runs rules', async (t) => {
    const { rules, clock } = await startRecords(t);
    const period = { fromMs: clock.wallMs() - 1, toMs: clock.wallMs() };
    await assert.rejects(
      rules.dryRun({ script: SCRIPT, rule: undefined, period }, FOR_EVER),
      refused('rule_sandbox_off'),
    );
  });

  test('a dry run is refused for a rule that does not exist, and for a period that is empty, to come or too long', async (t) => {
    const { rules, clock } = await startRecords(t);
    const { runner, told } = notingRunner();
    rules.start(runner);
    const nowMs = clock.wallMs();
    const { periodMs } = LIMITS.rules.dryRun;
    const attempt = (fromMs: number, toMs: number, rule: string | undefined = 'a') =>
      rules.dryRun({ rule, script: undefined, period: { fromMs, toMs } }, FOR_EVER);
    await assert.rejects(attempt(nowMs - 1, nowMs), refused('rule_not_found'));
    rules.create(newRule('a'));
    told.length = 0;
    await assert.rejects(attempt(nowMs - 1, nowMs - 1), refused('invalid_body'));
    await assert.rejects(attempt(nowMs, nowMs + 1_000), refused('invalid_body'));
    await assert.rejects(
      rules.dryRun(
        { rule: undefined, script: undefined, period: { fromMs: nowMs - 1, toMs: nowMs } },
        FOR_EVER,
      ),
      refused('invalid_body'),
    );
    await assert.rejects(attempt(nowMs - periodMs - 1, nowMs), refused('invalid_body'));
    assert.deepEqual(told, []);
    const report = await attempt(nowMs - periodMs, nowMs + HOUR_MS);
    assert.deepEqual(report.period, { fromMs: nowMs - periodMs, toMs: nowMs });
    assert.deepEqual(told, ['dry run a']);
  });

  test('a dry run is refused when the sandbox does not start in time, and begins with it when it does', async (t) => {
    const site = await startSandbox(t);
    const late = assert.rejects(begin(site), refused('unavailable'));
    assert.equal(site.program.isReleased, false);
    await site.clock.advance(LIMITS.processes.helloMs);
    await late;
    assert.equal(site.program.isReleased, true);
    const inTime = begin(site);
    site.program.hello();
    site.program.say({ type: 'dry_run_over', dryRun: numberOf(site), report: REPORT });
    await inTime;
    assert.deepEqual(
      site.program.of('dry_run').map(({ dryRun }) => dryRun),
      [2],
    );
    assert.equal(site.program.isReleased, true);
  });

  test('a dry run is refused while another one is going on', async (t) => {
    const site = await startSandbox(t);
    site.program.hello();
    const first = begin(site);
    await assert.rejects(begin(site), refused('dry_run_active'));
    site.program.say({ type: 'dry_run_over', dryRun: numberOf(site), report: REPORT });
    await first;
    assert.equal(site.program.of('dry_run').length, 1);
  });

  test('a dry run is refused when its caller has left already', async (t) => {
    const site = await startSandbox(t);
    site.program.hello();
    await assert.rejects(begin(site, AbortSignal.abort(new Error('gone'))), /gone/);
    assert.deepEqual(site.program.of('dry_run'), []);
  });
});

describe('a dry run ends', () => {
  test('a dry run ends when its caller leaves', async (t) => {
    const site = await startSandbox(t);
    site.program.hello();
    const caller = new AbortController();
    const first = begin(site, caller.signal);
    caller.abort(new Error('gone'));
    await assert.rejects(first, /gone/);
    assert.deepEqual(endsOf(site), [1]);
    // What the first one says late is not taken for the second one's.
    const second = begin(site);
    site.program.say({ type: 'dry_run_over', dryRun: 1, report: { ...REPORT, end: 'failed' } });
    site.program.say({ type: 'dry_run_over', dryRun: 2, report: REPORT });
    assert.equal((await second).end, 'finished');
  });

  test('a dry run ends when the sandbox ends', async (t) => {
    const site = await startSandbox(t);
    site.program.hello();
    const first = begin(site);
    site.program.die();
    await assert.rejects(first, refused('unavailable'));
    site.program.hello();
    const second = begin(site);
    site.program.say({ type: 'dry_run_over', dryRun: numberOf(site), report: REPORT });
    await second;
  });

  test('a dry run ends when the sandbox says nothing any more', async (t) => {
    const site = await startSandbox(t);
    site.program.hello();
    const refusal = assert.rejects(begin(site), refused('unavailable'));
    const { durationMs, graceMs } = LIMITS.rules.dryRun;
    await site.clock.advance(durationMs + 2 * graceMs);
    await refusal;
    assert.deepEqual(endsOf(site), [1]);
  });
});

describe('a dry run asks', () => {
  const callMethod = async (
    site: Sandboxed,
    id: number,
    request: RecordedRequest,
  ): Promise<RuleAnswer | undefined> => {
    site.program.say({ type: 'dry_run_request', dryRun: numberOf(site), id, ...request });
    for (let turn = 0; turn < 100 && site.program.of('dry_run_answer').length < id; turn++) await settle();
    const {
      type: _type,
      dryRun: _dryRun,
      id: _id,
      ...answer
    } = site.program.of('dry_run_answer')[id - 1] ?? {};
    return answer as RuleAnswer;
  };

  test('a dry run asks for the rule whose script it is, so that it finds what that has stored', async (t) => {
    const site = await startSandbox(t);
    site.program.hello();
    const rule = site.rules.create(newRule('a'));
    site.rules.storage.write(rule.id, 'key', '5');
    const nowMs = site.clock.wallMs();
    const running = site.rules.dryRun(
      { rule: 'a', script: undefined, period: { fromMs: nowMs - HOUR_MS, toMs: nowMs } },
      FOR_EVER,
    );
    const [told] = site.program.of('dry_run');
    assert.deepEqual(told?.rule, {
      id: rule.id,
      slug: 'a',
      runtimeVersion: 'V3',
      code: 'x = 1',
      execIntervalMs: 0,
      isTraced: false,
    });
    assert.deepEqual(told?.period, { fromMs: nowMs - HOUR_MS, toMs: nowMs });
    const request = { method: 'storage_read', parameters: { store: 'rule', key: 'key' } } as const;
    assert.deepEqual(await callMethod(site, 1, request), { ok: true, result: '5' });
    site.program.say({ type: 'dry_run_over', dryRun: numberOf(site), report: REPORT });
    await running;
    assert.deepEqual(site.rules.require('a').script, rule.script);
    // It is over: nobody is answered any more.
    await callMethod(site, 2, request);
    assert.equal(site.program.of('dry_run_answer').length, 1);
  });

  test('the answer to a dry run names what it read, each attribute once and by its own name', async (t) => {
    const site = await startSandbox(t);
    site.program.hello();
    const { id: deviceId } = site.addDevice({ slug: 'battery', manifest: batteryManifest() });
    const running = begin(site);
    const period = { deviceId, afterMs: 0, toMs: 1 };
    const requests: RecordedRequest[] = [
      { method: 'samples', parameters: { ...period, name: 'battery_soc' } },
      { method: 'samples', parameters: { ...period, name: 'soc' } },
      { method: 'samples', parameters: { ...period, name: 'nothing' } },
      {
        method: 'aggregate_at',
        parameters: { deviceId, name: 'battery_soc', kind: 'avg', windowMs: 1_000, endMs: 1 },
      },
    ];
    for (const [index, request] of requests.entries()) await callMethod(site, index + 1, request);
    site.program.say({ type: 'dry_run_over', dryRun: numberOf(site), report: REPORT });
    assert.deepEqual((await running).read, [{ deviceId, attribute: 'soc' }]);
  });

  test('a dry run is told when the gateway fails to answer', async (t) => {
    const site = await startSandbox(t, {
      callRecordedMethod: async () => {
        throw new Error('broken');
      },
    });
    site.program.hello();
    const caller = new AbortController();
    const running = begin(site, caller.signal);
    const answer = await callMethod(site, 1, { method: 'list_devices', parameters: {} });
    assert.deepEqual(answer, { ok: false, error: 'the gateway failed to answer' });
    caller.abort(new Error('gone'));
    await assert.rejects(running, /gone/);
  });
});

describe('what was recorded', () => {
  const ask = (
    site: Awaited<ReturnType<typeof startSite>>,
    request: RecordedRequest,
    onRead: (series: ReadSeries) => void = () => undefined,
  ): Promise<RuleAnswer> => site.callRecordedMethod(site.rule, request, onRead);
  const no = (error: string): RuleAnswer => ({ ok: false, error });

  test('what was recorded is refused for what does not exist or a rule may not read', async (t) => {
    const site = await startSite(t);
    const { id: deviceId } = site.addDevice({ slug: 'battery', manifest: batteryManifest() });
    const samples = (name: string, id = deviceId) =>
      ask(site, {
        method: 'samples',
        parameters: { deviceId: id, name, afterMs: 0, toMs: 1 },
      });
    assert.deepEqual(await samples('soc', 'nobody'), no('device not found'));
    assert.deepEqual(await samples('nothing'), no('unknown telemetry attribute "nothing"'));
    assert.deepEqual(await samples('secret'), no('unknown telemetry attribute "secret"'));
    const check = (name: string, given: Record<string, number>) =>
      ask(site, {
        method: 'check_command',
        parameters: { deviceId, name, arguments: given },
      });
    assert.deepEqual(await check('explode', {}), no('The device\'s blueprint has no command "explode".'));
    assert.equal((await check('charge', { limit_w: -1 })).ok, false);
    assert.equal((await check('calibrate', {})).ok, false);
  });

  test('what was recorded is read by name or alias, whether the device is there or not', async (t) => {
    const site = await startSite(t);
    const device = site.addDevice({ slug: 'battery', manifest: batteryManifest() });
    const { id: deviceId } = device;
    const nowS = Math.floor(site.clock.wallMs() / 1_000);
    for (const ageS of [30, 20, 10, 0]) await site.measure(device, { timestamp: nowS - ageS, soc: ageS });
    const parameters = { deviceId, afterMs: (nowS - 20) * 1_000, toMs: (nowS - 5) * 1_000 };
    for (const name of ['soc', 'battery_soc'])
      assert.deepEqual(await ask(site, { method: 'samples', parameters: { ...parameters, name } }), {
        ok: true,
        result: {
          before: [(nowS - 20) * 1_000, 20],
          samples: [[(nowS - 10) * 1_000, 10]],
          isComplete: true,
        },
      });
    assert.deepEqual(
      await ask(site, {
        method: 'aggregate_at',
        parameters: { deviceId, name: 'soc', kind: 'max', windowMs: 5_000, endMs: (nowS - 18) * 1_000 },
      }),
      { ok: true, result: 20 },
    );
    assert.deepEqual(
      await ask(site, {
        method: 'check_command',
        parameters: { deviceId, name: 'charge', arguments: { limit_w: 1 } },
      }),
      { ok: true, result: null },
    );
    assert.equal(
      site.commands.list({ deviceIds: undefined, limit: 10, offset: 0 } as never, 'SYSTEM').totalCount,
      0,
    );
  });
});
