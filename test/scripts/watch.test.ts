import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { lineOf } from '../../scripts/watch.ts';
import { useTestGateway } from '../support/test-gateway.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

const common = { device_id: 'd1', received_at: '2026-03-01T08:00:00.123456Z' };
const lines: [string, Record<string, unknown>, string][] = [
  [
    'a log entry with its nested form',
    { ...common, severity: 'info', message: 'hello', log: { severity: 'info', message: 'hello' } },
    '08:00:00.123 info    hello',
  ],
  [
    'a flat log entry, as rules send it',
    { ...common, severity: 'error', message: 'no' },
    '08:00:00.123 error   no',
  ],
  [
    'telemetry',
    { ...common, telemetry: { soc: 51.5, mode: 'auto', alerts: [] } },
    '08:00:00.123 telemetry d1 soc=51.5 mode=auto alerts=[]',
  ],
  ['a connectivity change', { ...common, connectivity: 'ONLINE' }, '08:00:00.123 connectivity d1 ONLINE'],
  ['properties', { ...common, properties: { vendor: 'x' } }, '08:00:00.123 properties d1 vendor=x'],
];

describe('a line of the watch program', () => {
  for (const [title, message, line] of lines)
    it(`a line of the watch program shows ${title}`, () =>
      assert.equal(lineOf(JSON.stringify(message)), line));

  it('a line of the watch program shows a message of an unknown kind as it came', () => {
    assert.equal(lineOf('{"news":1}'), ' {"news":1}');
  });
});

describe('the watch program', () => {
  const gateway = useTestGateway();

  it('the watch program ends quietly when whoever reads has enough, as head does', async () => {
    const device = await gateway().provision();
    await device.connect();
    const script = join(PROJECT_ROOT, 'scripts', 'watch.ts');
    const words = ['--gateway', gateway().origin, '--token', gateway().token('READONLY')];
    const child = spawn(process.execPath, [script, ...words, '--json'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let complaint = '';
    child.stderr.on('data', (text: Buffer) => (complaint += text.toString('utf8')));
    const ended = once(child, 'exit') as Promise<[code: number | null, signal: string | null]>;
    child.stdout.once('data', () => child.stdout.destroy());
    // Every message is one more line that nobody reads.
    for (let soc = 0; child.exitCode === null && child.signalCode === null; soc = (soc + 1) % 100) {
      await device.telemetry({ battery_soc: soc });
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual([...(await ended), complaint], [0, null, '']);
  });
});
