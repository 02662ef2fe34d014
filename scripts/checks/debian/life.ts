/** The life of a board on one Debian, step by step; each goes on where the one before it ended. */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Board } from './board.ts';
import { BROKEN, FIRST, NEXT } from './versions.ts';

export interface Step {
  name: string;
  run: (board: Board) => void | Promise<void>;
}

const PURGE_ALL = 'ENERGY_GATEWAY_PURGE_DATA=yes dpkg -P energy-gateway </dev/null';
const DATA = '/var/lib/energy-gateway';
const STATE = '/var/lib/energy-gateway-versions';
const VERSIONS = '/usr/lib/energy-gateway/versions';
const ROUND_MS = 200;
const ROUNDS = 300;

export const LIFE: readonly Step[] = [
  {
    name: 'install, without a network',
    run: async (board) => {
      assert.match(board.install(FIRST), /Claim code: \S+/);
      assert.equal(await board.servingVersion(), FIRST);
    },
  },
  {
    name: 'claim, and a device is live',
    run: async (board) => {
      board.claim();
      await board.connectDevice();
    },
  },
  {
    name: 'upgrade that fails after its migration: version and state return',
    run: async (board) => {
      assert.match(board.install(BROKEN), /Version 0\.2\.0-changed failed; 0\.1\.0-\w+ runs again/);
      assert.equal(await board.servingVersion(), FIRST);
      await deviceGoesOn(board);
      // Configuration of the failed version's minutes stands there; telemetry went on into the history.
      board.debian.must(`test -s ${DATA}/failed-upgrade/state.db`);
    },
  },
  {
    name: 'upgrade that works',
    run: async (board) => {
      const { debian } = board;
      debian.must(`mkdir ${VERSIONS}/0.0.9-older && echo 0.0.9-older >${STATE}/previous`);
      assert.match(board.install(NEXT), /Version 0\.3\.0-changed runs/);
      assert.equal(await board.servingVersion(), NEXT);
      await deviceGoesOn(board);
      assert.equal(
        debian.must(`ls ${VERSIONS}`).trim().split('\n').length,
        2,
        'this version and the previous one',
      );
    },
  },
  {
    name: 'downgrade below the database: the newer one goes on',
    run: async (board) => {
      assert.match(board.install(FIRST), /0\.3\.0-changed runs again/);
      assert.equal(await board.servingVersion(), NEXT);
    },
  },
  {
    name: 'return by hand, with the state from before the upgrade',
    run: async (board) => {
      board.install(NEXT);
      board.debian.run('energy-gateway-versions return --yes');
      assert.ok([FIRST, NEXT].includes(await board.servingVersion()));
      await deviceGoesOn(board);
    },
  },
  {
    name: 'restore of a copy that the gateway made',
    run: async (board) => {
      board.debian.must(
        `energy-gateway restore "$(ls -t ${DATA}/backups/state-*.db | head -1)" && systemctl restart energy-gateway`,
      );
      await board.servingVersion();
      await deviceGoesOn(board);
    },
  },
  {
    name: 'power cut and boot',
    run: async (board) => {
      await board.debian.cutPower();
      await board.debian.boot();
      await board.servingVersion();
    },
  },
  {
    name: 'remove, and install again: data and options stay',
    run: async (board) => {
      board.debian.must('dpkg -r energy-gateway </dev/null');
      board.debian.must('test ! -e /usr/lib/energy-gateway');
      board.install(NEXT);
      assert.equal(await board.servingVersion(), NEXT);
      assert.ok(board.newestSampleS() > 0);
    },
  },
  {
    name: 'purge keeps the data; install again finds it',
    run: async (board) => {
      assert.match(board.debian.must('dpkg -P energy-gateway </dev/null'), /stays in \/var\/lib/);
      board.install(NEXT);
      await board.servingVersion();
      assert.ok(board.newestSampleS() > 0);
    },
  },
  {
    name: 'purge with the data leaves nothing; install begins anew',
    run: async (board) => {
      board.debian.must(PURGE_ALL);
      assert.equal(
        board.debian.must(
          'find / -xdev -path /proc -prune -o -name "*energy-gateway*" -not -path "/tmp/*" -not -path "/var/log/*" -not -path "/var/tmp/systemd-private-*" -not -path /etc/energy-gateway.env -print | grep -v "^/var/lib/dpkg\\|^/var/cache\\|^/run\\|^/sys" || true',
        ),
        '',
      );
      assert.match(board.install(NEXT), /Claim code: \S+/);
      assert.equal(await board.servingVersion(), NEXT);
    },
  },
];

/** A sample that is younger than this moment arrives. */
async function deviceGoesOn(board: Board): Promise<void> {
  const sinceS = Math.floor(Date.now() / 1_000);
  for (let round = 0; round < ROUNDS; round += 1) {
    if (board.newestSampleS() > sinceS) return;
    await pause(ROUND_MS);
  }
  throw new Error('no sample came after the change of versions');
}
