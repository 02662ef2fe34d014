/** `npm run check -- fleet`: do the shipped dashboard and alerts tell the truth of many boxes in one engine? */
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { fleetCheck, FLEET_ENGINE } from './fleet/run.ts';
import { PROGRAMS } from '../build.ts';
import { parseWords, runScript, whole } from '../support/arguments.ts';
import { packPrograms } from '../support/packed-programs.ts';
import { isInstalled } from './targets/programs.ts';

const HELP = `Runs many gateways into one VictoriaMetrics and checks the dashboard and alerts for fleets in docs/monitoring.

  npm run check -- fleet [options]

  --gateways N      number of gateways, each with 1 to 5 devices of 20 attributes at 1 Hz (default 20)
  --seconds N       time for which they send before the check (default 120)
  --source          run the sources instead of bundling them first

Evaluates every expression of fleet-dashboard.json and fleet-alerts.yml and compares it, box by box, with the gateway's own
history. The clock of one box is an hour behind. Prints what a box and the engine need. The exit code is 1 if an answer is
wrong. Needs the package victoria-metrics.
`;

const MEGABYTE = 1_000_000;

async function main(): Promise<number> {
  const text = { type: 'string' } as const;
  const values = parseWords({
    help: { type: 'boolean' },
    source: { type: 'boolean' },
    gateways: text,
    seconds: text,
  });
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  if (values.help || !FLEET_ENGINE.every(isInstalled)) {
    say(
      values.help
        ? HELP
        : 'victoria-metrics is not installed (package victoria-metrics): nothing was checked',
    );
    return 0;
  }
  const clock = createSystemClock();
  const packed = values.source ? undefined : await packPrograms(PROGRAMS);
  try {
    const report = await fleetCheck({
      gateways: whole('gateways', values.gateways, 2, 100) ?? 20,
      seconds: whole('seconds', values.seconds, 15, 86_400) ?? 120,
      program: packed ?? 'source',
      clock,
      say,
    });
    say(
      `${report.samplesPerS.toFixed(0)} samples/s of ${report.boxes} boxes, ${(report.boxBytes / MEGABYTE).toFixed(0)} MB a box`,
    );
    say(
      `VictoriaMetrics: ${report.processorUs.toFixed(1)} µs and ${report.bytesPerSample.toFixed(1)} bytes a sample, ${(report.engineBytes / MEGABYTE).toFixed(0)} MB resident`,
    );
    for (const problem of report.problems) say(`  ${problem}`);
    say(`${report.compared} answers compared, ${report.problems.length} are wrong`);
    return report.problems.length === 0 ? 0 : 1;
  } finally {
    clock.close();
    packed?.remove();
  }
}

await runScript(main);
