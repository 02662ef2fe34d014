/** The legitimate clients of a soak: devices, people and programs, whose waiting and whose data are judged. */
import { WebSocket } from 'ws';
import { messageOf } from '../../src/lib/errors.ts';
import type { Clock } from '../../src/platform/clock/index.ts';
import { startCallers } from '../crash-check/callers.ts';
import { type Verdict, verify } from '../crash-check/verify.ts';
import type { PopulatedWorld } from '../crash-check/world.ts';
import { createRandom } from '../support/random.ts';
import { createLatencies, type Latencies } from './latencies.ts';
import type { Insider } from './mqtt-garbage.ts';
import { keepPinging } from './ping.ts';

export interface Clients {
  /** From request to answer. */
  http: Latencies;
  /** From PINGREQ to PINGRESP. */
  ping: Latencies;
  /** Messages of the stream. */
  readonly streamed: number;
  /** What these clients should not have seen, with how often. */
  readonly problems: ReadonlyMap<string, number>;
  /** Ends everything but the devices. */
  stop(): Promise<void>;
  /** Reads back what was acknowledged and judges it; after `stop`. */
  verify(): Promise<Verdict>;
}

export interface ClientsOptions {
  world: PopulatedWorld;
  baseUrl: string;
  /** Of the reader and of the stream. */
  token: string;
  mqttPort: number;
  /** Of one more device, which only pings. */
  pinging: Insider;
  clock: Clock;
  seed: number;
  /** Wall clock at the start of the gateway. */
  startedAtMs: number;
}

/** Between two requests; 20 a second are below half of what a token may. */
const REQUEST_PAUSE_MS = 50;
const CHANGE_INTERVAL_MS = 1_000;
const PATHS = ['/v3/site', '/v3/devices?expand=connectivity'];

export function startClients(options: ClientsOptions): Clients {
  const { world, baseUrl, token, clock, mqttPort: port, pinging: login } = options;
  const problems = new Map<string, number>();
  const note = (problem: string): void => void problems.set(problem, (problems.get(problem) ?? 0) + 1);
  const [http, ping] = [createLatencies(), createLatencies()];
  const stopping = new AbortController();
  const { signal } = stopping;
  const headers = { 'X-Service-Auth-Token': token };
  const stream = new WebSocket(`${baseUrl.replace(/^http/, 'ws')}/v3/devices`, { headers });
  let streamed = 0;
  stream.on('message', () => (streamed += 1));
  stream.on('error', (error) => note(`stream: ${error.message}`));
  stream.on('close', (code) => {
    if (!signal.aborted) note(`stream closed with ${code}`);
  });
  const stopCallers = startCallers({
    ...world,
    command: { name: world.commandName, tagArgument: world.tagArgument },
    random: createRandom(options.seed, 1),
    run: () => 1,
    renameIntervalMs: CHANGE_INTERVAL_MS,
    commandIntervalMs: CHANGE_INTERVAL_MS,
  });
  const asking = Promise.all([
    keepAsking({ baseUrl, headers, clock, latencies: http, signal, note }),
    keepPinging({ port, login, clock, latencies: ping, signal, note }),
  ]);

  return {
    http,
    ping,
    problems,
    get streamed() {
      return streamed;
    },
    stop: async () => {
      stopping.abort();
      stream.close();
      await stopCallers();
      await asking;
      const losses = world.actors.reduce((sum, { lossCount }) => sum + lossCount, 0);
      if (losses > 0) problems.set('connection of a device lost', losses);
    },
    verify: () => verify(world, options.startedAtMs),
  };
}

/** Reads until the signal. */
async function keepAsking(options: {
  baseUrl: string;
  headers: Record<string, string>;
  clock: Clock;
  latencies: Latencies;
  signal: AbortSignal;
  note: (problem: string) => void;
}): Promise<void> {
  const { baseUrl, headers, clock, latencies, signal, note } = options;
  for (let turn = 0; !signal.aborted; turn += 1) {
    const sentMs = clock.monotonicMs();
    try {
      const answer = await fetch(`${baseUrl}${PATHS[turn % PATHS.length]}`, { headers });
      await answer.arrayBuffer();
      if (answer.status !== 200) note(`HTTP status ${answer.status}`);
    } catch (error) {
      note(`HTTP: ${messageOf(error instanceof Error ? (error.cause ?? error) : error)}`);
    }
    latencies.add(clock.monotonicMs() - sentMs);
    await clock.sleep(REQUEST_PAUSE_MS);
  }
}
