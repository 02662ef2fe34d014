/** A gateway that has as many files open as it may: what it cannot do is said in words, and it goes on when there are more. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { GatewayHome } from '../../scripts/support/gateway-process.ts';
import { until } from '../support/until.ts';
import { type Running, startHealthy, usedHome, WITH_CHILD_PROGRAMS } from './support.ts';

const ends: (() => unknown)[] = [];
let home: GatewayHome;
let running: Running;
before(async () => {
  const all = { after: (end: unknown) => void ends.push(end as () => unknown) };
  home = await usedHome(all);
  running = await startHealthy(all, home, WITH_CHILD_PROGRAMS);
});
after(async () => {
  for (const end of ends) await end();
});

test('a call without a handle for a thread or a file is 503 with a remedy, and leaves nothing behind', async () => {
  const { gateway, tokens } = running;
  const ask = async (path: string, body: unknown): Promise<{ status: number; text: string }> => {
    const answer = await fetch(home.baseUrl + path, {
      method: 'POST',
      headers: { 'X-Service-Auth-Token': tokens.INSTALLER, Connection: 'close' },
      body: body instanceof Uint8Array ? body : JSON.stringify(body),
    });
    return { status: answer.status, text: await answer.text() };
  };
  /** Housekeeping of the gateway may take the last handle for a moment, and the connection is closed unheard. */
  const call: typeof ask = async (path, body) => {
    let answer: Awaited<ReturnType<typeof ask>> | undefined;
    await until(async () => {
      try {
        answer = await ask(path, body);
      } catch (error) {
        if (!(error instanceof TypeError) || gateway.hasExited) throw error;
      }
      return answer !== undefined;
    });
    assert.ok(answer);
    return answer;
  };
  const limit = (handles: number): void =>
    void execFileSync('prlimit', ['--pid', String(gateway.pid), `--nofile=${handles}:`]);
  const held = (): number => readdirSync(`/proc/${gateway.pid}/fd`).length;
  // Besides the upload those are copies that the gateway makes by itself.
  const strangeFiles = (): string[] =>
    readdirSync(join(home.folder, 'data', 'backups')).filter(
      (name) => !/^(state-\w+-\d+-\d+\.db|authority\.pem|uploaded\.backup)$/.test(name),
    );
  const calls: [path: string, body: unknown, served: number][] = [
    ['/v3/blueprints/upload', new Uint8Array(100), 400],
    ['/v3/backup', { password: 'correct horse' }, 200],
    ['/v3/backup/upload', new Uint8Array(100), 200],
    ['/v3/backup/restore', { password: 'correct horse' }, 422],
  ];
  let refused = 0;
  // The connection of the call takes one.
  for (const spare of [1, 2, 3, 4]) {
    limit(held() + spare);
    for (const [path, body] of calls) {
      const { status, text } = await call(path, body);
      if (status === 503) {
        refused++;
        assert.match(text, /as many files and connections open as it may/, path);
      } else assert.ok(status < 500, `${path} with ${spare}: ${status} ${text} ${linesOf(home, 'error')}`);
    }
    limit(4_096);
    assert.deepEqual(strangeFiles(), []);
  }
  assert.ok(refused > calls.length, String(refused));
  for (const [path, body, served] of calls) assert.equal((await call(path, body)).status, served, path);
  assert.doesNotMatch(readFileSync(home.logFile, 'utf8'), /"level":"(error|fatal)"/);
});

test('a rule whose script cannot be checked for lack of a handle is neither stored nor changed', async (t) => {
  const { gateway, call, tokens } = running;
  const path = '/v3/site/rule_engine/rules';
  const script = { runtime_version: 'V3', code: Buffer.from('return true').toString('base64') };
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const ask = (method: string, asked: string, body?: unknown) =>
    askOver(agent, home.baseUrl + asked, tokens.OWNER, method, body);
  assert.equal((await ask('GET', '/v3/site')).status, 200);
  const limit = (handles: string): void =>
    void execFileSync('prlimit', ['--pid', String(gateway.pid), `--nofile=${handles}:`]);
  // No further file, on the connection that there is.
  limit('3');
  const refused = await ask('POST', path, { slug: 'checked', script });
  limit('4096');
  assert.equal(refused.status, 503, refused.text);
  assert.match(refused.text, /as many files and connections open as it may/);
  assert.deepEqual((await call('GET', path)).body, { rules: [], total_count: 0 });
  assert.equal((await call('POST', path, { slug: 'checked', script })).status, 200);
});

function askOver(agent: Agent, url: string, token: string, method: string, body: unknown) {
  return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const headers = { 'X-Service-Auth-Token': token };
    const asking = request(url, { agent, method, headers }, (answer) => {
      let text = '';
      answer
        .setEncoding('utf8')
        .on('data', (part: string) => (text += part))
        .on('end', () => resolve({ status: answer.statusCode, text }))
        .on('error', reject);
    });
    asking.on('error', reject);
    asking.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const linesOf = ({ logFile }: GatewayHome, level: string): string =>
  readFileSync(logFile, 'utf8')
    .split('\n')
    .filter((line) => line.includes(`"level":"${level}"`))
    .join('\n');

/** Resolves when it ends by itself, or without a code as soon as it serves, when it is ended. */
async function runUntilReady(
  home: GatewayHome,
  handles: number,
): Promise<{ code: number | null | undefined; stdout: string }> {
  const child = spawn('prlimit', [`--nofile=${handles}:${handles}`, process.execPath, home.entries.main], {
    env: { ...process.env, ...home.environment, ...WITH_CHILD_PROGRAMS },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let stdout = '';
  let isReady = false;
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    stdout += part;
    if (isReady || !stdout.includes('"message":"ready"')) return;
    isReady = true;
    child.kill();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code: isReady ? undefined : code, stdout };
}

test('a start with too few handles says so, may be tried again, and loses nothing', async (t) => {
  const own = await usedHome(t);
  let refused = 0;
  for (let handles = 24; handles <= 44; handles += 4) {
    const { code, stdout } = await runUntilReady(own, handles);
    if (code === undefined) continue;
    refused++;
    assert.equal(code, 1, stdout);
    const last = stdout.split('\n').findLast((line) => line.includes('"level":"fatal"')) ?? '';
    assert.match(last, /"reason":"[^"]*as many files and connections open as it may/, String(handles));
  }
  assert.ok(refused > 0);
  const { call } = await startHealthy(t, own);
  assert.equal((await call('GET', '/v3/devices/battery')).status, 200);
});
