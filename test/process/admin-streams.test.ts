/** What goes into the local commands as a file, and what comes out of them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { admin, newHome } from './support.ts';

const PASSWORD = 'correct horse';

describe('local commands', () => {
  test('local commands end in order when their output is not read, and report the loss', async () => {
    const home = await newHome();
    const run = (output: number | 'pipe') =>
      spawnSync(process.execPath, [home.entries.admin, 'create-token'], {
        env: home.environment,
        encoding: 'utf8',
        stdio: ['ignore', output, 'pipe'],
      });
    const full = openSync('/dev/full', 'w');
    try {
      const { status, stderr } = run(full);
      assert.equal(status, 1);
      assert.match(stderr, /^The output could not be written: ENOSPC.*\n$/);
      const words = [
        'sh',
        ['-c', `"$0" "$1" create-token | true; echo done >&2`, process.execPath, home.entries.admin],
      ] as const;
      const left = spawnSync(words[0], words[1], {
        env: { ...process.env, ...home.environment },
        encoding: 'utf8',
      });
      assert.equal(left.stderr, 'done\n');
    } finally {
      closeSync(full);
      home.remove();
    }
  });

  test('local commands take a password from a file of any editor, and none that cannot be typed', async () => {
    const home = await newHome();
    const [file, passwordFile] = [join(home.folder, 'site.backup'), join(home.folder, 'password')];
    try {
      writeFileSync(passwordFile, Buffer.from([0xff, ...Buffer.from('a long sentence')]));
      const refused = admin(home, 'backup', file, '--password-file', passwordFile);
      assert.deepEqual([refused.status, existsSync(file)], [64, false]);
      assert.match(refused.stderr, /password is not UTF-8/);
      writeFileSync(passwordFile, `\ufeff${PASSWORD}\r\n`);
      assert.equal(admin(home, 'backup', file, '--password-file', passwordFile).status, 0);
      writeFileSync(passwordFile, PASSWORD);
      assert.equal(admin(home, 'restore', file, '--password-file', passwordFile).status, 0);
    } finally {
      home.remove();
    }
  });
});
