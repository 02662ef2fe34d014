/**
 * The programs beside the gateway, or the gateway itself, are killed at random moments while rules command a device and
 * commands reach a device that is a script: each is back soon, every execution has one end, nothing runs twice.
 */
import { createServer, type Server } from 'node:http';
import { writeArchive } from '../../../src/capabilities/blueprints/source/archive.ts';
import type { Clock } from '../../../src/platform/clock/index.ts';
import { type DeviceLink, LinkLost, openDeviceLink } from '../../support/device-link.ts';
import {
  assignBlueprint,
  batteryInverterBlueprint,
  createGatewayClient,
  type GatewayClient,
  GatewayRefusal,
  GatewayUnreachable,
  provisionDevice,
  uploadBlueprint,
} from '../../support/gateway-client.ts';
import {
  createGatewayHome,
  createTokens,
  type GatewayProcess,
  type Program,
  programOf,
  startGateway,
} from '../../support/gateway-process.ts';
import { createRandom, type Random } from '../../support/random.ts';
import { createRule, waitForRule, waitUntil } from '../../support/rule-calls.ts';
import { FINAL_STATES } from './execution-journal.ts';
import type { Problem } from './journal.ts';

export interface ProgramsCheckOptions {
  kills: number;
  seed: number;
  program: Program;
  clock: Clock;
  say: (text: string) => void;
  /** Shortest and longest time from a program's return to its next kill. */
  killAfterMs: { min: number; max: number };
  /** The killed process; default: the programs. */
  victim?: 'programs' | 'gateway';
}

const PROGRAMS = ['rule-sandbox', 'field-module'] as const;
type ProgramName = (typeof PROGRAMS)[number];

/** The promise for a program that is killed. */
const BACK_MS_MAX = 3_000;
const COMMAND_PAUSE_MS = 200;
const ANSWER_MS_MAX = 300;
/** A command whose device was killed ends then; the default would be a minute that nobody needs. */
const COMMAND_TIMEOUT_S = 20;
/** All executions have ended after it; longer than the longest wait for an answer. */
const SETTLE_MS_MAX = 90_000;
const PAGE = 500;
const POLL_MS = 10;

/** Counts before it commands, so that a number is sent once at most, whatever happens. */
const COUNTING_RULE = (slug: string): string => `
local device = enapter.device('${slug}')
scheduler.add(300, function()
  local number = (storage.read('number') or 0) + 1
  if storage.write('number', number) then return end
  device.execute_command('set_charge_limit', { limit_w = number }, { timeout = '5s' })
end)`;

const COUNTING_DEVICE = (port: number): string => `
enapter.register_command_handler('count', function(ctx, args)
  local _, err = http.get('http://127.0.0.1:${port}/' .. args.number)
  if err then ctx.error(err) end
  system.delay(100)
end)
scheduler.add(1000, function() enapter.send_telemetry({ alerts = {} }) end)
`;

const MANIFEST = `blueprint_spec: device/3.0
display_name: Counter
runtime:
  type: lua
  options:
    file: main.lua
command_groups:
  all:
    display_name: All
commands:
  count:
    display_name: Count
    group: all
    arguments:
      number:
        display_name: Number
        type: integer
        required: true
`;

/** How often each number was carried out by a device. */
class Counts {
  readonly #counts = new Map<number, number>();

  add(number: number): void {
    this.#counts.set(number, this.of(number) + 1);
  }

  of(number: number): number {
    return this.#counts.get(number) ?? 0;
  }

  get size(): number {
    return this.#counts.size;
  }

