import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import BetterSqlite3 from 'better-sqlite3';
import { assert as check, asyncProperty, boolean, nat } from 'fast-check';
import { ZipFile } from 'yazl';
import { LIMITS } from '../../../src/lib/limits.ts';
import { applyRestore, BackupError, removeLeftovers } from '../../../src/platform/backup/index.ts';
import { openDatabase, readMigrations } from '../../../src/platform/sqlite/index.ts';
import { until } from '../../support/until.ts';
import { MIGRATIONS_DIR, recordingLog } from '../../support/workspace.ts';
import { runs } from '../../support/runs.ts';
import { makeHome, openState, PASSWORD, rename, sealed, sealedWith, siteName } from './support.ts';

const bytesOf = (text: string): Buffer => Buffer.from(text);

async function sealedForKey(): Promise<Buffer> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(await identityToRecipient(await generateX25519Identity()));
  return Buffer.from(await encrypter.encrypt('content'));
}

test('a backup that nobody reads to its end leaves nothing, whenever it is given up', async (t) => {
  const home = makeHome(t, 'Old');
  for (let chunks = 0; chunks < 12; chunks += 1) {
    const { stream, ended } = await home.open();
    assert.deepEqual(readdirSync(join(home.dataDir, 'backups')), []);
    const reader = stream.getReader();
    for (let read = 0; read < chunks; read += 1) await reader.read();
    await reader.cancel();
    await ended;
  }
});

test('a backup whose reader stops reading is given up, so that another can be made', async (t) => {
  const home = makeHome(t, 'Old');
  rename(home.database, randomBytes(2_000_000).toString('hex'));
  const { stream, ended } = await home.open();
  const reader = stream.getReader();
  await reader.read();
  let hasEnded = false;
  void ended.then(() => (hasEnded = true));
  // The next chunks are ready before somebody asks for them.
  await until(async () => {
    await home.clock.advance(LIMITS.backup.readerIdleMs);
    return hasEnded;
  });
  await assert.rejects(async () => {
    while (!(await reader.read()).done);
  }, /ended early/);
});

test('remains of backups and restores after a power cut are removed by the next start, and nothing else is', (t) => {
  const { dataDir, log } = makeHome(t, 'Old');
  const backups = join(dataDir, 'backups');
  for (const folder of [
    'backups/being-made-7-history/telemetry-journal',
    'backups/being-checked',
    'restore.new',
  ])
    mkdirSync(join(dataDir, folder), { recursive: true });
  const left = ['being-made-7.db', 'outgoing.backup', 'read-back', 'uploaded.backup'];
  const kept = ['sftp-key', 'sftp-known-hosts', 'state-hourly-000001-5.db'];
  for (const name of [...left, ...kept]) writeFileSync(join(backups, name), 'x');
  removeLeftovers({ dataDir, log });
  assert.deepEqual(readdirSync(backups).sort(), kept);
  assert.equal(existsSync(join(dataDir, 'restore.new')), false);
});

