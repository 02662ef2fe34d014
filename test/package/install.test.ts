/**
 * The package on a Debian with systemd and without a network: real dpkg, real maintainer scripts, the real gateway.
 * Each test goes on where the one before it ended, as the life of a board does.
 */
import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { buildGateway, DebianRoot, whyNoDebianRoot } from './support.ts';

/** Building three packages and eight lives of a board takes minutes on a busy machine. */
const HANGS_MS = 900_000;
const missing = whyNoDebianRoot() ?? false;
const READY = 'curl -s localhost:8080/readyz';

/** One migration more than there are. */
function migrate(release: string): void {
  const folder = join(release, 'migrations/state');
  const next = String(readdirSync(folder).length + 1).padStart(4, '0');
  writeFileSync(
    join(folder, `${next}_next.sql`),
    'CREATE TABLE next_version (id INTEGER PRIMARY KEY) STRICT;',
  );
}

function rename(release: string, version: string): void {
  const file = join(release, 'package.json');
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), version }));
}

describe('the package on a board', { skip: missing, timeout: HANGS_MS }, () => {
  let board: DebianRoot;
  let folder: string;
  const cleanUp: (() => void)[] = [];
  const version = () => (JSON.parse(board.must(READY)) as { version: string }).version;
  const schema = () =>
    board.must(
      `cd /var/lib/energy-gateway && head -c 64 state.db | tail -c 4 | od -An -tu1 | awk '{print $4}'`,
    );
  const install = (number: string) =>
    board.must(`dpkg -i /tmp/packages/energy-gateway_${number}_amd64.deb </dev/null`);

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'packages-'));
    cleanUp.push(() => rmSync(folder, { recursive: true, force: true }));
    await buildGateway(folder);
    await buildGateway(folder, {
      version: '0.2.0',
      change: (release) => {
        migrate(release);
        rename(release, '0.2.0');
        appendFileSync(join(release, 'dist/main.js'), '\nsetTimeout(() => process.exit(1), 2_000);\n');
      },
    });
    await buildGateway(folder, {
      version: '0.3.0',
      change: (release) => {
        migrate(release);
        rename(release, '0.3.0');
      },
    });
    board = await DebianRoot.start({ after: (end) => void cleanUp.push(end as () => void) }, folder);
    board.must('mkdir -p /etc/energy-gateway; echo GATEWAY_MDNS=false >/etc/energy-gateway.env');
    board.must('echo GUARD_CALM_S=3 >>/etc/energy-gateway.env');
  });
  after(() => cleanUp.toReversed().forEach((end) => end()));

  test('is installed by one line, runs, and says address and claim code', () => {
    const said = install('0.1.0');
    assert.match(said, /Console: http:\/\/\S+:8080\//);
    assert.match(said, /Claim code: \S+/);
    assert.equal(version(), '0.1.0');
    assert.match(board.must('systemctl is-enabled energy-gateway'), /^enabled/);
    assert.match(board.must('stat -c %U:%a /var/lib/energy-gateway'), /^energy-gateway:700/);
    assert.match(board.must('energy-gateway create-token --role OWNER --name before'), /\S{20}/);
  });

  test('changes nothing when it is installed again', () => {
    assert.match(install('0.1.0'), /is installed already/);
    assert.equal(version(), '0.1.0');
  });

  test('brings version and state back when the new one fails after its migration', () => {
    const before = schema();
    const said = install('0.2.0');
    assert.match(said, /Version 0\.2\.0-changed failed; 0\.1\.0-\w+ runs again/);
    assert.equal(version(), '0.1.0');
    assert.equal(schema(), before);
    assert.match(board.must('energy-gateway list-tokens'), /before/);
    assert.equal(board.run('test -e /var/lib/energy-gateway/failed-upgrade/state.db').status, 0);
    assert.equal(board.run('test -e /var/lib/energy-gateway-versions/trial').status, 1);
  });

  test('stays with a new version that works, and migrates', () => {
    const before = schema();
    assert.match(install('0.3.0'), /last: +\S+ Version 0\.3\.0-changed runs/);
    assert.equal(version(), '0.3.0');
    assert.notEqual(schema(), before);
    assert.match(board.must('energy-gateway list-tokens'), /before/);
  });

  test('goes back to the newer one when an older one finds its database', () => {
    const said = install('0.1.0');
    assert.match(said, /0\.3\.0-changed runs again/);
    assert.equal(version(), '0.3.0');
  });

  test('keeps data and options when it is removed, and goes on when it is installed again', () => {
    board.must('dpkg -r energy-gateway </dev/null');
    assert.notEqual(board.run(READY).status, 0);
    assert.equal(board.run('test -e /usr/lib/energy-gateway').status, 1);
    install('0.3.0');
    assert.equal(version(), '0.3.0');
    assert.match(board.must('energy-gateway list-tokens'), /before/);
  });

  test('stops once and says what to do when an older version alone finds a newer database', () => {
    board.must('dpkg -r energy-gateway </dev/null');
    const said = install('0.1.0');
    assert.match(said, /The service does not run/);
    assert.match(said, /newer version/);
    assert.match(board.must('systemctl show energy-gateway -p NRestarts'), /NRestarts=0/);
  });

  test('keeps the data when it is purged, unless it is told otherwise', () => {
    assert.match(board.must('dpkg -P energy-gateway </dev/null'), /stays in \/var\/lib\/energy-gateway/);
    assert.equal(board.run('test -s /var/lib/energy-gateway/state.db').status, 0);
    assert.equal(board.run('test -e /etc/energy-gateway').status, 1);
    install('0.3.0');
    board.must('ENERGY_GATEWAY_PURGE_DATA=yes dpkg -P energy-gateway </dev/null');
    assert.equal(board.run('test -e /var/lib/energy-gateway').status, 1);
  });
});
