/** Dry runs in the sandbox's main thread, with real threads and a gateway that records its messages. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { STUCK_BOMB } from '../../../scripts/support/script-zoo.ts';
import { LIMITS, type Limits } from '../../../src/lib/limits.ts';
import { DryRunHost } from '../../../src/scripting/rule-sandbox/dry-run-host.ts';
import type { FromSandbox } from '../../../src/protocol/rule-sandbox.ts';
import { system } from '../../support/lua.ts';
import { until } from '../../support/until.ts';
import { recordingLog } from '../../support/workspace.ts';

const PERIOD = { fromMs: Date.UTC(2026, 2, 1), toMs: Date.UTC(2026, 2, 2) };

type Over = FromSandbox & { type: 'dry_run_over' };

function startHost(options: { limits?: Partial<Limits['rules']['dryRun']>; isGatewayGone?: boolean } = {}) {
  const { log, lines } = recordingLog(system);
  const messages: FromSandbox[] = [];
  const host = new DryRunHost({
    clock: system,
    log,
    limits: {
      ...LIMITS,
      rules: { ...LIMITS.rules, dryRun: { ...LIMITS.rules.dryRun, ...options.limits } },
    },
    site: () => ({ timeZone: 'UTC' }),
    send: async (message) => {
      messages.push(message);
      return options.isGatewayGone !== true;
    },
  });
  after(() => host.stop());
  return {
    host,
    lines,
    messages,
    begin: (dryRun: number, code: string) => {
      const rule = { id: 'r-1', slug: 'rule', runtimeVersion: 'V3', code, execIntervalMs: 0 } as const;
      host.receive({ type: 'dry_run', dryRun, rule, period: PERIOD });
    },
    /** Waits for the end of a dry run. */
    over: async (dryRun: number): Promise<Over> => {
      const find = (): Over | undefined =>
        messages.find(
          (message): message is Over => message.type === 'dry_run_over' && message.dryRun === dryRun,
        );
      await until(() => find() !== undefined);
      return find() as Over;
    },
  };
}

describe('the host of dry runs', () => {
  test('the host of dry runs ends a stuck script with its thread, and reports what it did before', async () => {
    const { begin, over } = startHost();
    begin(1, `enapter.log('before') system.delay(5000) enapter.log('later') ${STUCK_BOMB}`);
    const { report } = await over(1);
    assert.deepEqual(
      report.entries.map((entry) => [entry.atMs - PERIOD.fromMs, 'message' in entry && entry.message]),
      [
        [0, 'before'],
        [5_000, 'later'],
        [5_000, 'execution time exceeded: stuck in a built-in function'],
      ],
    );
    assert.deepEqual([report.end, report.counts], ['failed', { log: 2, error: 1 }]);
  });

  test('the host of dry runs ends a script that never comes to its own limit of time', async () => {
    const { begin, over } = startHost({ limits: { durationMs: 10, graceMs: 500 } });
    // An answer that never comes.
    begin(1, 'enapter.devices()');
    const { report } = await over(1);
    assert.deepEqual([report.end, report.limit], ['limit_reached', 'time']);
  });

  test('the host of dry runs reports nothing more of one that was ended from outside, or by the next one', async () => {
    const { host, messages, begin, over } = startHost();
    begin(1, 'enapter.devices()');
    host.receive({ type: 'dry_run_end', dryRun: 1 });
    begin(2, 'enapter.devices()');
    host.receive({ type: 'dry_run_end', dryRun: 1 });
    host.receive({ type: 'dry_run_answer', dryRun: 1, id: 1, ok: true, result: [] });
    begin(3, `enapter.log('third')`);
    assert.equal((await over(3)).report.end, 'finished');
    assert.deepEqual(
      messages.flatMap((message) => (message.type === 'dry_run_over' ? [message.dryRun] : [])),
      [3],
    );
  });

  test('the host of dry runs passes questions and answers on', async () => {
    const { host, messages, begin, over } = startHost();
    begin(1, `for _, device in ipairs(enapter.devices()) do enapter.log(device.name) end`);
    const asked = () => messages.find((message) => message.type === 'dry_run_request');
    await until(() => asked() !== undefined);
    const id = asked()?.id ?? 0;
    assert.equal(asked()?.method, 'list_devices');
    const device = { id: 'd', slug: 's', name: 'Meter', type: 'LUA' };
    host.receive({ type: 'dry_run_answer', dryRun: 1, id, ok: true, result: [device] });
    const { report } = await over(1);
    assert.deepEqual(report.entries, [
      { atMs: PERIOD.fromMs, kind: 'log', severity: 'info', message: 'Meter' },
    ]);
  });

  test('the host of dry runs tells the script when a request does not go out, and its log when the end does not', async () => {
    const { lines, begin, over } = startHost({ isGatewayGone: true });
    begin(1, `enapter.log(select(2, enapter.devices()))`);
    const { report } = await over(1);
    assert.deepEqual(
      report.entries.map((entry) => 'message' in entry && entry.message),
      ['the request is too large'],
    );
    await until(() => lines.some(({ message }) => message === 'the end of a dry run could not be told'));
  });
});