describe('a file is refused as a backup, and nothing has changed, when', () => {
  test('a backup of another password is refused, and nothing has changed', async (t) => {
    const home = makeHome(t, 'Old');
    const bytes = await home.backup('a sentence of another person');
    await assert.rejects(home.restore(bytes), {
      name: 'BackupError',
      message: 'The password is wrong, or the file is damaged.',
    });
    assert.deepEqual(
      readdirSync(home.dataDir).filter((name) => name.startsWith('restore')),
      [],
    );
  });

  test('a backup with a changed bit or a missing end is refused, and nothing has changed', async (t) => {
    const home = makeHome(t, 'Old');
    const bytes = await home.backup();
    await check(
      asyncProperty(nat(bytes.length - 1), nat(7), boolean(), async (at, bit, isCut) => {
        const wrong = isCut ? bytes.subarray(0, at) : Buffer.from(bytes);
        if (!isCut) wrong[at] = (wrong[at] ?? 0) ^ (1 << bit);
        await assert.rejects(home.restore(wrong), BackupError);
      }),
      { numRuns: runs(10) },
    );
    assert.equal(existsSync(join(home.dataDir, 'restore')), false);
  });

  const state = bytesOf('no database');
  const info = bytesOf('{"version":"1.0.0","made_at":"2026-03-01T08:00:00Z"}');
  const rows: [title: string, entries: [string, Buffer][], message: RegExp][] = [
    ['it is no zip inside', [], /incomplete/],
    ['its state is missing', [['backup.json', info]], /incomplete: it has no state\.db/],
    [
      'its state is no database',
      [
        ['backup.json', info],
        ['state.db', state],
      ],
      /database is damaged/,
    ],
    [
      'it holds a file that we do not know',
      [
        ['state.db', state],
        ['telemetry-journal/other', state],
      ],
      /strange file/,
    ],
    ['it holds a document of a strange name', [['documents/a/b', state]], /strange file/],
    ['it wants to write elsewhere', [['tls/__/__/x.pem', state]], /strange file|invalid relative path/],
    [
      'it holds one file twice',
      [
        ['state.db', state],
        ['state.db', state],
      ],
      /holds state\.db twice/,
    ],
    [
      'its note is no JSON',
      [
        ['backup.json', bytesOf('{"version":')],
        ['state.db', state],
      ],
      /backup\.json in the backup is not readable/,
    ],
    [
      'its note has nothing of what it should say',
      [
        ['backup.json', bytesOf('null')],
        ['state.db', state],
      ],
      /backup\.json in the backup is not readable/,
    ],
    [
      'its note would fill the memory',
      [['backup.json', Buffer.alloc(65_537)]],
      /backup\.json in the backup is longer than 65536 bytes/,
    ],
  ];
  for (const [title, entries, message] of rows)
    test(title, async (t) => {
      const home = makeHome(t, 'Old');
      await assert.rejects(home.restore(await sealed(entries)), message);
      assert.deepEqual(
        readdirSync(home.dataDir).filter((name) => name.startsWith('restore')),
        [],
      );
    });

  test('a backup with a link is refused, and nothing has changed', async (t) => {
    const home = makeHome(t, 'Old');
    const zip = new ZipFile();
    zip.addBuffer(Buffer.from('/etc/passwd'), 'tls/authority.pem', {
      mtime: new Date(0),
      mode: 0o120_777,
      compress: false,
    });
    zip.end();
    const bytes = await sealedWith(PASSWORD, await buffer(zip.outputStream));
    await assert.rejects(home.restore(bytes), { name: 'BackupError', message: /is not a plain file/ });
  });

  const foreign: [kind: string, statement: string][] = [
    ['trigger', 'CREATE TRIGGER x AFTER INSERT ON site BEGIN DELETE FROM device; END'],
    ['view', 'CREATE VIEW x AS SELECT * FROM site'],
    ['table', 'CREATE TABLE x (a INTEGER) STRICT'],
    ['index', 'CREATE INDEX x ON site (name)'],
  ];
  for (const [kind, statement] of foreign)
    test(`a backup whose state has a ${kind} that no migration makes is refused`, async (t) => {
      const home = makeHome(t, 'Old');
      home.database.prepare(statement).run();
      const bytes = await home.backup();
      await assert.rejects(home.restore(bytes), {
        name: 'BackupError',
        message: `The backup cannot be used here: it has a ${kind} "x" that this gateway does not make.`,
      });
    });

  test('a backup whose state lacks a table is refused', async (t) => {
    const home = makeHome(t, 'Old');
    home.database.prepare('DROP TABLE audit').run();
    const bytes = await home.backup();
    await assert.rejects(home.restore(bytes), /it has no table "audit"/);
  });

  for (const [what, version] of [
    ['has no tables', 0],
    ['has no tables and a version below the first', -1],
  ] as const)
    test(`a backup is refused when its state ${what}, which would start a new gateway without an owner`, async (t) => {
      const home = makeHome(t, 'Old');
      const path = join(home.dataDir, '..', 'other.db');
      const other = new BetterSqlite3(path);
      other.exec('CREATE TABLE x (a); DROP TABLE x');
      other.pragma(`user_version = ${version}`);
      other.close();
      for (const state of [readFileSync(path), Buffer.alloc(0)]) {
        const entries: [string, Buffer][] = [
          ['backup.json', info],
          ['state.db', state],
        ];
        await assert.rejects(home.restore(await sealed(entries)), /it is no database of a gateway/);
      }
    });

  test('a backup whose history claims more room than the disk has is refused before any of it is written', async (t) => {
    const home = makeHome(t, 'Old');
    const zip = new ZipFile();
    const options = { mtime: new Date(0), mode: 0o600, compress: true, forceZip64Format: true };
    zip.addBuffer(Buffer.alloc(1_000), 'history.db', options);
    zip.end();
    const bytes = await buffer(zip.outputStream);
    // The size before compression is the first number of that extra field (APPNOTE 4.5.3).
    const zip64 = bytes.lastIndexOf(Buffer.from('01001800', 'hex'));
    bytes.writeBigUInt64LE(10n ** 15n, zip64 + 4);
    await assert.rejects(home.restore(await sealedWith(PASSWORD, bytes)), {
      name: 'BackupError',
      message: 'The backup needs more room than is free on the disk.',
    });
  });

  test('a backup that would unpack to more than the limit is refused', async (t) => {
    const home = makeHome(t, 'Old');
    await assert.rejects(home.restore(await home.backup(), PASSWORD, 4_096), /larger than 4096 bytes/);
  });

  test('a backup of a newer version is refused', async (t) => {
    const home = makeHome(t, 'Old');
    const known = readMigrations(join(MIGRATIONS_DIR, 'state')).length;
    home.database.prepare(`PRAGMA user_version = ${known + 1}`).run();
    await assert.rejects(home.restore(await home.backup()), /newer version/);
  });

  test('a backup with a history of a newer version is refused, because the gateway could not start with it', async (t) => {
    const home = makeHome(t, 'Old');
    const state = home.stateBytes();
    home.database.prepare('PRAGMA user_version = 9999').run();
    const entries: [string, Buffer][] = [
      ['backup.json', info],
      ['state.db', state],
      ['history.db', home.stateBytes()],
    ];
    await assert.rejects(home.restore(await sealed(entries)), /history in the backup.*newer version/);
    assert.equal(existsSync(join(home.dataDir, 'restore')), false);
  });

  test('a file that is no backup is refused', async (t) => {
    const home = makeHome(t, 'Old');
    const rows: [bytes: Buffer, message: RegExp][] = [
      [bytesOf(''), /is not a backup/],
      [bytesOf('x'.repeat(500)), /is not a backup/],
      [bytesOf('age-encryption.org/v2\n'), /is not a backup/],
      [bytesOf(`age-encryption.org/v1\n${'x'.repeat(5_000)}`), /its header has no end/],
      [await sealedForKey(), /not sealed by a password/],
      [bytesOf('EGBACKUP'), /is not a backup/],
    ];
    for (const [bytes, message] of rows) await assert.rejects(home.restore(bytes), message);
  });

  test('a backup that asks for more work than the limit is refused before any of it is done', async (t) => {
    const home = makeHome(t, 'Old');
    const text = (await home.backup()).toString('latin1');
    for (const factor of [19, 30, 999]) {
      const bytes = Buffer.from(text.replace(/ 2\n/, ` ${factor}\n`), 'latin1');
      await assert.rejects(home.restore(bytes), new RegExp(`work factor ${factor} of scrypt, at most 18`));
    }
  });
});