  judge(device: string): Problem[] {
    return [...this.#counts]
      .filter(([, count]) => count > 1)
      .map(([number, count]) => ({
        kind: 'doubled',
        item: `${device} carried out ${number} ${count} times`,
      }));
  }
}

interface World {
  client: GatewayClient;
  gatewayPid: number;
  /** The device that a rule commands, and the one that is a script. */
  commanded: { id: string; counts: Counts; argument: string };
  script: { id: string; counts: Counts; argument: string };
}

/** @returns every problem found */
export async function programsCheck(options: ProgramsCheckOptions): Promise<Problem[]> {
  const { clock, kills, say, seed } = options;
  const home = await createGatewayHome(options.program);
  const environment = { ...home.environment, GATEWAY_COMMAND_TIMEOUT_S: String(COMMAND_TIMEOUT_S) };
  const start = (): GatewayProcess => startGateway({ ...home, environment }, clock);
  let gateway = start();
  const random = createRandom(seed);
  const closing: (() => Promise<void>)[] = [];
  try {
    await gateway.healthy();
    const world = await populate(options, { home, gatewayPid: gateway.pid, random, closing });
    const problems: Problem[] = [];
    await Promise.all(PROGRAMS.map((name) => waitUntilBack(world, name, 0, clock)));
    const stopCommands = commandTheScript(world, clock);
    if (options.victim === 'gateway')
      for (let count = 1; count <= kills; count++) {
        await clock.sleep(random.between(options.killAfterMs.min, options.killAfterMs.max));
        await gateway.end('SIGKILL');
        gateway = start();
        say(`gateway: kill ${count} of ${kills}, back after ${ms(await gateway.healthy())}`);
      }
    else problems.push(...(await killPrograms(world, { ...options, random })));
    await stopCommands();
    await waitForRule(world.client, clock, 'counting');
    await world.client.json({ method: 'POST', path: '/site/rule_engine/suspend' });
    return [...problems, ...(await judge(world, clock, say))];
  } finally {
    for (const close of closing.toReversed()) await close();
    await gateway.end('SIGTERM');
    home.remove();
  }
}

/** @returns those that were not back in time */
async function killPrograms(
  world: World,
  options: ProgramsCheckOptions & { random: Random },
): Promise<Problem[]> {
  const { kills, random, say } = options;
  const killed = PROGRAMS.map((name) =>
    killAgainAndAgain(world, name, { ...options, random: random.fork(name.length) }),
  );
  const times = await Promise.all(killed);
  return PROGRAMS.flatMap((name, index) => {
    const backMs = (times[index] ?? []).sort((a, b) => a - b);
    const [median, most] = [backMs[backMs.length >> 1], backMs.at(-1)];
    say(`${name}: ${kills} kills, back after ${ms(median)} (median), ${ms(most)} at most`);
    return backMs
      .filter((tookMs) => tookMs > BACK_MS_MAX)
      .map((tookMs): Problem => ({ kind: 'stop', item: `${name} was back after ${ms(tookMs)}` }));
  });
}

const ms = (durationMs: number | undefined): string => `${(durationMs ?? 0).toFixed(0)} ms`;

async function populate(
  { clock }: ProgramsCheckOptions,
  {
    home,
    gatewayPid,
    random,
    closing,
  }: {
    home: Awaited<ReturnType<typeof createGatewayHome>>;
    gatewayPid: number;
    random: Random;
    closing: (() => Promise<void>)[];
  },
): Promise<World> {
  const tokens = await createTokens(home, 'OWNER', 4);
  const client = createGatewayClient({ baseUrl: home.baseUrl, tokens, clock });
  const commanded = { counts: new Counts(), argument: 'limit_w' };
  const device = await provisionDevice(client, 'Commanded');
  await assignBlueprint(client, device.id, await batteryInverterBlueprint(client));
  const link: DeviceLink = openDeviceLink({
    config: device.config,
    clock,
    qos: 1,
    reconnectDelayMs: 500,
    onConnected: () => undefined,
    onLost: () => undefined,
    onUnreadable: () => undefined,
    onCommand: (request) => {
      commanded.counts.add(Number(request.arguments['limit_w']));
      clock.setTimer(random.between(0, ANSWER_MS_MAX), () => {
        const body = { id: request.id, state: 'completed', payload: {} };
        link.publish('commandResponse', body).catch((error: unknown) => {
          if (!(error instanceof LinkLost)) throw error;
        });
      });
    },
  });
  closing.push(() => link.close(0));
  await waitUntil(clock, 'the device is connected', () => link.isConnected);
  const script = { counts: new Counts(), argument: 'number' };
  const counter = await listen((number) => script.counts.add(number));
  closing.push(async () => void counter.server.close());
  const scriptId = await provisionScript(client, home.baseUrl, tokens[0] ?? '', counter.port);
  await createRule(client, 'counting', COUNTING_RULE(device.slug));
  return {
    client,
    gatewayPid,
    commanded: { ...commanded, id: device.id },
    script: { ...script, id: scriptId },
  };
}

/** What the script's device does in the world: it asks for a number. */
async function listen(onNumber: (number: number) => void): Promise<{ server: Server; port: number }> {
  const server = createServer((request, response) => {
    onNumber(Number(request.url?.slice(1)));
    response.end('counted');
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return { server, port: typeof address === 'object' && address ? address.port : 0 };
}

async function provisionScript(
  client: GatewayClient,
  baseUrl: string,
  token: string,
  port: number,
): Promise<string> {
  const files = new Map([
    ['manifest.yml', Buffer.from(MANIFEST)],
    ['main.lua', Buffer.from(COUNTING_DEVICE(port))],
  ]);
  const blueprintId = await uploadBlueprint(baseUrl, token, new Uint8Array(await writeArchive(files)));
  const { devices } = (await client.json({ path: '/devices?limit=100' })) as {
    devices: { id: string; type: string }[];
  };
  const runtimeId = devices.find(({ type }) => type === 'GATEWAY')?.id;
  const body = { runtime_id: runtimeId, blueprint_id: blueprintId, name: 'Counter' };
  const { device_id: id } = await client.json({ method: 'POST', path: '/provisioning/lua_device', body });
  return String(id);
}

/** Callers of the API command the script's device, each number once. */
function commandTheScript({ client, script }: World, clock: Clock): () => Promise<void> {
  const underWay = new Set<Promise<void>>();
  let number = 0;
  const timer = clock.setRepeating(COMMAND_PAUSE_MS, () => {
    const call = execute(client, script.id, ++number).finally(() => underWay.delete(call));
    underWay.add(call);
  });
  return async () => {
    timer.cancel();
    await Promise.all(underWay);
  };
}

async function execute(client: GatewayClient, deviceId: string, number: number): Promise<void> {
  try {
    const body = { name: 'count', arguments: { number } };
    await client.json({ method: 'POST', path: `/devices/${deviceId}/commands/executions`, body });
  } catch (error) {
    // While the module is away its device is offline; while the gateway is, nobody answers, or half of it.
    if (![GatewayRefusal, GatewayUnreachable, SyntaxError].some((kind) => error instanceof kind)) throw error;
  }
}

/** How long it took each time until the program worked again. */
async function killAgainAndAgain(
  world: World,
  name: ProgramName,
  options: ProgramsCheckOptions & { random: Random },
): Promise<number[]> {
  const { clock, kills, killAfterMs, random, say } = options;
  const times: number[] = [];
  for (let count = 1; count <= kills; count++) {
    await clock.sleep(random.between(killAfterMs.min, killAfterMs.max));
    const pid = programOf(world.gatewayPid, name);
    process.kill(pid, 'SIGKILL');
    const killedMs = clock.monotonicMs();
    await waitUntilBack(world, name, pid, clock);
    const tookMs = clock.monotonicMs() - killedMs;
    times.push(tookMs);
    say(`${name}: kill ${count} of ${kills}, back after ${ms(tookMs)}`);
  }
  return times;
}

async function waitUntilBack(
  world: World,
  name: ProgramName,
  formerPid: number,
  clock: Clock,
): Promise<void> {
  await waitUntil(clock, `${name} runs again`, () => {
    const pid = pidOf(world.gatewayPid, name);
    return pid !== undefined && pid !== formerPid;
  });
  if (name === 'rule-sandbox') await waitForRule(world.client, clock, 'counting');
  else
    await waitUntil(clock, 'the device of the module is online', async () => {
      const path = `/devices/${world.script.id}?expand=connectivity`;
      const { device } = await world.client.json({ path });
      return (device as { connectivity?: { status?: string } }).connectivity?.status === 'ONLINE';
    });
  await clock.sleep(POLL_MS);
}

function pidOf(gatewayPid: number, name: ProgramName): number | undefined {
  try {
    return programOf(gatewayPid, name);
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}

interface Listed {
  id: string;
  state: string;
  request: { arguments: Record<string, unknown> };
}

async function judge(world: World, clock: Clock, say: (text: string) => void): Promise<Problem[]> {
  const problems: Problem[] = [];
  const endMs = clock.monotonicMs() + SETTLE_MS_MAX;
  for (const device of [world.commanded, world.script]) {
    let listed = await executionsOf(world.client, device.id);
    // An end that was seen once is looked at again, when all have ended.
    const early = new Map(listed.filter(isFinal).map(({ id, state }) => [id, state]));
    while (!listed.every(isFinal) && clock.monotonicMs() < endMs) {
      await clock.sleep(1_000);
      listed = await executionsOf(world.client, device.id);
    }
    const states = new Map<string, number>();
    const numbers = new Set<number>();
    for (const execution of listed) {
      const { id, state } = execution;
      const number = Number(execution.request.arguments[device.argument]);
      states.set(state, (states.get(state) ?? 0) + 1);
      const wrong = (text: string): number =>
        problems.push({ kind: 'wrong', item: `execution ${id} of ${number} ${text}` });
      if (!isFinal(execution)) wrong(`is still ${state}`);
      if (early.has(id) && early.get(id) !== state) wrong(`was ${early.get(id)} and is ${state}`);
      if (numbers.has(number)) problems.push({ kind: 'doubled', item: `${number} has two executions` });
      if (state === 'SUCCESS' && device.counts.of(number) !== 1)
        wrong(`is SUCCESS and was carried out ${device.counts.of(number)} times`);
      numbers.add(number);
    }
    problems.push(...device.counts.judge(device === world.script ? 'the script' : 'the device'));
    const ends = [...states].map(([state, count]) => `${count} ${state}`).join(', ');
    say(
      `${device === world.script ? 'script' : 'device'}: ${listed.length} executions (${ends}), ${device.counts.size} carried out`,
    );
    if (listed.length < device.counts.size)
      problems.push({
        kind: 'lost',
        item: `${device.counts.size - listed.length} executions have no record`,
      });
  }
  return problems;
}

const isFinal = ({ state }: Listed): boolean => FINAL_STATES.includes(state);

async function executionsOf(client: GatewayClient, deviceId: string): Promise<Listed[]> {
  const listed: Listed[] = [];
  for (;;) {
    const path = `/devices/${deviceId}/command_executions?retention=ALL&order=CREATED_AT_ASC&limit=${PAGE}&offset=${listed.length}`;
    const page = (await client.json({ path }))['executions'] as Listed[];
    listed.push(...page);
    if (page.length < PAGE) return listed;
  }
}
