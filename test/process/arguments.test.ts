/** What a person gets who asks a program what it is, or starts it with a word that it does not know. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { PROJECT_ROOT } from '../support/workspace.ts';
import { temporaryHome } from './support.ts';

const { version } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8')) as {
  version: string;
};

const PROGRAMS: { name: string; file: string; usageExitCode: number; help: RegExp }[] = [
  { name: 'the gateway', file: 'main.js', usageExitCode: 2, help: /GATEWAY_HTTP_PORT: .*default 8080/ },
  { name: 'the local command', file: 'admin.js', usageExitCode: 64, help: /reset-access/ },
  {
    name: 'the communication module',
    file: 'field-module/main.js',
    usageExitCode: 2,
    help: /--config FILE/,
  },
];

for (const { name, file, usageExitCode, help } of PROGRAMS)
  describe(`${name} starts nothing`, () => {
    const cases: { words: string[]; exitCode: number; stdout: RegExp; stderr: RegExp }[] = [
      { words: ['--help'], exitCode: 0, stdout: help, stderr: /^$/ },
      { words: ['-h'], exitCode: 0, stdout: help, stderr: /^$/ },
      { words: ['--version'], exitCode: 0, stdout: new RegExp(`^${version}\n$`), stderr: /^$/ },
      { words: ['--data', 'x'], exitCode: usageExitCode, stdout: /^$/, stderr: /--data.*try --help\n$/ },
      { words: ['surplus'], exitCode: usageExitCode, stdout: /^$/, stderr: /surplus.*try --help\n$/ },
    ];
    for (const { words, exitCode, stdout, stderr } of cases)
      test(`${name} starts nothing when it is called with ${words.join(' ')}`, async (t) => {
        const home = await temporaryHome(t);
        const ended = spawnSync(process.execPath, [join(PROJECT_ROOT, 'dist', file), ...words], {
          env: home.environment,
          encoding: 'utf8',
          timeout: 20_000,
          killSignal: 'SIGKILL',
        });
        assert.equal(ended.status, exitCode, ended.stderr);
        assert.match(ended.stdout, stdout);
        assert.match(ended.stderr, stderr);
        assert.equal(existsSync(home.environment['GATEWAY_DATA_DIR'] ?? ''), false);
      });
  });