describe('a backup', () => {
  test('a backup is what every program for age opens with the password', async (t) => {
    const home = makeHome(t, 'Depot');
    const decrypter = new Decrypter();
    decrypter.addPassphrase('m\u00fcnchen s\u00fcd');
    const zip = await decrypter.decrypt(await home.backup('mu\u0308nchen su\u0308d'));
    assert.equal(Buffer.from(zip).toString('latin1', 0, 4), 'PK\x03\x04');
    assert.deepEqual(await home.restore(await sealedWith(PASSWORD, zip, 3)), {
      version: '9.9.9',
      made_at: '2026-03-01T08:00:00.000Z',
    });
  });

  test('a backup holds the state of its moment and the keys, and shows nothing of them', async (t) => {
    const home = makeHome(t, 'Very secret name');
    const bytes = await home.backup();
    assert.equal(bytes.includes('Very secret name'), false);
    assert.equal(bytes.includes('key of'), false);
    rename(home.database, 'Later');
    assert.deepEqual(await home.restore(bytes), { version: '9.9.9', made_at: '2026-03-01T08:00:00.000Z' });
    home.database.close();
    applyRestore(home);
    const restored = openState(home.dataDir, home.clock, home.log);
    assert.equal(siteName(restored), 'Very secret name');
    restored.close();
    assert.equal(readFileSync(join(home.dataDir, 'tls', 'authority.pem'), 'utf8'), 'key of Very secret name');
    assert.equal(statSync(join(home.dataDir, 'tls', 'authority.pem')).mode & 0o777, 0o600);
  });

  test('a backup holds the documents of its moment, and those of the state before are set aside with it', async (t) => {
    const home = makeHome(t, 'Depot');
    const owner = join(home.dataDir, 'documents', '11111111-1111-4111-8111-111111111111');
    const [kept, later] = ['2', '3'].map((digit) =>
      join(owner, `${digit}2222222-2222-4222-8222-222222222222`),
    );
    mkdirSync(owner, { recursive: true });
    writeFileSync(String(kept), 'photo');
    writeFileSync(join(owner, 'strange'), 'x');
    await home.restore(await home.backup());
    writeFileSync(String(later), 'of later');
    home.database.close();
    applyRestore(home);
    assert.deepEqual(readdirSync(owner), [basename(String(kept))]);
    assert.equal(readFileSync(String(kept), 'utf8'), 'photo');
    assert.equal(statSync(String(kept)).mode & 0o777, 0o600);
    const aside = readdirSync(home.dataDir).find((name) => name.startsWith('before-restore-')) ?? '';
    assert.equal(readdirSync(join(home.dataDir, aside, 'documents'), { recursive: true }).length, 4);
  });

  test('a backup holds no file among the keys that a restore would not take', async (t) => {
    const home = makeHome(t, 'Depot');
    for (const name of ['Server_old.pem', 'notes.txt']) writeFileSync(join(home.dataDir, 'tls', name), 'x');
    await home.restore(await home.backup());
    assert.deepEqual(readdirSync(join(home.dataDir, 'restore', 'tls')), ['authority.pem']);
  });

  test('a backup does not mix its history without a journal with the one that is here', async (t) => {
    const home = makeHome(t, 'Depot');
    const entries: [string, Buffer][] = [
      ['backup.json', bytesOf('{"version":"1.0.0","made_at":"2026-03-01T08:00:00Z"}')],
      ['state.db', home.stateBytes()],
      // What is damaged of a history is mended where it is opened.
      ['history.db', bytesOf('no database')],
    ];
    mkdirSync(join(home.dataDir, 'telemetry-journal'));
    writeFileSync(join(home.dataDir, 'telemetry-journal', '000001.journal'), 'of another site');
    await home.restore(await sealed(entries));
    home.database.close();
    applyRestore(home);
    assert.deepEqual(readdirSync(join(home.dataDir, 'telemetry-journal')), []);
  });

  test('a backup holds the journal as far as it exists: what is removed meanwhile is in history.db', async (t) => {
    const home = makeHome(t, 'Depot');
    const path = join(home.dataDir, 'history.db');
    openDatabase({ ...home, path, migrationsDir: join(MIGRATIONS_DIR, 'history') }).close();
    const journal = join(home.dataDir, 'telemetry-journal');
    mkdirSync(journal);
    writeFileSync(join(journal, '000001.journal'), 'records');
    symlinkSync(join(journal, 'gone'), join(journal, '000002.journal'));
    const { stream, ended } = await home.open(PASSWORD, path);
    await home.restore(await buffer(stream));
    await ended;
    assert.deepEqual(readdirSync(join(home.dataDir, 'restore', 'telemetry-journal')), ['000001.journal']);
  });

  test('a backup leaves nothing behind, also when its reader goes away', async (t) => {
    const home = makeHome(t, 'Depot');
    await home.backup();
    assert.deepEqual(readdirSync(join(home.dataDir, 'backups')), []);
    const { stream, ended } = await home.open();
    await stream.cancel();
    await ended;
    assert.deepEqual(readdirSync(join(home.dataDir, 'backups')), []);
  });

  test('a backup is replaced by the next one while it waits, and stays when the next one is refused', async (t) => {
    const home = makeHome(t, 'First');
    const first = await home.backup();
    rename(home.database, 'Second');
    const second = await home.backup();
    await home.restore(first);
    await home.restore(second);
    await assert.rejects(home.restore(first, 'not the password'), BackupError);
    home.database.close();
    applyRestore(home);
    const restored = openState(home.dataDir, home.clock, home.log);
    assert.equal(siteName(restored), 'Second');
    restored.close();
  });
});

