/**
 * The package on a Debian with systemd and without a network: real dpkg, real maintainer scripts, the real gateway.
 * Each test goes on where the one before it ended, as the life of a board does.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../support/until.ts';
import { DebianRoot, whyNoDebianRoot } from '../../scripts/support/debian-root.ts';
import { buildVersions, packageOf } from '../../scripts/checks/debian/versions.ts';
import { signPackage } from '../../src/platform/packages/index.ts';
import { key } from '../platform/packages/support.ts';

/** Building three packages and eight lives of a board takes minutes on a busy machine. */
const HANGS_MS = 900_000;
const missing = whyNoDebianRoot() ?? false;
const READY = 'curl -s localhost:8080/readyz';

describe('the package on a board', { skip: missing, timeout: HANGS_MS }, () => {
  let board: DebianRoot;
  let folder: string;
  const cleanUp: (() => void)[] = [];
  const version = () => (JSON.parse(board.must(READY)) as { version: string }).version;
  const schema = () =>
    board.must(
      `cd /var/lib/energy-gateway && head -c 64 state.db | tail -c 4 | od -An -tu1 | awk '{print $4}'`,
    );
  const install = (number: string) => board.must(`dpkg -i ${packageOf(number)} </dev/null`);

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'packages-'));
    cleanUp.push(() => rmSync(folder, { recursive: true, force: true }));
    buildVersions(folder);
    const keys = key(folder, 'release');
    await signPackage(join(folder, basename(packageOf('0.3.0'))), keys.privatePem);
    writeFileSync(join(folder, 'update-keys.pem'), keys.publicPem);
    board = await DebianRoot.start(folder);
    cleanUp.push(() => board.end());
    board.must('mkdir -p /etc/energy-gateway; echo GATEWAY_MDNS=false >/etc/energy-gateway.env');
    board.must('echo GUARD_CALM_S=3 >>/etc/energy-gateway.env');
  });
  after(() => cleanUp.toReversed().forEach((end) => end()));

  test('the package on a board is installed by one line, runs, and says address and claim code', () => {
    const said = install('0.1.0');
    assert.match(said, /Console: http:\/\/\S+:8080\//);
    assert.match(said, /Claim code: \S+/);
    assert.equal(version(), '0.1.0');
    assert.match(board.must('systemctl is-enabled energy-gateway'), /^enabled/);
    assert.match(board.must('stat -c %U:%a /var/lib/energy-gateway'), /^energy-gateway:700/);
    assert.match(board.must('energy-gateway create-token --role OWNER --name before'), /\S{20}/);
  });

  test('the package on a board is compiled once: each start takes that, and nobody but root can change it', () => {
    const current = '/var/lib/energy-gateway-versions/current';
    const asService = 'setpriv --reuid=energy-gateway --regid=energy-gateway --clear-groups';
    const start = `${current}/scripts/gwnode --max-semi-space-size=2 ${current}/dist/main.js --version`;
    const said = board.must(`${asService} env NODE_DEBUG_NATIVE=COMPILE_CACHE ${start} 2>&1`);
    assert.match(said, /code cache for ESM \S+\/dist\/main\.js was accepted/);
    assert.equal(board.must(`find ${current}/compiled ! -user root -o -perm /022`), '');
  });

  test('the package on a board goes on with the version before when an upgrade finds no room, and changes nothing when that one is installed again', () => {
    // What a full disk refuses: a new file.
    board.must('mkdir -p /var/lib/energy-gateway-versions/trial.new');
    assert.notEqual(board.run(`dpkg -i ${packageOf('0.2.0')} </dev/null`).status, 0);
    board.must(`for i in $(seq 60); do ${READY} && break; sleep 1; done`);
    assert.equal(version(), '0.1.0');
    board.must('rmdir /var/lib/energy-gateway-versions/trial.new');
    assert.match(install('0.1.0'), /is installed already/);
    assert.equal(version(), '0.1.0');
  });

  test('the package on a board restores version and state when the new one fails after its migration', () => {
    const before = schema();
    const said = install('0.2.0');
    assert.match(said, /Version 0\.2\.0-changed failed; 0\.1\.0-\w+ runs again/);
    assert.match(said, /Why: It ended by itself \(1\)/);
    assert.equal(version(), '0.1.0');
    assert.equal(schema(), before);
    assert.match(board.must('energy-gateway list-tokens'), /before/);
    assert.equal(board.run('test -e /var/lib/energy-gateway/failed-upgrade/state.db').status, 0);
    assert.equal(board.run('test -e /var/lib/energy-gateway-versions/trial').status, 1);
  });

  test('the package on a board stays with a new version that works, migrates, and removes the version before the previous one', async () => {
    const before = schema();
    const versions = '/usr/lib/energy-gateway/versions';
    board.must(`mkdir ${versions}/0.0.9-older; echo 0.0.9-older >/var/lib/energy-gateway-versions/previous`);
    assert.match(install('0.3.0'), /last: +\S+ Version 0\.3\.0-changed runs/);
    assert.equal(version(), '0.3.0');
    assert.notEqual(schema(), before);
    assert.match(board.must('energy-gateway list-tokens'), /before/);
    await until(() => !board.must(`ls ${versions}`).includes('older'));
    assert.equal(board.must(`ls ${versions}`).trim().split('\n').length, 2);
  });

  test('the package on a board goes back by hand to the version and the state of before, and forward again', () => {
    const migrated = schema();
    board.must('timeout 60 energy-gateway-versions return --yes');
    assert.equal(version(), '0.1.0');
    assert.notEqual(schema(), migrated);
    install('0.3.0');
    assert.equal(version(), '0.3.0');
  });

  test('the package on a board finishes a return although the disk with the versions has become read-only', async () => {
    const versions = '/var/lib/energy-gateway-versions';
    const migrated = schema();
    board.must('systemctl stop energy-gateway');
    board.must(
      `cd ${versions} && echo "returning $(basename $(readlink current)) $(cat previous) 0" >trial && ` +
        `mount --bind ${versions} ${versions} && mount -o remount,bind,ro ${versions}`,
    );
    const isBack = (): void => {
      board.must(`for i in $(seq 60); do ${READY} && break; sleep 1; done`);
      assert.equal(version(), '0.1.0');
      assert.notEqual(schema(), migrated);
      assert.match(board.must('energy-gateway list-tokens'), /before/);
    };
    for (const action of ['start', 'restart']) {
      board.must(`systemctl ${action} energy-gateway`);
      isBack();
      assert.notEqual(board.run(`umount ${versions} && touch ${versions}/trial`).status, 0);
    }
    await board.cutPower();
    await board.boot();
    board.must('systemctl start energy-gateway');
    isBack();
    assert.equal(board.run(`test -e ${versions}/trial`).status, 1);
    install('0.3.0');
    assert.equal(version(), '0.3.0');
  });

  test('the package on a board returns to the newer version when an older one finds its database', () => {
    const said = install('0.1.0');
    assert.match(said, /0\.3\.0-changed runs again.*Why: It refused to run: .*newer version/);
    assert.equal(version(), '0.3.0');
  });

  test('the package on a board keeps data and options when it is removed, and goes on when it is installed again', () => {
    board.must('dpkg -r energy-gateway </dev/null');
    assert.notEqual(board.run(READY).status, 0);
    assert.equal(board.run('test -e /usr/lib/energy-gateway').status, 1);
    install('0.3.0');
    assert.equal(version(), '0.3.0');
    assert.match(board.must('energy-gateway list-tokens'), /before/);
  });

  test('an older version alone stops once at a newer database, and says what to do', () => {
    board.must('dpkg -r energy-gateway </dev/null');
    const said = install('0.1.0');
    assert.match(said, /The service does not run/);
    assert.match(said, /newer version/);
    assert.match(board.must('systemctl show energy-gateway -p NRestarts'), /NRestarts=0/);
  });

  test('the package on a board leaves neither options nor data when it is purged with that answer', () => {
    board.must('ENERGY_GATEWAY_PURGE_DATA=yes dpkg -P energy-gateway </dev/null');
    assert.equal(board.run('test -e /etc/energy-gateway').status, 1);
    assert.equal(board.run('test -e /var/lib/energy-gateway').status, 1);
  });

  test('the package on a board takes an uploaded newer version, goes on with its state, and refuses others', async () => {
    install('0.1.0');
    const token = board.must('energy-gateway create-token --role INSTALLER --name updates').trim();
    const call = (words: string): Called =>
      JSON.parse(
        board.must(`curl -sS -H 'X-Service-Auth-Token: ${token}' localhost:8080/v3/update${words}`),
      ) as Called;
    const upload = (number: string): Called => call(`/upload --data-binary @${packageOf(number)}`);
    assert.equal(call('').update?.supported, true);
    assert.match(upload('0.3.0').errors?.[0]?.message ?? '', /knows no key/);
    board.must('cp /tmp/packages/update-keys.pem /etc/energy-gateway/');
    assert.match(upload('0.2.0').errors?.[0]?.message ?? '', /is not signed/);
    // apt refuses everything while an installation was cut off.
    const cutOff = board.begin(`dpkg -i ${packageOf('0.1.0')} </dev/null`);
    await until(() => board.run('pgrep -f energy-gateway.[p]ostinst').status === 0);
    board.kill(cutOff);
    board.must('systemctl start energy-gateway');
    await until(() => board.run(READY).status === 0);
    assert.equal(upload('0.3.0').update?.uploaded?.version, '0.3.0');
    const settings = '/run/systemd/system/energy-gateway-update.service.d';
    board.must(`mkdir -p ${settings}; printf '[Service]\\nLimitFSIZE=1M\\n' >${settings}/room.conf`);
    board.must('systemctl daemon-reload');
    assert.equal(call('/install -X POST').update?.installing, true);
    while (call('').update?.last_outcome?.message === undefined) await pause(500);
    assert.match(call('').update?.last_outcome?.message ?? '', /^not installed: .* takes free room$/);
    board.must(`rm -r ${settings}; systemctl daemon-reload`);
    assert.equal(upload('0.3.0').update?.uploaded?.version, '0.3.0');
    assert.equal(call('/install -X POST').update?.installing, true);
    // Unpacking and the trial take longer than other waits of tests; the hang limit of the file bounds them.
    while (board.run(`${READY} | grep -q 0.3.0`).status !== 0) await pause(500);
    while (board.run('test -e /var/lib/energy-gateway-versions/trial').status === 0) await pause(500);
    while (call('').update?.last_outcome?.message !== 'installed') await pause(500);
    assert.match(board.must('energy-gateway list-tokens'), /updates/);
    assert.equal(board.run('test -e /var/lib/energy-gateway/update/install.deb').status, 1);
  });

  test('the package on a board keeps the data when it is purged by default, and says how to remove them', () => {
    assert.match(
      board.must('dpkg -P energy-gateway </dev/null'),
      /stays in \/var\/lib\/energy-gateway\. To delete it: rm -r \/var\/lib\/energy-gateway$/m,
    );
    assert.equal(board.run('test -s /var/lib/energy-gateway/state.db').status, 0);
    board.must('rm -r /var/lib/energy-gateway');
  });
});

interface Called {
  update?: {
    supported: boolean;
    installing: boolean;
    uploaded: { version: string } | null;
    last_outcome: { message: string } | null;
  };
  errors?: { message: string }[];
}
