import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import { MODULE_NODE_OPTIONS } from '../../src/protocol/module.ts';
import { PROJECT_ROOT, temporaryFolder } from '../support/workspace.ts';

const UNIT = readFileSync(join(PROJECT_ROOT, 'systemd/energy-gateway.service'), 'utf8');
const MODULE_UNIT = readFileSync(join(PROJECT_ROOT, 'systemd/energy-gateway-module.service'), 'utf8');
const missing = spawnSync('systemd-analyze', ['--version']).error !== undefined;

const setting = (name: string): string | undefined => new RegExp(`^${name}=(.*)$`, 'm').exec(UNIT)?.[1];

/** The unit with the folder of its version replaced by one that exists, for tools that look at the programs. */
function installed(t: TestContext, text = UNIT): string {
  const folder = temporaryFolder(t);
  const unit = join(folder, 'energy-gateway.service');
  mkdirSync(join(folder, 'scripts'));
  for (const program of ['scripts/gwnode', 'guard'])
    writeFileSync(join(folder, program), '#!/bin/sh\n', { mode: 0o755 });
  const folders =
    /\/var\/lib\/energy-gateway-versions\/current|\/usr\/lib\/energy-gateway(?:-module)?(?=\/)/g;
  writeFileSync(unit, text.replace(folders, folder));
  return unit;
}

describe('the service unit', () => {
  test(
    'the service unit is understood by systemd without a complaint',
    { skip: missing && 'no systemd-analyze' },
    (t) => {
      const good = spawnSync('systemd-analyze', ['verify', installed(t)], { encoding: 'utf8' });
      // Older versions than 254 pass these over.
      const said = good.stderr.replace(/^.*Unknown key (?:name )?'Restart(?:Steps|MaxDelaySec)'.*\n/gm, '');
      assert.deepEqual([good.status, said], [0, '']);
      const bad = UNIT.replace('WatchdogSec=60', 'WatchdogSec=often');
      const refused = spawnSync('systemd-analyze', ['verify', installed(t, bad)], { encoding: 'utf8' });
      assert.match(refused.stderr, /Failed to parse sec value/);
    },
  );

  test(
    'the gateway is exposed at most 1.7 of 10 by systemd’s own measure, the module alone 1.5',
    { skip: missing && 'no systemd-analyze' },
    (t) => {
      for (const [unit, most] of [
        [UNIT, 17],
        [MODULE_UNIT, 15],
      ] as const)
        execFileSync('systemd-analyze', [
          'security',
          '--offline=true',
          `--threshold=${most}`,
          installed(t, unit),
        ]);
    },
  );

  test('the service unit writes no memory of the process, with keys in it, to the disk', () => {
    assert.equal(setting('LimitCORE'), '0');
  });

  test('the service unit starts a module alone with the options that it has as a program of the gateway', () => {
    const start = /^ExecStart=\S+ (.*) \S+main\.js /m.exec(MODULE_UNIT)?.[1]?.split(' ') ?? [];
    assert.deepEqual(start, [...MODULE_NODE_OPTIONS, '--disable-warning=ExperimentalWarning']);
  });

  test('the unit waits for ready and takes notices of systemd-notify', () => {
    assert.equal(setting('Type'), 'notify');
    assert.equal(setting('NotifyAccess'), 'all');
  });

  test('the service unit leaves the stopping of children to the gateway, with more time than that takes', () => {
    assert.equal(setting('KillMode'), 'mixed');
    assert.ok(Number(setting('TimeoutStopSec')) * 1_000 > LIMITS.stop.totalMs);
  });

  test('the service unit goes on when a child program is ended for want of memory', () => {
    assert.equal(setting('OOMPolicy'), 'continue');
  });

  test('the service unit restarts for ever, except where a person must act first', () => {
    assert.equal(setting('Restart'), 'always');
    assert.equal(setting('StartLimitIntervalSec'), '0');
    assert.equal(setting('RestartPreventExitStatus'), '78');
  });

  test('the service unit may write below the data folder only, and hold all its sockets', () => {
    assert.equal(setting('ProtectSystem'), 'strict');
    assert.equal(setting('StateDirectory'), 'energy-gateway energy-gateway-keys');
    assert.match(
      UNIT,
      /^EnvironmentFile=\/var\/lib\/energy-gateway-versions\/current\/systemd\/energy-gateway\.env$/m,
    );
    const environment = readFileSync(join(PROJECT_ROOT, 'systemd/energy-gateway.env'), 'utf8');
    assert.match(environment, /^GATEWAY_DATA_DIR=\/var\/lib\/energy-gateway$/m);
    const sockets =
      LIMITS.http.connections +
      LIMITS.webSocket.connections +
      LIMITS.mqtt.sessions +
      LIMITS.mqtt.connectionsPerAddress;
    assert.ok(Number(setting('LimitNOFILE')) > 2 * sockets);
  });

  test('the package makes the user of the service unit', () => {
    const users = readFileSync(join(PROJECT_ROOT, 'systemd/energy-gateway.sysusers'), 'utf8');
    assert.match(users, new RegExp(`^u ${setting('User')} `, 'm'));
  });
});
