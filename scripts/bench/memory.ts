/**
 * Anonymous memory (Pss_Anon) of all programs of the gateway: at rest, with one rule, and with one Lua device that polls an
 * inverter over Modbus TCP beside it. Pages of files, such as the runtime's own, are left out: the system drops and
 * rereads them.
 */
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { addFieldDevices, startFieldDevices } from '../support/field-site.ts';
import { createGatewayClient } from '../support/gateway-client.ts';
import { anonymousBytes, createTokens, programOf, withGateway } from '../support/gateway-process.ts';
import { createRule, waitForRule } from '../support/rule-calls.ts';

interface Parameters {
  /** From a change until memory is measured. */
  settleS: number;
  /** For how long it is measured, once a second. */
  seconds: number;
  [name: string]: number;
}

const MIB = 1_048_576;

const RULE = `
local seconds = 0
scheduler.add(1000, function() seconds = seconds + 1 end)
`;

export const benchmark: Benchmark<Parameters> = {
  name: 'memory',
  describe: 'Anonymous memory at rest, with one rule, and with one Lua device beside it.',
  small: { settleS: 1, seconds: 1 },
  large: { settleS: 60, seconds: 30 },
  isApart: true,
  run: async (parameters, report) => {
    const clock = createSystemClock();
    const field = await startFieldDevices({ first: 0, count: 1 });
    try {
      await withGateway({ clock }, async (home, { pid }) => {
        const tokens = await createTokens(home, 'OWNER', 1);
        const client = createGatewayClient({ baseUrl: home.baseUrl, tokens, clock });
        await measure('at rest', [pid], { clock, report, ...parameters });
        await createRule(client, 'rule', RULE);
        await waitForRule(client, clock, 'rule');
        const sandbox = programOf(pid, 'rule-sandbox');
        await measure('one rule', [pid, sandbox], { clock, report, ...parameters });
        const address = `tcp://127.0.0.1:${field.ports[0]}`;
        await addFieldDevices(client, home, tokens[0] ?? '', [{ address, inverterUnit: 1, meterUnit: 2 }]);
        const all = [pid, sandbox, programOf(pid, 'field-module')];
        await measure('one rule and one Lua device', all, { clock, report, ...parameters });
      });
    } finally {
      field.stop();
      clock.close();
    }
    return undefined;
  },
};

interface Measuring {
  clock: Clock;
  report: Report;
  settleS: number;
  seconds: number;
}

/** Waits until the programs have settled, then reports the mean of all together and of each. */
async function measure(
  label: string,
  pids: readonly number[],
  { clock, report, settleS, seconds }: Measuring,
): Promise<void> {
  await clock.sleep(settleS * 1_000);
  const samples: number[][] = [];
  for (let second = 0; second < seconds; second += 1) {
    samples.push(pids.map(anonymousBytes));
    await clock.sleep(1_000);
  }
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const totals = samples.map((each) => each.reduce((sum, value) => sum + value, 0));
  report(`${label}: anonymous, mean`, mean(totals) / MIB, 'MiB');
  report(`${label}: anonymous, largest`, Math.max(...totals) / MIB, 'MiB');
  for (const [place, name] of PROGRAMS.slice(0, pids.length).entries())
    report(`${label}: ${name}, anonymous, mean`, mean(samples.map((each) => each[place] ?? 0)) / MIB, 'MiB');
}

const PROGRAMS = ['gateway', 'rule sandbox', 'communication module'];
