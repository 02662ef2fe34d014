import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { RESTORED_KEYS_FILE, secretKeysPath, SecretSealer } from '../../../src/platform/files/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

function sealing(t: TestContext, folder = temporaryFolder(t)) {
  const { log, lines } = recordingLog(new TestClock());
  const [path, dataDir] = [join(folder, 'keys', 'secrets.key'), join(folder, 'data')];
  mkdirSync(dataDir, { recursive: true });
  return { folder, path, dataDir, lines, sealer: () => new SecretSealer({ path, dataDir, log }) };
}

describe('a sealed secret', () => {
  test('a sealed secret is opened by a later sealer with the same file, which only its user can read', (t) => {
    const { path, sealer } = sealing(t);
    const sealed = sealer().seal({ password: 'a secret' });
    assert.match(JSON.stringify(sealed), /^"sealed:[^ ]+"$/);
    assert.notEqual(sealer().seal({ password: 'a secret' }), sealed);
    assert.deepEqual(sealer().open(sealed), { password: 'a secret' });
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  test('a sealed secret is missing, and named in the log, when its key is gone or a byte has changed', (t) => {
    const one = sealing(t);
    const sealed = one.sealer().seal('a secret');
    const other = sealing(t);
    other.sealer().seal('another');
    assert.equal(other.sealer().open(sealed), undefined);
    assert.equal(other.lines[0]?.message, 'a stored secret cannot be opened; enter it again');
    const changed = sealed.slice(0, -6) + (sealed.at(-6) === 'A' ? 'B' : 'A') + sealed.slice(-5);
    assert.equal(one.sealer().open(changed), undefined);
    assert.equal(one.sealer().open('sealed:00000000:AAAA'), undefined);
  });

  test('an empty secret makes no key, and one stored in clear is read as it is', (t) => {
    const { path, sealer } = sealing(t);
    assert.equal(sealer().seal(null), null);
    assert.deepEqual(sealer().seal({}), {});
    assert.ok(!existsSync(path));
    assert.equal(sealer().open('a secret of before'), 'a secret of before');
    assert.equal(sealer().isClear('a secret of before'), true);
    assert.equal(sealer().isClear(null), false);
    assert.equal(sealer().isClear(sealer().seal('x')), false);
  });

  test('a sealed secret is opened by the key that a restored backup brought, which leaves the data folder', (t) => {
    const origin = sealing(t);
    const sealed = origin.sealer().seal('a secret');
    const box = sealing(t);
    const own = box.sealer().seal('of this box');
    writeFileSync(join(box.dataDir, RESTORED_KEYS_FILE), readFileSync(origin.path));
    for (const sealer of [box.sealer(), box.sealer()]) {
      assert.equal(sealer.open(sealed), 'a secret');
      assert.equal(sealer.open(own), 'of this box');
      assert.ok(!existsSync(join(box.dataDir, RESTORED_KEYS_FILE)));
    }
  });

  test('a sealed secret is refused while the key cannot be written', (t) => {
    const { folder, sealer } = sealing(t);
    const first = sealer();
    writeFileSync(join(folder, 'keys'), 'a file where the folder belongs');
    assert.throws(() => first.seal('a secret'), /cannot be written to/);
  });
});

test('the key lies beside the data folder unless the option names a file', () => {
  assert.equal(secretKeysPath({ dataDir: '/srv/gateway/', secretsKeyFile: undefined }), '/srv/gateway.key');
  assert.equal(secretKeysPath({ dataDir: '/srv/gateway', secretsKeyFile: '/keys/a' }), '/keys/a');
});
