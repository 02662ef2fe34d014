/** The gateway behind the real nginx, Caddy, Traefik and Apache, with their configurations as docs/proxy.md has them. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request, type RequestOptions } from 'node:https';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect } from 'node:tls';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { makeAuthority, makeCertificate } from '../../src/platform/tls/certificates.ts';
import { freePort } from '../support/line-engines.ts';
import { playModbus } from '../support/simulated-modbus.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { PROJECT_ROOT, temporaryFolder } from '../support/workspace.ts';

const NAME = 'gateway.example';
/** Address of a caller that is no proxy: all of 127.0.0.0/8 is this machine. */
const CALLER = '127.0.0.2';
const USER = { name: 'anna', password: 'a password of hers' };
const PAGE = readFileSync(join(PROJECT_ROOT, 'docs', 'proxy.md'), 'utf8');
const SLOW_COMMAND_MS = 9_000;
const DAY_MS = 86_400_000;

/**
 * What the page says for a program, with other ports and files.
 * @param begins the first words of the block, after the name of its language
 */
function configurationOf(begins: string, changes: Record<string, string>): string {
  let text = new RegExp(`\`\`\`${begins}\\n([\\s\\S]*?)\`\`\``).exec(PAGE)?.[1] ?? assert.fail(begins);
  for (const [said, now] of Object.entries(changes)) {
    assert.ok(text.includes(said), `${said} in ${text}`);
    text = text.replaceAll(said, now);
  }
  return text;
}

interface Place {
  folder: string;
  /** Port of the proxy. */
  port: number;
  gatewayPort: number;
  files: Record<string, string>;
}

const PROXIES = {
  nginx: ({ folder, port, gatewayPort, files }: Place) => {
    const server = configurationOf('nginx', {
      'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
      '127.0.0.1:8080': `127.0.0.1:${gatewayPort}`,
      ...files,
    });
    const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    );
    writeFileSync(
      join(folder, 'nginx.conf'),
      `daemon off; user root; pid ${folder}/pid; error_log stderr;
events {} http { access_log off; ${folders.join(' ')}\n${server}\n}`,
    );
    return { program: 'nginx', words: ['-e', 'stderr', '-c', join(folder, 'nginx.conf')] };
  },
  caddy: ({ folder, port, gatewayPort, files }: Place) => {
    const site = configurationOf('caddy', {
      [`${NAME} {`]: `https://${NAME}:${port} {\n  bind 127.0.0.1`,
      '127.0.0.1:8080': `127.0.0.1:${gatewayPort}`,
      ...files,
    });
    const common = `{\n  admin off\n  auto_https disable_redirects\n  storage file_system ${folder}\n}\n`;
    writeFileSync(join(folder, 'Caddyfile'), common + site);
    return {
      program: 'caddy',
      words: ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')],
    };
  },
  traefik: ({ folder, port, gatewayPort, files }: Place) => {
    const entries = configurationOf('yaml\n# static configuration', {
      'address: :443': `address: 127.0.0.1:${port}`,
    });
    const routes = configurationOf('yaml\n# dynamic configuration', {
      '127.0.0.1:8080': `127.0.0.1:${gatewayPort}`,
      ...files,
    });
    const provider = `providers: { file: { filename: ${join(folder, 'dynamic.yml')} } }`;
    writeFileSync(join(folder, 'dynamic.yml'), routes);
    writeFileSync(join(folder, 'static.yml'), `${entries}${provider}\nglobal: { checkNewVersion: false }\n`);
    return { program: 'traefik', words: [`--configFile=${join(folder, 'static.yml')}`] };
  },
  apache2: ({ folder, port, gatewayPort, files }: Place) => {
    const host = configurationOf('apache', {
      '*:443': `127.0.0.1:${port}`,
      '127.0.0.1:8080': `127.0.0.1:${gatewayPort}`,
      ...files,
    });
    const modules = ['mpm_event', 'authz_core', 'ssl', 'headers', 'proxy', 'proxy_http'].map(
      (module) => `LoadModule ${module}_module /usr/lib/apache2/modules/mod_${module}.so`,
    );
    const common = `ServerName localhost
ServerRoot ${folder}
DefaultRuntimeDir ${folder}
PidFile ${folder}/pid
ErrorLog ${folder}/error.log
User www-data
Group www-data
Listen 127.0.0.1:${port}
`;
    writeFileSync(join(folder, 'apache2.conf'), `${modules.join('\n')}\n${common}${host}`);
    return { program: 'apache2', words: ['-D', 'FOREGROUND', '-f', join(folder, 'apache2.conf')] };
  },
};

