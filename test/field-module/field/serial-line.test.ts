/** The system's serial ports, on a pseudo-terminal made by the program `script`, which every Debian has. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createSystemClock } from '../../../src/platform/clock/index.ts';
import { systemSerialLines } from '../../../src/field-module/field/serial-line.ts';
import { until } from '../../support/until.ts';
import { temporaryFolder } from '../../support/workspace.ts';
import { SETTINGS } from './serial-device.ts';

const clock = createSystemClock();
after(() => clock.close());

interface Terminal {
  child: ChildProcess;
  path: string;
  /** What the module wrote, as the other end sees it. */
  heard: () => string;
  say: (text: string) => void;
}

async function openTerminal(): Promise<Terminal> {
  const child = spawn('script', ['-qfc', 'tty; exec sleep 60', '/dev/null'], { stdio: 'pipe' });
  let said = '';
  child.stdout.setEncoding('latin1').on('data', (text: string) => (said += text));
  await until(() => /\/dev\/pts\/\d+\s/.test(said));
  const path = /\/dev\/pts\/\d+/.exec(said)?.[0] ?? assert.fail();
  said = '';
  return { child, path, heard: () => said, say: (text) => void child.stdin.write(text, 'latin1') };
}

describe('a serial port of the system', () => {
  let terminal: Terminal;
  before(async () => {
    terminal = await openTerminal();
  });
  after(async () => {
    terminal.child.kill();
    await once(terminal.child, 'close');
  });

  const lineAt = systemSerialLines(clock);
  const ignored = { onBytes: () => undefined, onEnd: () => undefined };

  test('a serial port of the system is open once, whatever name of its device file it is asked for by', async (t) => {
    const link = join(temporaryFolder(t), 'by-id');
    symlinkSync(terminal.path, link);
    const line = await lineAt(terminal.path)(SETTINGS, ignored);
    await assert.rejects(
      lineAt(link)({ ...SETTINGS, baudRate: 19_200 }, ignored),
      new RegExp(`another port has the same line open as ${terminal.path}`),
    );
    line.close();
    (await lineAt(link)(SETTINGS, ignored)).close();
    (await lineAt(terminal.path)(SETTINGS, ignored)).close();
  });

  test('a serial port of the system is refused when there is none, when it is a file, and when the settings are not possible', async (t) => {
    await assert.rejects(lineAt('/dev/no-such-port')(SETTINGS, ignored), /No such file|no such device/);
    const file = join(temporaryFolder(t), 'file');
    writeFileSync(file, '');
    await assert.rejects(lineAt(file)(SETTINGS, ignored), /ioctl.*no serial port/);
    const odd = { ...SETTINGS, baudRate: 12_345_678 };
    await assert.rejects(lineAt(terminal.path)(odd, ignored), /invalid argument.*does not take/);
  });

  test('a serial port of the system carries every byte both ways, unchanged', async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, value) => value));
    const received: Buffer[] = [];
    const line = await lineAt(terminal.path)(SETTINGS, {
      onBytes: (chunk) => received.push(chunk),
      onEnd: () => undefined,
    });
    await line.write(bytes);
    await until(() => terminal.heard().length >= 256);
    assert.deepEqual(Buffer.from(terminal.heard(), 'latin1'), bytes);
    // A pause after the byte that ends the input of the program in between would end it.
    const spoken = bytes.filter((byte) => byte !== 4);
    terminal.say(Buffer.from(spoken).toString('latin1'));
    await until(() => Buffer.concat(received).length >= spoken.length);
    assert.deepEqual(Buffer.concat(received), Buffer.from(spoken));
    line.close();
    await assert.rejects(line.write(bytes), /gone/);
  });

  /** How often this process has it open. */
  const openings = (path: string): number =>
    readdirSync('/proc/self/fd').filter((name) => {
      try {
        return readlinkSync(join('/proc/self/fd', name)).startsWith(path);
      } catch {
        return false;
      }
    }).length;

  test('a serial port of the system is open no longer once it is closed', async () => {
    for (let times = 0; times < 3; times += 1) (await lineAt(terminal.path)(SETTINGS, ignored)).close();
    await until(() => openings(terminal.path) === 0);
  });

  test('a serial port of the system reports once that it goes away, and is closed', async () => {
    const other = await openTerminal();
    const reasons: string[] = [];
    await lineAt(other.path)(SETTINGS, {
      onBytes: () => undefined,
      onEnd: (reason) => reasons.push(reason),
    });
    other.child.kill('SIGKILL');
    await once(other.child, 'close');
    await until(() => reasons.length > 0);
    assert.deepEqual(reasons, ['the device is gone']);
    await until(() => openings(other.path) === 0);
  });
});
