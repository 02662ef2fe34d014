/**
 * A server under measurement, as a process of its own: `bare` Node, an empty `hono` application, or the whole
 * `gateway`. Tells its parent where it listens and, when asked, what it has spent so far: memory and processor time.
 */
import { createServer } from 'node:http';
import { getHeapStatistics } from 'node:v8';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { loadConfig } from '../../src/platform/config/index.ts';
import { createLog } from '../../src/platform/log/index.ts';

export type TargetKind = 'bare' | 'hono' | 'gateway';

export type FromTarget =
  | { kind: 'listening'; port: number }
  | { kind: 'spent'; allocatedBytes: number; processorUs: number };

const BODY = { status: 'ok' };

async function listen(kind: TargetKind): Promise<number> {
  if (kind === 'gateway') return startGateway();
  if (kind === 'hono') {
    const app = new Hono();
    app.get('/', (context) => context.json(BODY));
    return new Promise((resolve) => {
      serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => resolve(port));
    });
  }
  const server = createServer((_request, response) => {
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify(BODY));
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : 0);
    });
  });
}

async function startGateway(): Promise<number> {
  // The other servers start without its sources.
  const { Gateway } = await import('../../src/gateway.ts');
  const clock = createSystemClock();
  const log = createLog({ level: 'info', format: 'json', clock, write: () => undefined });
  const config = loadConfig({ environment: process.env, file: undefined });
  const gateway = new Gateway({ config, clock, log, version: 'bench' });
  process.on('SIGTERM', () => {
    gateway.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
  return (await gateway.start()).httpPort;
}

function tell(message: FromTarget): void {
  process.send?.(message);
}

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  const allocatedBytes = getHeapStatistics().total_allocated_bytes;
  tell({ kind: 'spent', allocatedBytes, processorUs: user + system });
});
process.on('disconnect', () => process.exit(0));
tell({ kind: 'listening', port: await listen(process.argv[2] as TargetKind) });
