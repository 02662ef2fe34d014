/** Servers that the gateway calls and that do not behave: targets, webhooks, ntfy, mail, places for backups. */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { generate } from 'mqtt-packet';
import type { Problem } from '../world/journal.ts';
import { createGatewayClient, type GatewayClient } from '../../support/gateway-client.ts';
import { anonymousBytes, createTokens, processorMs } from '../../support/gateway-process.ts';
import type { Box } from './box.ts';
import { broken, controlWorks, type FaultKind } from './kind.ts';

/** The limit of a target's call, and what a busy machine adds. */
const CALL_MS_MAX = 45_000;
const DELETE_MS_MAX = 15_000;
/** Minutes, and not hours; on a busy machine the password and the sealing alone have taken one. */
const BACKUP_MS_MAX = 180_000;
/**
 * Processor time of the gateway between a question and its answer. Floods of this check and other programs make the answer
 * late on a busy machine, too, but that costs the gateway nothing.
 */
const ANSWER_PROCESSOR_MS_MAX = 5_000;
const MEMORY_BYTES_MAX = 400_000_000;
const LOOK_MS = 100;
const TRICKLE_MS = 500;
const FLOOD_PAUSE_MS = 5;
const HEAD = 'HTTP/1.1 200 OK\r\n';

/** What is written first, and what is written again and again; `pauseMs`: between two of them. */
interface Talk {
  name: string;
  first: string | Buffer;
  again?: string | Buffer;
  pauseMs?: number;
  isClosed?: boolean;
}

const HTTP_TALKS: readonly Talk[] = [
  {
    name: '101',
    first: 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
  },
  { name: 'endless 103', first: '', again: 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(500) },
  { name: 'endless headers', first: HEAD, again: 'A: b\r\n'.repeat(1_000) },
  { name: 'a header in single bytes', first: `${HEAD}A: `, again: 'b', pauseMs: TRICKLE_MS },
  {
    name: 'endless chunk words',
    first: `${HEAD}Transfer-Encoding: chunked\r\n\r\n1;`,
    again: 'a'.repeat(9_000),
  },
  { name: 'single bytes', first: `${HEAD}\r\n`, again: 'x', pauseMs: TRICKLE_MS },
  { name: 'endless answer', first: `${HEAD}\r\n`, again: 'x'.repeat(65_536) },
  { name: 'close before the answer', first: '', isClosed: true },
];
/** There are at most 16 channels; the others end alike, since they share the client. */
const NTFY_TALKS = 4;
const CONNACK = generate({ cmd: 'connack', returnCode: 0, reasonCode: 0, sessionPresent: false } as never, {
  protocolVersion: 5,
});
const MQTT_TALKS: readonly Talk[] = [
  {
    name: 'a packet of 250 MB',
    first: Buffer.concat([CONNACK, Buffer.from([0x30, 0x80, 0xe5, 0x9a, 0x77, 0, 1, 97, 0])]),
    again: Buffer.alloc(65_536),
  },
  { name: 'a greeting in single bytes', first: '', again: Buffer.from([0x20]), pauseMs: TRICKLE_MS },
  { name: 'unasked packets', first: CONNACK, again: Buffer.from([0xd0, 0]).toString('latin1').repeat(9_000) },
];
const MAIL_TALKS: readonly Talk[] = [
  { name: 'endless greeting', first: '', again: '220-hello\r\n'.repeat(1_000) },
  { name: 'greeting in single bytes', first: '2', again: '2', pauseMs: TRICKLE_MS },
  { name: 'close before the greeting', first: '', isClosed: true },
];
const PLACE_TALKS: readonly (Talk & { scheme: string })[] = [
  {
    name: 'a listing that took a cubic expression a minute',
    scheme: 'http://',
    first: `HTTP/1.1 207 Multi-Status\r\nConnection: close\r\n\r\n<href>${' '.repeat(6_000)}<x`,
    isClosed: true,
  },
  { name: 'an endless read-back', scheme: 'http://', first: `${HEAD}\r\n`, again: '0'.repeat(65_536) },
  { name: 'an endless banner', scheme: 'sftp://backup@', first: '', again: 'hello\r\n'.repeat(1_000) },
];

