/**
 * Memory of all programs of the gateway: at rest, with one rule, and with one Lua device that polls an inverter over
 * Modbus TCP beside it. Resident memory counts pages that programs share once for each of them, proportional memory
 * (PSS) once in all; the runtime's own file, some 20 MiB of each program, is the most of what they share.
 */
import { readFileSync } from 'node:fs';
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { addFieldDevices, startFieldDevices } from '../support/field-site.ts';
import { createGatewayClient } from '../support/gateway-client.ts';
import { createTokens, programOf, residentBytes, withGateway } from '../support/gateway-process.ts';
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
  describe: 'Resident and proportional memory at rest, with one rule, and with one Lua device beside it.',
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
        const all = [pid, sandbox, programOf(pid, 'communication-module')];
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
  const samples: { resident: number[]; proportional: number }[] = [];
  for (let second = 0; second < seconds; second += 1) {
    samples.push({
      resident: pids.map(residentBytes),
      proportional: pids.reduce((sum, pid) => sum + proportionalBytes(pid), 0),
    });
    await clock.sleep(1_000);
  }
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const totals = samples.map(({ resident }) => resident.reduce((sum, value) => sum + value, 0));
  report(`${label}: resident, mean`, mean(totals) / MIB, 'MiB');
  report(`${label}: resident, largest`, Math.max(...totals) / MIB, 'MiB');
  report(`${label}: proportional, mean`, mean(samples.map(({ proportional }) => proportional)) / MIB, 'MiB');
  for (const [place, name] of PROGRAMS.slice(0, pids.length).entries())
    report(
      `${label}: ${name}, resident, mean`,
      mean(samples.map(({ resident }) => resident[place] ?? 0)) / MIB,
      'MiB',
    );
}

const PROGRAMS = ['gateway', 'rule sandbox', 'communication module'];

/** The pages of a program, each divided by the number of programs that share it (proc_pid_smaps_rollup(5)). */
function proportionalBytes(pid: number): number {
  const line = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
  if (!line) throw new Error(`no Pss for process ${pid}`);
  return Number(line[1]) * 1_024;
}
