import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import { PROJECT_ROOT, temporaryFolder } from '../support/workspace.ts';

const UNIT = readFileSync(join(PROJECT_ROOT, 'systemd/energy-gateway.service'), 'utf8');
const MODULE_UNIT = readFileSync(join(PROJECT_ROOT, 'systemd/energy-gateway-module.service'), 'utf8');
const missing = spawnSync('systemd-analyze', ['--version']).error !== undefined;

const setting = (name: string): string | undefined => new RegExp(`^${name}=(.*)$`, 'm').exec(UNIT)?.[1];

/** The unit with its install folder replaced by one that exists, for tools that look at the programs. */
function installed(t: TestContext, text = UNIT): string {
  const folder = temporaryFolder(t);
  const unit = join(folder, 'energy-gateway.service');
  mkdirSync(join(folder, 'scripts'));
  writeFileSync(join(folder, 'scripts', 'gwnode'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(unit, text.replaceAll('/opt/energy-gateway', folder));
  return unit;
}

describe('the service unit', () => {
  test('is understood by systemd without a complaint', { skip: missing && 'no systemd-analyze' }, (t) => {
    const good = spawnSync('systemd-analyze', ['verify', installed(t)], { encoding: 'utf8' });
    assert.deepEqual([good.status, good.stderr], [0, '']);
    const bad = UNIT.replace('WatchdogSec=60', 'WatchdogSec=often');
    const refused = spawnSync('systemd-analyze', ['verify', installed(t, bad)], { encoding: 'utf8' });
    assert.match(refused.stderr, /Failed to parse sec value/);
  });

  test(
    'is exposed at most 1.7 of 10 by systemd’s own measure, and so is the module alone',
    { skip: missing && 'no systemd-analyze' },
    (t) => {
      for (const unit of [UNIT, MODULE_UNIT])
        execFileSync('systemd-analyze', ['security', '--offline=true', '--threshold=17', installed(t, unit)]);
    },
  );

  test('leaves no memory of the process, with keys in it, on the disk', () => {
    assert.equal(setting('LimitCORE'), '0');
  });

  test('waits for ready and takes notices from the notify command', () => {
    assert.equal(setting('Type'), 'notify');
    assert.equal(setting('NotifyAccess'), 'all');
  });

  test('leaves the stopping of children to the gateway, and more time than that takes', () => {
    assert.equal(setting('KillMode'), 'mixed');
    assert.ok(Number(setting('TimeoutStopSec')) * 1_000 > LIMITS.stop.totalMs);
  });

  test('restarts for ever, except where a person must act first', () => {
    assert.equal(setting('Restart'), 'always');
    assert.equal(setting('StartLimitIntervalSec'), '0');
    assert.equal(setting('RestartPreventExitStatus'), '78');
  });

  test('lets it write below its data folder only, and hold all its sockets', () => {
    assert.equal(setting('ProtectSystem'), 'strict');
    assert.equal(setting('StateDirectory'), 'energy-gateway');
    assert.match(UNIT, /^EnvironmentFile=\/opt\/energy-gateway\/systemd\/energy-gateway\.env$/m);
    const environment = readFileSync(join(PROJECT_ROOT, 'systemd/energy-gateway.env'), 'utf8');
    assert.match(environment, /^GATEWAY_DATA_DIR=\/var\/lib\/energy-gateway$/m);
    const sockets =
      LIMITS.http.connections +
      LIMITS.webSocket.connections +
      LIMITS.mqtt.sessions +
      LIMITS.mqtt.connectionsPerAddress;
    assert.ok(Number(setting('LimitNOFILE')) > 2 * sockets);
  });
});

describe('the installing script', () => {
  const SCRIPT = join(PROJECT_ROOT, 'scripts/install');
  const install = (...words: string[]) => spawnSync(SCRIPT, words, { encoding: 'utf8' });

  test('refuses what it does not know and changes nothing', () => {
    const { status, stderr } = install('--force');
    assert.deepEqual([status, stderr], [1, 'unknown option --force; try --help\n']);
  });

  test('explains itself', () => {
    const { status, stdout } = install('--help');
    assert.equal(status, 0);
    assert.match(stdout, /^Usage: scripts\/install/);
  });

  test('installs where the unit and the local command look for it', () => {
    const script = readFileSync(SCRIPT, 'utf8');
    // Below a root of its own only where a test gives one.
    const target = /^target=\$root(.*)$/m.exec(script)?.[1];
    assert.equal(setting('WorkingDirectory'), target);
    assert.ok(setting('ExecStart')?.startsWith(`${target}/scripts/gwnode `));
    for (const name of /^files='(.*)'$/m.exec(script)?.[1]?.split(' ') ?? [])
      assert.ok(existsSync(join(PROJECT_ROOT, name)), name);
  });

  test('makes the user of the unit', () => {
    const users = readFileSync(join(PROJECT_ROOT, 'systemd/energy-gateway.sysusers'), 'utf8');
    assert.match(users, new RegExp(`^u ${setting('User')} `, 'm'));
  });
});
