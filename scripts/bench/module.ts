/** One communication module with as many devices as it takes, each polled and reported once a second. */
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { type FieldSite, startFieldDevices, startFieldSite } from '../support/field-site.ts';
import { storedValues, untrueValues } from '../support/field-stored.ts';
import { createGatewayHome, hasBundle, processorMs, anonymousBytes } from '../support/gateway-process.ts';
import { quantile } from '../support/http-load.ts';

interface Parameters {
  devices: number;
  warmUpS: number;
  seconds: number;
  /** One after the other, to one device, which asks the inverter before it answers. */
  commands: number;
  /** 1: a device template with the registers of the sample blueprint in its place. */
  templates: number;
  [name: string]: number;
}

const MIB = 1_048_576;
const SAMPLE_MS = 1_000;
const COMMAND_PAUSE_MS = 130;

export const benchmark: Benchmark<Parameters> = {
  name: 'module',
  describe:
    'A communication module with Lua devices at 1 Hz on the whole gateway: memory, processor, commands.',
  small: { devices: 3, warmUpS: 1, seconds: 3, commands: 3, templates: 0 },
  large: { devices: 100, warmUpS: 15, seconds: 60, commands: 100, templates: 0 },
  isApart: true,
  run: async ({ devices, warmUpS, seconds, commands, templates }, report) => {
    const clock = createSystemClock();
    const home = await createGatewayHome(hasBundle() ? 'bundle' : 'source');
    const field = await startFieldDevices({ first: 0, count: devices });
    try {
      const addresses = field.ports.map((port) => ({
        address: `tcp://127.0.0.1:${port}`,
        inverterUnit: 1,
        meterUnit: 2,
      }));
      const site = await startFieldSite(home, clock, addresses, templates === 0 ? 'sample' : 'template');
      try {
        report('program', hasBundle() ? 'bundle' : 'sources');
        await clock.sleep(warmUpS * 1_000);
        const samples: number[] = [];
        const beginMs = clock.wallMs();
        const usedMs = processorMs(site.modulePid);
        const watch = clock.setRepeating(
          SAMPLE_MS,
          () => void samples.push(anonymousBytes(site.modulePid) / MIB),
        );
        await clock.sleep(seconds * 1_000);
        watch.cancel();
        const share = (processorMs(site.modulePid) - usedMs) / (clock.wallMs() - beginMs);
        const endMs = clock.wallMs();
        const stored = (await storedValues(site.client, clock, site.deviceIds, beginMs)).filter(
          ({ atS }) => atS * 1_000 >= beginMs && atS * 1_000 < endMs - 2_000,
        );
        report('module, share of one core', share * 100, '%');
        report('module, anonymous memory, largest', Math.max(...samples), 'MiB');
        report('module, anonymous memory, at the end', samples.at(-1) ?? 0, 'MiB');
        report(
          'values stored per device and second, of two attributes',
          stored.length / 2 / devices / (seconds - 2),
        );
        report(
          'of them not said by the device at that time',
          untrueValues(stored, await field.polls()).length,
        );
        // Commands of templates only write.
        if (templates === 0) await measureCommands(site, clock, commands, report);
      } finally {
        await site.stop();
      }
    } finally {
      field.stop();
      home.remove();
      clock.close();
    }
    return undefined;
  },
};

/** From the call over HTTP to its answer, which the device gives when the inverter has answered it. */
async function measureCommands(
  { client, deviceIds }: FieldSite,
  clock: Clock,
  count: number,
  report: Report,
): Promise<void> {
  const path = `/devices/${deviceIds[0]}/commands/execute`;
  const tookMs: number[] = [];
  for (let number = 0; number < count; number += 1) {
    const beginMs = clock.monotonicMs();
    await client.json({ method: 'POST', path, body: { name: 'read_settings', arguments: {} } });
    tookMs.push(clock.monotonicMs() - beginMs);
    await clock.sleep(COMMAND_PAUSE_MS);
  }
  tookMs.sort((a, b) => a - b);
  report('a command that asks the inverter, median', quantile(tookMs, 0.5), 'ms');
  report('a command that asks the inverter, 99 %', quantile(tookMs, 0.99), 'ms');
}
