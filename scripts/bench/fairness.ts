/**
 * One device that sends what is costliest to read, on all connections it may have and as fast as it is read, and callers
 * without a token who ask for what is costliest, beside devices that speak once a second and a person: how long these wait
 * for acknowledgements, pings and answers, and what memory the gateway takes. One kind of attack after the other, on the
 * whole gateway. Runs the bundle when `npm run build` has made one.
 */
import { connect, type Socket } from 'node:net';
import { relative } from 'node:path';
import { generate } from 'mqtt-packet';
import { type Clock, createSystemClock, nextTurn } from '../../src/platform/clock/index.ts';
import { populate } from '../clients/world.ts';
import { COSTLY_PAYLOADS, type CostlyPayload } from '../hostile/costly-payloads.ts';
import { COSTLY_REQUESTS, type CostlyRequests } from '../hostile/costly-requests.ts';
import { keepAsking, tellLatencies } from '../support/keep-asking.ts';
import { createLatencies } from '../support/latencies.ts';
import type { Insider } from '../hostile/mqtt-garbage.ts';
import { keepPinging } from '../support/ping.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { assignBlueprint, batteryInverterBlueprint, provisionDevice } from '../support/gateway-client.ts';
import { type GatewayHome, anonymousBytes, withGateway } from '../support/gateway-process.ts';
import { createRandom } from '../support/random.ts';

const SEED = 1;
const ATTRIBUTES = 20;
/** As many as one device may have. */
const CONNECTIONS = 8;
const CONNACK_BYTES = 4;
/** Whoever is not read looks so often whether it is over. */
const OVER_CHECK_MS = 250;
const ASK_PAUSE_MS = 50;
const MEMORY_CHECK_MS = 200;

interface Parameters {
  devices: number;
  quietSeconds: number;
  /** Of each kind of message. */
  seconds: number;
  /** The number of the first kind, from 0, and how many follow. */
  first: number;
  kinds: number;
  [name: string]: number;
}

export const benchmark: Benchmark<Parameters> = {
  name: 'fairness',
  describe: 'Acknowledgements, pings and answers of honest clients beside those who send what costs most.',
  small: { devices: 2, quietSeconds: 2, seconds: 1, first: 0, kinds: 2 },
  large: { devices: 10, quietSeconds: 20, seconds: 8, first: 0, kinds: COSTLY_PAYLOADS.length },
  isApart: true,
  seed: SEED,
  run: async (parameters, report) => {
    const clock = createSystemClock();
    try {
      await withGateway({ clock }, async (home, { pid }) => {
        report('program', relative('.', home.entries.main));
        await measure(parameters, home, pid, clock, report);
      });
    } finally {
      clock.close();
    }
    return undefined;
  },
};

async function measure(
  parameters: Parameters,
  home: GatewayHome,
  pid: number,
  clock: Clock,
  report: Report,
): Promise<void> {
  let acknowledged = createLatencies();
  const world = await populate({
    home,
    devices: parameters.devices,
    attributes: ATTRIBUTES,
    clock,
    random: createRandom(SEED),
    run: () => 1,
    say: () => undefined,
    onLatency: (latencyMs) => acknowledged.add(latencyMs),
  });
  const { client } = world;
  const [attacker, pinging] = [
    await provisionDevice(client, 'Greedy'),
    await provisionDevice(client, 'Pinging'),
  ];
  await assignBlueprint(client, attacker.id, await batteryInverterBlueprint(client));
  const logins = [attacker, pinging].map(({ config }) => config.credentials as Insider);
  const [greedy, login] = logins as [Insider, Insider];
  const watch = async (title: string, seconds: number): Promise<void> => {
    acknowledged = createLatencies();
    const latencies = createLatencies();
    const stopping = new AbortController();
    const { signal } = stopping;
    const note = (problem: string): void => report(title, problem);
    const done = keepPinging({ port: home.mqttPort, login, clock, latencies, signal, note });
    const answers = createLatencies();
    const look = (): Promise<unknown> => client.json({ path: '/devices?limit=20' });
    const asked = keepAsking(look, { clock, pauseMs: ASK_PAUSE_MS, latencies: answers, signal });
    let largestBytes = 0;
    const watching = clock.setRepeating(MEMORY_CHECK_MS, () => {
      largestBytes = Math.max(largestBytes, anonymousBytes(pid));
    });
    await clock.sleep(seconds * 1_000);
    stopping.abort();
    await Promise.all([done, asked]);
    watching.cancel();
    tellLatencies(report, `${title}: acknowledgements`, acknowledged);
    tellLatencies(report, `${title}: pings`, latencies);
    tellLatencies(report, `${title}: answers over HTTP`, answers);
    report(`${title}: memory, at most`, largestBytes / 1e6, 'MB');
  };
  await clock.sleep(2_000);
  await watch('quiet', parameters.quietSeconds);
  const chosen = <T>(kinds: readonly T[]): T[] =>
    kinds.slice(parameters.first, parameters.first + parameters.kinds);
  for (const payload of chosen(COSTLY_PAYLOADS)) {
    const stop = attack(home.mqttPort, greedy, payload);
    await watch(payload.name, parameters.seconds);
    await stop();
  }
  for (const requests of chosen(COSTLY_REQUESTS)) {
    const stop = besiege(home.baseUrl, requests);
    await watch(requests.name, parameters.seconds);
    await stop();
  }
  await Promise.all(world.actors.map((actor) => actor.stop()));
}

/** Asks until told to stop. */
function besiege(baseUrl: string, { lanes, run }: CostlyRequests): () => Promise<void> {
  const over = new AbortController();
  const all = Array.from({ length: lanes }, async () => {
    while (!over.signal.aborted) await run(baseUrl, over.signal);
  });
  return async () => {
    over.abort();
    await Promise.all(all);
  };
}

/** Sends until told to stop; who is cut off comes back. */
function attack(port: number, login: Insider, costly: CostlyPayload): () => Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  const lanes = Array.from({ length: CONNECTIONS }, async () => {
    while (!signal.aborted) await send(connect({ port, host: '127.0.0.1' }), login, costly, signal);
  });
  return async () => {
    over.abort();
    await Promise.all(lanes);
  };
}

async function send(
  socket: Socket,
  { username, password }: Insider,
  { subject, payload }: CostlyPayload,
  over: AbortSignal,
): Promise<void> {
  // `close` follows, and is what counts.
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const answered = new Promise<void>((resolve) => {
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes >= CONNACK_BYTES) resolve();
    });
  });
  const login = { protocolId: 'MQTT', protocolVersion: 4, clientId: '', clean: true, keepalive: 60 } as const;
  socket.write(generate({ cmd: 'connect', ...login, username, password: Buffer.from(password) }));
  await Promise.race([answered, closed]);
  for (let messageId = 1; !over.aborted && !socket.destroyed; messageId = (messageId % 60_000) + 1) {
    const topic = `v1/from/${username}/ucm/${subject}`;
    const packet = { topic, payload, qos: 1, messageId, dup: false, retain: false } as const;
    if (socket.write(generate({ cmd: 'publish', ...packet }))) continue;
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.once('drain', resolve);
    const timer = setTimeout(resolve, OVER_CHECK_MS);
    await Promise.race([promise, closed]);
    clearTimeout(timer);
    socket.off('drain', resolve);
    // A socket that is read at once drains within this turn: the honest ones of this process want theirs.
    await nextTurn();
  }
  socket.destroy();
  await closed;
}
