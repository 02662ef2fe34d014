/** Archives that another program packed, or that were damaged before they were sealed. */
import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { ZipFile } from 'yazl';
import { makeHome, PASSWORD, sealed, sealedWith } from './support.ts';

const info = Buffer.from('{"version":"1.0.0","made_at":"2026-03-01T08:00:00Z"}');

const packed: [title: string, change: (zip: Buffer) => void, message: RegExp][] = [
  [
    'an entry has another checksum than its content',
    (zip) => zip.writeUInt32LE(1, zip.indexOf('PK\u0001\u0002', 'latin1') + 16),
    /^backup\.json in the backup is damaged/,
  ],
  [
    'an entry has another name than the directory says',
    (zip) => zip.write('backup.jsom', zip.indexOf('backup.json')),
    /^The backup calls backup\.json by two names/,
  ],
];
for (const [title, change, message] of packed)
  test(`a restore refuses a backup when ${title}`, async (t) => {
    const home = makeHome(t, 'Old');
    const zip = new ZipFile();
    zip.addBuffer(info, 'backup.json', { mtime: new Date(0), mode: 0o100_600, compress: false });
    zip.end();
    const bytes = Buffer.from(await buffer(zip.outputStream));
    change(bytes);
    const file = await sealedWith(PASSWORD, bytes, 3);
    await assert.rejects(home.restore(file), { name: 'BackupError', message });
  });

test('a restore refuses a state with an unknown format, or without a version of its schema', async (t) => {
  const home = makeHome(t, 'Old');
  // https://sqlite.org/fileformat2.html#the_database_header
  for (const at of [47, 63]) {
    const damaged = home.stateBytes();
    damaged[at] = at === 47 ? 9 : 0;
    const entries: [string, Buffer][] = [
      ['backup.json', info],
      ['state.db', damaged],
    ];
    await assert.rejects(home.restore(await sealed(entries)), /its database is damaged/);
  }
});

test('a restore refuses a note with a version that a terminal obeys, or without a moment', async (t) => {
  const home = makeHome(t, 'Old');
  for (const note of [
    '{"version":"1\\u001b[2J","made_at":"2026-03-01T08:00:00Z"}',
    '{"version":"1.0.0","made_at":"\\u202enever"}',
  ]) {
    const entries: [string, Buffer][] = [
      ['backup.json', Buffer.from(note)],
      ['state.db', home.stateBytes()],
    ];
    await assert.rejects(home.restore(await sealed(entries)), /backup\.json in the backup is not readable/);
  }
});
