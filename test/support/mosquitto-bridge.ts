/** A real Mosquitto that hands messages on to the gateway as a bridge with default settings. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect as connectSocket } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import mqtt from 'mqtt';
import { freePort } from './line-engines.ts';
import { until } from './until.ts';
import { temporaryFolder } from './workspace.ts';

export interface Bridge {
  /** One message at QoS 1 to its local side. */
  publish(topic: string, payload: string): Promise<void>;
}

/**
 * Undefined, and said so, where the program is not installed.
 * @param topics lines of its configuration: what it hands on
 */
export async function startBridge(
  t: TestContext,
  gatewayPort: number,
  { username, password }: { username: string; password: string },
  topics: readonly string[],
): Promise<Bridge | undefined> {
  const port = await freePort();
  const configuration = join(temporaryFolder(t), 'bridge.conf');
  const lines = [
    `listener ${port} 127.0.0.1`,
    'allow_anonymous true',
    'connection house',
    `address 127.0.0.1:${gatewayPort}`,
    `remote_username ${username}`,
    `remote_password ${password}`,
    ...topics,
  ];
  writeFileSync(configuration, `${lines.join('\n')}\n`);
  const path = `${process.env['PATH'] ?? ''}:/usr/sbin`;
  const child = spawn('mosquitto', ['-c', configuration], {
    stdio: 'ignore',
    env: { ...process.env, PATH: path },
  });
  const isMissing = await new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(true));
    child.once('spawn', () => resolve(false));
  });
  if (isMissing) {
    t.diagnostic('mosquitto is not installed (package mosquitto): no bridge was started');
    return undefined;
  }
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await until(() => canConnect(port));
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`);
  t.after(() => client.endAsync(true));
  return {
    publish: async (topic, payload) => void (await client.publishAsync(topic, payload, { qos: 1 })),
  };
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectSocket(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
