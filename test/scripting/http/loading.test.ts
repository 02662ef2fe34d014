import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const SCRIPTS = ['field-module/runtime/device-script', 'scripting/rule-sandbox/rule-run'];

for (const script of SCRIPTS)
  test(`${script} loads no HTTP client and no engine for fetch before a script makes a request`, async () => {
    const program = `
      await import('./src/${script}.ts');
      console.log(process.moduleLoadList.join());`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--no-warnings', '--input-type=module', '--eval', program],
      { cwd: ROOT },
    );
    const loaded = stdout.trim().split(',');
    assert.ok(loaded.includes('NativeModule fs'));
    assert.deepEqual(
      loaded.filter((name) => /^NativeModule (?:https?|internal\/deps\/undici\/undici)$/.test(name)),
      [],
    );
  });