export const SERVER_KINDS: readonly FaultKind[] = [
  {
    name: 'servers',
    about:
      'Servers for HTTP, MQTT, SMTP, WebDAV and SFTP that switch, flood, trickle or close: each call ends in time.',
    run: meetServers,
  },
];

async function meetServers(box: Box): Promise<Problem[]> {
  const client = createGatewayClient({
    baseUrl: box.home.baseUrl,
    tokens: await createTokens(box.home, 'INSTALLER', 4),
    clock: box.clock,
  });
  const servers: Hostile[] = [];
  const open = async (talk: Talk, isFirst = false): Promise<number> => {
    const server = await Hostile.open(talk, isFirst, box);
    servers.push(server);
    return server.port;
  };
  const watch = watchGateway(box);
  try {
    const problems = await Promise.all([
      ...HTTP_TALKS.map(async (talk) => tryTarget(box, client, talk.name, await influxTo(talk, open))),
      ...MQTT_TALKS.map(async (talk) => tryTarget(box, client, talk.name, await brokerTo(talk, open))),
      ...HTTP_TALKS.map(async (talk) => tryChannel(box, client, talk.name, await webhookTo(talk, open))),
      ...HTTP_TALKS.slice(0, NTFY_TALKS).map(async (talk) =>
        tryChannel(box, client, `ntfy, ${talk.name}`, await ntfyTo(talk, open)),
      ),
      ...MAIL_TALKS.map(async (talk) => tryChannel(box, client, talk.name, await mailTo(talk, open))),
      tryPlaces(box, client, open),
    ]);
    return [...problems.flat(), ...watch.end(), ...(await controlWorks(box, 1))];
  } finally {
    watch.end();
    for (const server of servers) server.close();
  }
}

type Open = (talk: Talk, isFirst?: boolean) => Promise<number>;

const influxTo = async (talk: Talk, open: Open) => ({
  kind: 'INFLUXDB',
  influxdb: { url: `http://127.0.0.1:${await open(talk)}/write` },
});
const brokerTo = async (talk: Talk, open: Open) => ({
  kind: 'MQTT',
  mqtt: { url: `mqtt://127.0.0.1:${await open(talk)}` },
});
const webhookTo = async (talk: Talk, open: Open) => ({
  kind: 'WEBHOOK',
  webhook: { url: `http://127.0.0.1:${await open(talk)}/hook` },
});
const ntfyTo = async (talk: Talk, open: Open) => ({
  kind: 'NTFY',
  ntfy: { server: `http://127.0.0.1:${await open(talk)}`, topic: 'box' },
});
const mailTo = async (talk: Talk, open: Open) => ({
  kind: 'EMAIL',
  email: {
    host: '127.0.0.1',
    port: await open(talk, true),
    encryption: 'NONE',
    from: 'box@example.org',
    to: ['anna@example.org'],
  },
});

/** Tests and deletes a target that sends to the server. */
async function tryTarget(box: Box, client: GatewayClient, name: string, body: object): Promise<Problem[]> {
  const what = `target, ${name}`;
  return tryOne(box, client, { what, list: '/targets', member: 'target', body: { name: what, ...body } });
}

async function tryChannel(box: Box, client: GatewayClient, name: string, body: object): Promise<Problem[]> {
  const what = `channel, ${name}`;
  const list = '/notification_channels';
  return tryOne(box, client, { what, list, member: 'notification_channel', body: { name: what, ...body } });
}

async function tryOne(
  box: Box,
  client: GatewayClient,
  { what, list, member, body }: { what: string; list: string; member: string; body: object },
): Promise<Problem[]> {
  const made = (await client.json({ method: 'POST', path: list, body })) as Record<string, { id: string }>;
  const path = `${list}/${made[member]?.id}`;
  return [
    ...(await inTime(box, CALL_MS_MAX, `${what}: the test`, (signal) =>
      client.json({ method: 'POST', path: `${path}/test`, signal }),
    )),
    ...(await inTime(box, DELETE_MS_MAX, `${what}: DELETE`, (signal) =>
      client.json({ method: 'DELETE', path, signal }),
    )),
  ];
}