describe('taking a backup over', () => {
  test('taking a backup over does nothing when none waits, and removes what is incomplete', async (t) => {
    const home = makeHome(t, 'Depot');
    const bytes = await home.backup();
    await home.restore(bytes);
    renameSync(join(home.dataDir, 'restore', 'ready'), join(home.dataDir, 'restore', 'not-ready'));
    applyRestore(home);
    assert.equal(siteName(home.database), 'Depot');
    assert.equal(existsSync(join(home.dataDir, 'restore')), false);
  });

  test('taking a backup over keeps the states before the last three restores, whatever the clock says', async (t) => {
    const home = makeHome(t, 'Depot');
    const bytes = await home.backup();
    const nowS = Math.floor(home.clock.wallMs() / 1_000);
    const asideOf = (agoS: number): string => `before-restore-${nowS - agoS}`;
    // Two of them when the clock was ahead.
    for (const agoS of [10, -50, -100]) mkdirSync(join(home.dataDir, asideOf(agoS)));
    home.database.close();
    await home.restore(bytes);
    applyRestore(home);
    assert.deepEqual(
      readdirSync(home.dataDir)
        .filter((name) => name.startsWith('before-restore-'))
        .sort(),
      [0, -50, -100].map(asideOf),
    );
  });

  test('taking a backup over names what it removes, and keeps what two restores of one second set aside', async (t) => {
    const home = makeHome(t, 'Depot');
    const bytes = await home.backup();
    home.database.close();
    const { log, lines } = recordingLog(home.clock);
    for (let count = 0; count < 4; count++) {
      await home.restore(bytes);
      applyRestore({ dataDir: home.dataDir, clock: home.clock, log });
    }
    const nowS = Math.floor(home.clock.wallMs() / 1_000);
    const asides = readdirSync(home.dataDir).filter((name) => name.startsWith('before-restore-'));
    assert.deepEqual(
      asides.sort(),
      [1, 2, 3].map((aheadS) => `before-restore-${nowS + aheadS}`),
    );
    for (const aside of asides)
      assert.deepEqual(readdirSync(join(home.dataDir, aside)).sort(), [
        'documents',
        'secrets.key',
        'state.db',
        'tls',
      ]);
    const removed = lines
      .filter(({ message }) => message === 'the state before an earlier restore was removed')
      .map(({ path }) => path);
    assert.deepEqual(removed, [join(home.dataDir, `before-restore-${nowS}`)]);
  });

  test('taking a backup over survives a cut of power before each of its steps, and keeps the state before it', async (t) => {
    for (let lastStep = 0; lastStep < 9; lastStep++) {
      const home = makeHome(t, 'Old');
      const bytes = await home.backup();
      rename(home.database, 'New');
      await home.restore(bytes);
      home.database.close();
      // As after a cut of power: a write-ahead log that must never meet another database.
      writeFileSync(join(home.dataDir, 'state.db-wal'), 'of the state before');
      let steps = 0;
      const cut = (from: string, to: string): void => {
        if (steps++ === lastStep) throw new Error('power cut');
        renameSync(from, to);
      };
      try {
        applyRestore(home, cut);
      } catch (error) {
        assert.match(String(error), /power cut/);
      }
      applyRestore(home);
      assert.equal(existsSync(join(home.dataDir, 'state.db-wal')), false);
      const restored = openState(home.dataDir, home.clock, home.log);
      assert.equal(siteName(restored), 'Old');
      restored.close();
      const [aside = ''] = readdirSync(home.dataDir).filter((name) => name.startsWith('before-restore'));
      assert.deepEqual(readdirSync(join(home.dataDir, aside)).sort(), ['state.db', 'state.db-wal', 'tls']);
    }
  });
});
