/** A gateway that has as many files open as it may: what it cannot do is said in words, and it goes on when there are more. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTokens } from '../../scripts/support/gateway-process.ts';
import { startHealthy, temporaryHome } from './support.ts';

test('without a handle for a thread or a file a call is 503 with words to act on, and leaves nothing behind', async (t) => {
  const home = await temporaryHome(t);
  const { gateway } = await startHealthy(t, home);
  const [token = ''] = await createTokens(home, 'INSTALLER', 1);
  const call = async (path: string, body: unknown): Promise<{ status: number; text: string }> => {
    const answer = await fetch(home.baseUrl + path, {
      method: 'POST',
      headers: { 'X-Service-Auth-Token': token, Connection: 'close' },
      body: body instanceof Uint8Array ? body : JSON.stringify(body),
    });
    return { status: answer.status, text: await answer.text() };
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
      } else assert.ok(status < 500, `${path} with ${spare}: ${status}`);
    }
    limit(4_096);
    assert.deepEqual(strangeFiles(), []);
  }
  assert.ok(refused > calls.length, String(refused));
  for (const [path, body, served] of calls) assert.equal((await call(path, body)).status, served, path);
  assert.doesNotMatch(readFileSync(home.logFile, 'utf8'), /"level":"(error|fatal)"/);
});
