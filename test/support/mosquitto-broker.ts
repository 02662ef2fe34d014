/** A real Mosquitto on the loopback with one user, ended without a word and started again at will. */
import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect as connectSocket } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import { freePort } from './line-engines.ts';
import { until } from './until.ts';
import { temporaryFolder } from './workspace.ts';

export const BROKER_USER = { username: 'box', password: 'shibboleth' };

export interface Seen {
  topic: string;
  payload: string;
  bytes: Buffer;
}

export interface MosquittoBroker {
  readonly url: string;
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Neither answers nor forgets anything while it is frozen. */
  freeze(): void;
  thaw(): void;
  /** Everything below these topics, in order of arrival; what is retained comes first. */
  watch(filter: string): Promise<Seen[]>;
  /** One message at QoS 1; resolves once the broker has it. */
  publish(topic: string, payload: string | Buffer, isRetained?: boolean): Promise<void>;
}

/** TLS of a broker that requires a client certificate; all as PEM. */
export interface BrokerTls {
  authority: string;
  certificate: string;
  privateKey: string;
  /** With which it is watched. */
  client: { cert: string; key: string };
}

/**
 * Undefined, and said so, where the program is not installed.
 * @param rights lines of its file of rights; absent: its user may read and write everything
 * @param more a line of its configuration
 */
export async function startMosquitto(
  t: TestContext,
  tls?: BrokerTls,
  rights?: readonly string[],
  more = '',
): Promise<MosquittoBroker | undefined> {
  const port = await freePort();
  const folder = temporaryFolder(t);
  const passwords = join(folder, 'passwords');
  const rightsFile = join(folder, 'rights');
  const configuration = join(folder, 'mosquitto.conf');
  const clients: MqttClient[] = [];
  let child: ReturnType<typeof spawn> | undefined;

  const start = async (): Promise<void> => {
    // It would change its user as root otherwise, and not read the folder.
    child = spawn('mosquitto', ['-c', configuration], { stdio: 'ignore' });
    await until(() => canConnect(port));
  };
  const kill = async (): Promise<void> => {
    const running = child;
    child = undefined;
    if (!running || running.exitCode !== null) return;
    const ended = new Promise((resolve) => running.once('close', resolve));
    running.kill('SIGKILL');
    await ended;
  };
  t.after(async () => {
    for (const client of clients) client.end(true);
    await kill();
  });
  try {
    writeFileSync(passwords, '', { mode: 0o600 });
    execFileSync('mosquitto_passwd', ['-b', passwords, BROKER_USER.username, BROKER_USER.password], {
      stdio: 'ignore',
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    t.diagnostic('mosquitto is not installed (package mosquitto): not asked');
    return undefined;
  }
  if (rights)
    writeFileSync(rightsFile, [`user ${BROKER_USER.username}`, ...rights, ''].join('\n'), { mode: 0o600 });
  writeFileSync(
    configuration,
    `listener ${port} 127.0.0.1\npassword_file ${passwords}\nallow_anonymous false\nuser root\nmax_queued_messages 0\n${more}\n${rights ? `acl_file ${rightsFile}\n` : ''}${tls ? tlsLines(folder, tls) : ''}`,
  );
  await start();
  const connect = (options: IClientOptions): MqttClient => {
    const certificates = tls && { ca: tls.authority, ...tls.client };
    const client = mqtt.connect(url, { ...BROKER_USER, ...certificates, reconnectPeriod: 50, ...options });
    clients.push(client);
    client.on('error', () => undefined);
    return client;
  };
  const url = tls ? `mqtts://localhost:${port}` : `mqtt://127.0.0.1:${port}`;
  return {
    url,
    kill,
    start,
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    watch: async (filter) => {
      const seen: Seen[] = [];
      const client = connect({ clean: false, clientId: `watch-${clients.length}` });
      client.on(
        'message',
        (topic, payload) => void seen.push({ topic, payload: payload.toString(), bytes: payload }),
      );
      await client.subscribeAsync(filter, { qos: 1 });
      return seen;
    },
    publish: async (topic, payload, isRetained = false) => {
      const client = connect({});
      await client.publishAsync(topic, payload, { qos: 1, retain: isRetained });
      await client.endAsync();
    },
  };
}

function tlsLines(folder: string, { authority, certificate, privateKey }: BrokerTls): string {
  const files = { cafile: authority, certfile: certificate, keyfile: privateKey };
  const lines = Object.entries(files).map(([option, pem]) => {
    const path = join(folder, `${option}.pem`);
    writeFileSync(path, pem, { mode: 0o600 });
    return `${option} ${path}`;
  });
  return `${lines.join('\n')}\nrequire_certificate true\n`;
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectSocket(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
