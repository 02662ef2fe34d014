/**
 * `npm run check -- clients`: makes clients of the gateway's own description with public generators, and lets each do what an
 * installer's program does: site, provisioning, upload, assignment, command, latest values, series, logs and a rule.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { messageOf } from '../../src/lib/errors.ts';
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import { type Generator, GENERATORS } from './clients/generators.ts';
import { startInverterDevice } from '../simulate/inverter-device.ts';
import { createStatistics } from '../simulate/statistics.ts';
import { parseWords, runScript, UsageError } from '../support/arguments.ts';
import { connectionConfigurationOf } from '../support/connection-configuration.ts';
import { batteryInverterBlueprint, createGatewayClient } from '../support/gateway-client.ts';
import { createTokens, withGateway } from '../support/gateway-process.ts';
import { createRandom } from '../support/random.ts';

const HELP = `Usage: npm run check -- clients [--only <name> --keep]

Fetches client generators into a temporary folder, makes a client of the gateway's
description with each, and runs one story with each client against a new gateway.
Needs npm, python3 with venv, java, mvn and their registries.

  --only <name>  one of: ${GENERATORS.map(({ name }) => name).join(', ')}
  --keep         keep the folder with the clients
  --help         this text`;

/** Telemetry comes once a second. */
const SETTLE_MS = 2_500;

interface Stage {
  clock: Clock;
  folder: string;
  environment: Record<string, string>;
}

/** Runs the story beside a device that the check plays. @throws Error with what the story said */
async function play(words: readonly string[], { clock, folder, environment }: Stage): Promise<void> {
  const [program = '', ...rest] = words;
  const story = spawn(program, rest, {
    cwd: folder,
    env: { ...process.env, ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let complaint = '';
  story.stderr.on('data', (part: Buffer) => (complaint += part.toString('utf8')));
  const ended = new Promise<number | null>((resolve) => story.on('close', resolve));
  const devices: ReturnType<typeof startInverterDevice>[] = [];
  const lines = createInterface({ input: story.stdout });
  lines.on('line', (line) => {
    devices.push(startDevice(line, clock));
    void clock.sleep(SETTLE_MS).then(() => story.stdin.write('connected\n'));
  });
  const code = await ended;
  for (const device of devices) await device.stop();
  if (code !== 0) throw new Error(`the story ended with ${code}:\n${complaint}`);
  if (devices.length !== 1) throw new Error('the story has not connected its device');
}

function startDevice(config: string, clock: Clock) {
  return startInverterDevice({
    config: connectionConfigurationOf(JSON.parse(config)),
    clock,
    random: createRandom(1),
    qos: 1,
    intervalMs: 1_000,
    phaseMs: 0,
    timeScale: 1,
    hourOfDay: 12,
    socPercent: 50,
    mishapsPerDay: 0,
    statistics: createStatistics(),
    say: () => undefined,
  });
}

async function check(generators: readonly Generator[], folder: string, clock: Clock): Promise<number> {
  return withGateway({ clock, program: 'source' }, async (home) => {
    const [token = ''] = await createTokens(home, 'INSTALLER', 1);
    const client = createGatewayClient({ baseUrl: home.baseUrl, tokens: [token], clock });
    const builtIn = await batteryInverterBlueprint(client);
    const fetched = async (path: string): Promise<Uint8Array> => {
      const answer = await fetch(home.baseUrl + path, { headers: { 'X-Service-Auth-Token': token } });
      return new Uint8Array(await answer.arrayBuffer());
    };
    const description = join(folder, 'openapi.json');
    const zip = join(folder, 'blueprint.zip');
    writeFileSync(description, await fetched('/v3/openapi.json'));
    writeFileSync(zip, await fetched(`/v3/blueprints/${builtIn}/zip?view=ORIGINAL`));
    const environment = { GATEWAY: home.baseUrl, TOKEN: token, ZIP: zip };
    let failed = 0;
    for (const { name, prepare } of generators) {
      const own = join(folder, name);
      mkdirSync(own);
      try {
        await play(await prepare(own, description), { clock, folder: own, environment });
        console.log(`${name}: the story went well`);
      } catch (error) {
        failed++;
        console.log(`${name}: ${messageOf(error)}`);
      }
    }
    return failed;
  });
}

async function main(): Promise<number> {
  const values = parseWords({
    only: { type: 'string' },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const chosen = GENERATORS.filter(({ name }) => values.only === undefined || name === values.only);
  if (chosen.length === 0) throw new UsageError(`there is no generator "${values.only}"`);
  const folder = mkdtempSync(join(tmpdir(), 'clients-'));
  const clock = createSystemClock();
  try {
    return (await check(chosen, folder, clock)) === 0 ? 0 : 1;
  } finally {
    clock.close();
    if (values.keep) console.log(`clients: ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  }
}

await runScript(main);