for (const [name, configure] of Object.entries(PROXIES))
  describe(`behind ${name}, as the page configures it,`, () => {
    const ends: (() => unknown)[] = [];
    const owner = { after: (end: () => unknown) => void ends.push(end) };
    let gateway: TestGateway;
    let modbus = '';
    let port = 0;
    let ca = '';
    let isThere = true;
    let cookie = '';

    before(async () => {
      const played = await playModbus(owner);
      modbus = played.uri;
      gateway = await startTestGateway(owner, {
        environment: {
          ...played.environment,
          GATEWAY_TRUSTED_PROXIES: '127.0.0.1',
          GATEWAY_PUBLIC_HOST: NAME,
        },
      });
      await gateway.ok('INSTALLER', 'POST', '/v3/auth/users', { ...USER, role: 'INSTALLER' });
      const folder = temporaryFolder(owner);
      const files = await certificateIn(folder);
      port = await freePort();
      const gatewayPort = Number(new URL(gateway.origin).port);
      const { program, words } = configure({ folder, port, gatewayPort, files });
      isThere = await startProxy(program, words, folder);
    });
    after(async () => {
      for (const end of ends.toReversed()) await end();
    });

    /** Where the configuration looks for the certificate → where it is. */
    async function certificateIn(folder: string): Promise<Record<string, string>> {
      const validity = { validFromMs: Date.now() - DAY_MS, validToMs: Date.now() + DAY_MS };
      const authority = await makeAuthority({ ...validity, commonName: 'Test', serial: '01' });
      ca = authority.certificatePem;
      const own = await makeCertificate(authority, {
        ...validity,
        commonName: NAME,
        serial: '02',
        purpose: 'server',
        names: { dns: [NAME], ips: [] },
      });
      writeFileSync(join(folder, 'own.pem'), own.certificatePem);
      writeFileSync(join(folder, 'own.key'), own.privateKeyPem);
      return {
        [`/etc/ssl/certs/${NAME}.pem`]: join(folder, 'own.pem'),
        [`/etc/ssl/private/${NAME}.key`]: join(folder, 'own.key'),
      };
    }

    /** False where the program is not installed. */
    async function startProxy(program: string, words: string[], folder: string): Promise<boolean> {
      const said: Buffer[] = [];
      const child = spawn(program, words, {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { ...process.env, HOME: folder, PATH: `${process.env['PATH']}:/usr/sbin` },
      });
      child.stderr.on('data', (data: Buffer) => said.push(data));
      const { promise: ended, resolve } = Promise.withResolvers<'ended' | 'absent'>();
      child.on('error', () => resolve('absent'));
      child.on('exit', () => resolve('ended'));
      ends.push(async () => {
        child.kill('SIGTERM');
        await ended;
      });
      let outcome: string | undefined;
      void ended.then((how) => (outcome = how));
      await until(async () => outcome !== undefined || (await isListening()));
      if (outcome === 'absent') return false;
      assert.equal(outcome, undefined, Buffer.concat(said).toString());
      return true;
    }

    const common = (): RequestOptions => ({
      host: '127.0.0.1',
      port,
      ca,
      servername: NAME,
      localAddress: CALLER,
      agent: false,
    });

    const isListening = (): Promise<boolean> =>
      new Promise((resolve) => {
        const socket = connect({ host: '127.0.0.1', port, servername: NAME, ca });
        socket.on('secureConnect', () => {
          socket.destroy();
          resolve(true);
        });
        socket.on('error', () => resolve(false));
      });

    const headersOf = (): Record<string, string> => ({
      Host: `${NAME}:${port}`,
      Cookie: cookie,
      'X-Requested-With': 'console',
    });

    /** The answer when its head has come. */
    function ask(
      method: string,
      path: string,
      body?: object | Buffer,
      more: object = {},
    ): Promise<IncomingMessage> {
      return new Promise((resolve, reject) => {
        const isJson = body !== undefined && !(body instanceof Buffer);
        const headers = { ...headersOf(), ...(isJson && { 'Content-Type': 'application/json' }), ...more };
        const asked = request({ ...common(), method, path, headers }, resolve);
        asked.on('error', reject);
        asked.end(isJson ? JSON.stringify(body) : body);
      });
    }

    async function textOf(answer: IncomingMessage): Promise<string> {
      const chunks: Buffer[] = [];
      for await (const chunk of answer) chunks.push(chunk as Buffer);
      return Buffer.concat(chunks).toString();
    }

    const jsonOf = async (answer: IncomingMessage): Promise<Record<string, Record<string, unknown>>> =>
      JSON.parse(await textOf(answer)) as Record<string, Record<string, unknown>>;

    test('a login gets a secure cookie, and the gateway sees the caller', async (t) => {
      if (!isThere) return t.diagnostic(`${name} is not installed: not asked`);
      const answer = await ask('POST', '/v3/auth/login', USER);
      assert.equal(answer.statusCode, 200);
      const [set = ''] = answer.headers['set-cookie'] ?? [];
      assert.match(set, /^__Host-gateway_session=\S+;.*; Secure$/);
      cookie = set.split(';')[0] ?? '';
      await textOf(answer);
      const origin = encodeURIComponent(`https://${NAME}:${port}`);
      assert.deepEqual((await jsonOf(await ask('GET', `/v3/connection?origin=${origin}`)))['connection'], {
        remote_address: CALLER,
        host: NAME,
        is_encrypted: true,
        is_forwarded: true,
        is_known_origin: true,
      });
      const { entries = [] } = (await gateway.ok('OWNER', 'GET', '/v3/audit')) as {
        entries?: { operation: string; remote_address: string }[];
      };
      assert.equal(entries.find(({ operation }) => operation === 'login')?.remote_address, CALLER);
    });

    test('addresses that a caller claims for itself are ignored', async (t) => {
      if (!isThere) return t.diagnostic(`${name} is not installed: not asked`);
      const forged = {
        'X-Forwarded-For': '203.0.113.9',
        Forwarded: 'for=203.0.113.9',
        'X-Forwarded-Proto': 'http',
      };
      const { connection } = await jsonOf(await ask('GET', '/v3/connection', undefined, forged));
      assert.partialDeepStrictEqual(connection, { remote_address: CALLER, is_encrypted: true });
    });

    test('values arrive live over a WebSocket, and a foreign page gets none', async (t) => {
      if (!isThere) return t.diagnostic(`${name} is not installed: not asked`);
      const device = await gateway.provision('Roof');
      await device.connect();
      const watch = (origin: string): Promise<WebSocket | number> =>
        new Promise((resolve, reject) => {
          const { host, ...options } = common();
          const headers = { ...headersOf(), Origin: origin };
          const socket = new WebSocket(`wss://${host}:${port}/v3/devices`, { ...options, headers });
          ends.push(() => socket.terminate());
          socket.on('open', () => resolve(socket));
          socket.on('unexpected-response', (_, { statusCode }) => resolve(statusCode ?? 0));
          socket.on('error', reject);
        });
      assert.equal(await watch('https://evil.example'), 401);
      const socket = await watch(`https://${NAME}:${port}`);
      if (typeof socket === 'number') return assert.fail(`refused with ${socket}`);
      const heard: string[] = [];
      socket.on('message', (data: Buffer) => heard.push(data.toString()));
      await device.telemetry({ battery_soc: 43 });
      await until(() => heard.some((text) => text.includes('"battery_soc":43')));
      await device.leave();
    });

    test('a command of nine seconds is answered', async (t) => {
      if (!isThere) return t.diagnostic(`${name} is not installed: not asked`);
      const device = await gateway.provision('Slow');
      await device.connect();
      device.onRequest = (asked) =>
        void pause(SLOW_COMMAND_MS)
          .then(() => device.answer(asked, 'completed', { result: { done: true } }))
          // It may leave before the broker has acknowledged its answer.
          .catch(() => undefined);
      const path = `/v3/devices/${device.id}/commands/execute`;
      const { execution } = await jsonOf(await ask('POST', path, { name: 'start' }));
      assert.partialDeepStrictEqual(execution, { state: 'SUCCESS' });
      await device.leave();
    });

    test('devices found by a search arrive one by one', async (t) => {
      if (!isThere) return t.diagnostic(`${name} is not installed: not asked`);
      const answer = await ask('POST', '/v3/modbus/scan', { uri: modbus, last_unit: 4, timeout_ms: 1_000 });
      const pieces: string[] = [];
      for await (const piece of answer) pieces.push(String(piece));
      // Units 3 and 4 are silent: what came before is passed on without waiting for them.
      assert.doesNotMatch(pieces[0] ?? '', /"end"/);
      const types = pieces
        .join('')
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { type: string }).type);
      assert.deepEqual(types, ['unit', 'unit', 'unit', 'unit', 'end']);
    });

    test('an upload of 2 MB reaches the gateway whole', async (t) => {
      if (!isThere) return t.diagnostic(`${name} is not installed: not asked`);
      const answer = await ask('POST', '/v3/backup/upload', randomBytes(2_000_000), {
        'Content-Type': 'application/octet-stream',
      });
      assert.notEqual(answer.headers['x-request-id'], undefined);
      const text = await textOf(answer);
      assert.ok(answer.statusCode === 200 || text.includes('backup_refused'), text);
    });

    if (name === 'nginx')
      test('an upload too large for the proxy is refused by a page without the mark of the gateway', async (t) => {
        if (!isThere) return t.diagnostic(`${name} is not installed: not asked`);
        const answer = await ask('POST', '/v3/backup/upload', Buffer.alloc(10), {
          'Content-Length': 2_000_000_000,
        });
        answer.destroy();
        assert.equal(answer.statusCode, 413);
        assert.equal(answer.headers['x-request-id'], undefined);
      });
  });
