import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { bundle, bundlePrograms, PROGRAMS } from '../../scripts/build.ts';
import {
  createGatewayHome,
  createTokens,
  type GatewayHome,
  startGateway,
} from '../../scripts/support/gateway-process.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import type { openLine } from '../../src/platform/mqtt-client/line.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

/** What an installed package has beside the bundle; the programs' sources are not among it. */
const INSTALLED = ['package.json', 'migrations', 'src/capabilities/blueprints/built-in'];

describe('the production bundle', () => {
  const clock = createSystemClock();
  let home: GatewayHome;
  let written: { path: string; sizeBytes: number }[];

  before(async () => {
    const fresh = await createGatewayHome('bundle');
    const root = join(fresh.folder, 'installed');
    mkdirSync(root);
    for (const path of INSTALLED) cpSync(join(PROJECT_ROOT, path), join(root, path), { recursive: true });
    symlinkSync(join(PROJECT_ROOT, 'node_modules'), join(root, 'node_modules'));
    written = await bundle(join(root, 'dist'));
    const entries = { main: join(root, 'dist/main.js'), admin: join(root, 'dist/admin.js') };
    home = { ...fresh, entries };
  });

  after(() => {
    clock.close();
    home.remove();
  });

  test('the production bundle has one file per program, with a map for readable stacks beside it, and the console', () => {
    assert.equal(written.length, PROGRAMS.length + 1);
    for (const name of PROGRAMS) {
      const path = join(home.folder, 'installed/dist', `${name}.js`);
      assert.ok(statSync(path).size > 0 && statSync(`${path}.map`).size > 0);
    }
  });

  test('the production bundle uses the MQTT client of the library, which is a CommonJS package', async (test) => {
    const broker = createServer().listen(0, '127.0.0.1');
    test.after(() => broker.close());
    await once(broker, 'listening');
    const folder = join(home.folder, 'line');
    await bundlePrograms(folder, { line: 'src/platform/mqtt-client/line.ts' });
    const line = (await import(join(folder, 'line.js'))) as { openLine: typeof openLine };
    const { port } = broker.address() as AddressInfo;
    const client = line.openLine({ protocol: 'mqtt', host: '127.0.0.1', port, clientId: 'one' });
    test.after(() => client.end(true));
    const [socket] = (await once(broker, 'connection')) as [Socket];
    const [packet] = (await once(socket, 'data')) as [Buffer];
    assert.equal(packet[0], 0x10, 'CONNECT');
  });

  test('the production bundle gives a CommonJS package the same default export as the runtime does', async () => {
    const folder = join(home.folder, 'older');
    const write = (path: string, text: string): void => {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    };
    write('package.json', '{ "type": "module" }');
    write('node_modules/older/package.json', '{ "main": "older.js" }');
    write(
      'node_modules/older/older.js',
      "Object.defineProperty(exports, '__esModule', { value: true }); exports.default = 'its own default';",
    );
    write('inner.ts', "import older from 'older'; export const given: unknown = older;");
    write('entry.ts', "export { given } from './inner.ts';");
    const given = async (path: string) => ((await import(join(folder, path))) as { given: unknown }).given;
    await bundlePrograms(join(folder, 'dist'), { entry: join(folder, 'entry.ts') });
    assert.deepEqual(await given('dist/entry.js'), await given('entry.ts'));
  });

  test('the production bundle contains nothing that a program does not use', () => {
    const sourcesOf = (name: string): string[] => {
      const map = readFileSync(join(home.folder, 'installed/dist', `${name}.js.map`), 'utf8');
      const { sources } = JSON.parse(map) as { sources: string[] };
      return sources.map((path) => path.replace(/^(?:\.\.\/)*/, ''));
    };
    for (const name of ['scripting/rule-sandbox/main', 'field-module/main'])
      assert.deepEqual(
        sourcesOf(name).filter((path) => path.startsWith('src/scripting/lua/')),
        [],
      );
    const ofThread = sourcesOf('field-module/script-thread');
    assert.ok(
      ofThread.includes('src/scripting/lua/state.ts') && !ofThread.includes('src/protocol/module.ts'),
    );
    assert.ok(sourcesOf('platform/sqlite/upkeep-thread').includes('src/platform/sqlite/native.ts'));
  });

  test('the production bundle starts without the sources, serves, takes a token of the local command, and ends on SIGTERM', async () => {
    const gateway = startGateway(home, clock);
    try {
      await gateway.healthy();
      const [token = ''] = await createTokens(home, 'OWNER', 1);
      const answer = await fetch(`${home.baseUrl}/v3/site`, { headers: { 'X-Service-Auth-Token': token } });
      assert.equal(answer.status, 200);
      const page = await fetch(`${home.baseUrl}/`);
      assert.match(await page.text(), /<script type="module" src="\/chunk-[A-Z0-9]{8}\.js">/);
      assert.equal(typeof ((await answer.json()) as { site: { id: string } }).site.id, 'string');
    } finally {
      const { code } = await gateway.end('SIGTERM');
      assert.equal(code, 0);
    }
  });
});
