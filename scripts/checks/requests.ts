/**
 * `npm run check -- requests`: starts a gateway, reads the description that it serves, and sends it generated
 * requests to every operation. Fails when an answer is not one that the description promises.
 */
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { withStockedGateway } from './requests/gateway.ts';
import { checkRequests, type RequestCheckReport } from './requests/run.ts';
import { parseWords, runScript } from '../support/arguments.ts';

const HELP = `Usage: npm run check -- requests [--requests <n> --seed <n>]

Sends generated requests (valid, with one fault, hostile; whole, in pieces, cut off, in odd
encodings) to every operation that a new gateway describes, and checks every answer against
the description.

  --requests <n>  number of requests (default 10000)
  --seed <n>      repeat a run (default: a new seed, printed)
  --help          this text`;

const WIDTH = 8;

interface Options {
  requests: number;
  seed: number;
}

async function run(options: Options): Promise<RequestCheckReport> {
  const clock = createSystemClock();
  try {
    return await withStockedGateway({ clock, seed: options.seed }, ({ home, tokens, stock }) =>
      checkRequests({ ...options, origin: home.baseUrl, tokens, stock, width: WIDTH }),
    );
  } finally {
    clock.close();
  }
}

function print(report: RequestCheckReport, seed: number, tookS: number): void {
  console.log(`seed          ${seed}`);
  console.log(`requests      ${report.requests} in ${tookS.toFixed(1)} s`);
  console.log(`operations    ${report.operations}, on ${report.endpoints} paths`);
  const statuses = [...report.byStatus].toSorted(([a], [b]) => a - b);
  for (const [status, count] of statuses) console.log(`status ${status}    ${count}`);
  console.log(`aborted       ${report.aborted}`);
  console.log(`never good    ${report.neverGood.join(', ') || 'none'}`);
  console.log(`failures      ${report.failures.length}`);
  for (const failure of report.failures) console.log(`  ${failure}`);
}

async function main(): Promise<number> {
  const values = parseWords({
    requests: { type: 'string', default: '10000' },
    seed: { type: 'string' },
    help: { type: 'boolean', default: false },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
  const startedMs = performance.now();
  const report = await run({ requests: Number(values.requests), seed });
  print(report, seed, (performance.now() - startedMs) / 1_000);
  return report.failures.length === 0 ? 0 : 1;
}

await runScript(main);