/** One after the other, since there is one plan. */
async function tryPlaces(box: Box, client: GatewayClient, open: Open): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const talk of PLACE_TALKS) {
    const target = `${talk.scheme}127.0.0.1:${await open(talk, talk.scheme.startsWith('sftp'))}/backups`;
    const body = { target, password: 'a long sentence for backups', enabled: false };
    await client.json({ method: 'PATCH', path: '/backup/plan', body });
    await client.json({ method: 'POST', path: '/backup/plan/run' });
    problems.push(
      ...(await inTime(box, BACKUP_MS_MAX, `backup, ${talk.name}`, async (signal) => {
        const isRunning = async (): Promise<boolean> => {
          const { backup_plan: plan } = await client.json({ path: '/backup/plan', signal });
          return (plan as { is_running?: boolean }).is_running ?? false;
        };
        while (await isRunning()) await box.clock.sleep(LOOK_MS, signal);
      })),
    );
  }
  return problems;
}

async function inTime(
  box: Box,
  limitMs: number,
  what: string,
  work: (signal: AbortSignal) => Promise<unknown>,
): Promise<Problem[]> {
  const late = new AbortController();
  const timer = box.clock.setTimer(limitMs, () => late.abort());
  try {
    await work(late.signal);
    return [];
  } catch (error) {
    return late.signal.aborted
      ? [broken(`${what} did not end within ${limitMs / 1_000} s`)]
      : [broken(`${what}: ${String(error)}`)];
  } finally {
    timer.cancel();
  }
}

/** The gateway answers others meanwhile, and holds no more than it may. */
function watchGateway(box: Box): { end: () => Problem[] } {
  let [largestBytes, longestMs, isAsking] = [0, 0, false];
  const usedMs = (): number => (box.gateway.hasExited ? 0 : processorMs(box.gateway.pid));
  let usedBeforeMs = 0;
  const noteAnswer = (): void => void (longestMs = Math.max(longestMs, usedMs() - usedBeforeMs));
  const ask = async (): Promise<void> => {
    isAsking = true;
    usedBeforeMs = usedMs();
    await fetch(new URL('/healthz', box.home.baseUrl)).then(
      (response) => response.text(),
      () => undefined,
    );
    noteAnswer();
    isAsking = false;
  };
  const timer = box.clock.setRepeating(LOOK_MS, () => {
    if (!box.gateway.hasExited) largestBytes = Math.max(largestBytes, anonymousBytes(box.gateway.pid));
    if (!isAsking) void ask();
  });
  return {
    end: () => {
      timer.cancel();
      if (isAsking) noteAnswer();
      return [
        ...(longestMs > ANSWER_PROCESSOR_MS_MAX
          ? [broken(`worked ${longestMs.toFixed(0)} ms before it answered another caller`)]
          : []),
        ...(largestBytes > MEMORY_BYTES_MAX ? [broken(`held ${(largestBytes / 1e6).toFixed(0)} MB`)] : []),
      ];
    },
  };
}

/** A server that says the same to everybody, at once or after the first bytes of the client. */
class Hostile {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(talk: Talk, isFirst: boolean, box: Box): Promise<Hostile> {
    const server = createServer();
    const hostile = new Hostile(server);
    server.on('connection', (socket) => {
      hostile.#sockets.add(socket);
      socket.on('close', () => hostile.#sockets.delete(socket));
      socket.on('error', () => socket.destroy());
      socket.resume();
      if (isFirst) void speak(socket, talk, box);
      else socket.once('data', () => void speak(socket, talk, box));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return hostile;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

async function speak(
  socket: Socket,
  { first, again, pauseMs = 0, isClosed = false }: Talk,
  { clock }: Box,
): Promise<void> {
  socket.write(first);
  if (isClosed) socket.end();
  if (again === undefined) return;
  const piece = typeof again === 'string' ? Buffer.from(again, 'latin1') : again;
  while (socket.writable) {
    socket.write(piece);
    // A flood that leaves the check itself some time; whoever does not read is not written to.
    do await clock.sleep(Math.max(pauseMs, FLOOD_PAUSE_MS));
    while (socket.writable && socket.writableNeedDrain);
  }
}
