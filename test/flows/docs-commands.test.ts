/** The commands of every page, typed as they stand, page by page, against a gateway of its own. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { startTestGateway } from '../support/test-gateway.ts';
import { PROJECT_ROOT, temporaryFolder } from '../support/workspace.ts';

const run = promisify(execFile);
const noShell = spawnSync('mosquitto_pub', ['--help']).error !== undefined && 'no mosquitto_pub';
const DOCS = join(PROJECT_ROOT, 'docs');

/** Lines that run in the folder of the sources, or change the machine. */
const OF_THE_SOURCES = /^(?:export TOKEN=\$\()?(?:npm|sudo) .*$/gm;

/** Blocks of shell commands; those that need another machine, root or a terminal have the mark `not-run`. */
function blocksOf(page: string): { isRun: boolean; text: string }[] {
  const text = readFileSync(join(DOCS, page), 'utf8');
  return [...text.matchAll(/^```sh( not-run)?\n(.*?)^```$/gms)].map(([, mark, body = '']) => ({
    isRun: mark === undefined,
    text: body,
  }));
}

const pages = readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
  .filter((page) => page.endsWith('.md'))
  .filter((page) => blocksOf(page).some(({ isRun }) => isRun))
  .sort();

describe('the commands of a page work as they stand', { skip: noShell }, () => {
  for (const page of pages)
    test(page, async (t) => {
      const gateway = await startTestGateway(t, { environment: { GATEWAY_HTTPS: 'true' } });
      const folder = temporaryFolder(t);
      symlinkSync(gateway.dataDir, join(folder, 'data'));
      mkdirSync(join(folder, 'backup'));
      const script = blocksOf(page)
        .filter(({ isRun }) => isRun)
        .map(({ text }) => text)
        .join('\n')
        .replaceAll(OF_THE_SOURCES, '')
        // The gateway of the test has ports of its own.
        .replaceAll(/http:\/\/(?:127\.0\.0\.1|energy-gateway\.local):8080/g, gateway.origin)
        .replaceAll('https://energy-gateway.local:8443', `https://127.0.0.1:${gateway.ports.httpsPort}`)
        .replaceAll('/media/backup', join(folder, 'backup'))
        .replaceAll('-p 1883', `-p ${gateway.ports.mqttPort}`)
        // A caller that is refused is a command that does not work.
        .replaceAll(/\bcurl (?!-f)/g, 'curl --fail-with-body ')
        .replaceAll('https://metrics.example', 'http://127.0.0.1:9');
      const { stdout } = await run('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
        cwd: folder,
        env: {
          ...process.env,
          PATH: `${process.env['PATH']}:${join(process.execPath, '..')}`,
          GATEWAY: gateway.origin,
          TOKEN: gateway.token('INSTALLER'),
        },
      }).catch((error: { stdout?: string; stderr?: string }) => {
        throw new Error(`${error.stderr}\n${error.stdout}\n${script}`, { cause: error });
      });
      assert.equal(typeof stdout, 'string');
    });
});

test('every block of commands names its shell, so that it is run', () => {
  const unmarked = readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
    .filter((page) => page.endsWith('.md') && !page.startsWith('decisions/'))
    .filter((page) => /^```(?:bash|shell|console)\b/m.test(readFileSync(join(DOCS, page), 'utf8')));
  assert.deepEqual(unmarked, []);
});
