import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { catalogueOf } from '../../../src/capabilities/blueprints/built-in.ts';
import { compileFiles } from '../../../src/capabilities/blueprints/compile-archive.ts';
import { readArchive, writeArchive } from '../../../src/capabilities/blueprints/source/archive.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { filesOf, zipOf } from './support.ts';

const LOCAL = Buffer.from('PK\u0003\u0004');
const CENTRAL = Buffer.from('PK\u0001\u0002');

/** Overwrites bytes of the first header of a kind. */
function patched(zip: Buffer, header: Buffer, offset: number, bytes: number[]): Buffer {
  const copy = Buffer.from(zip);
  copy.set(bytes, copy.indexOf(header) + offset);
  return copy;
}

/** A zip with one file whose name is replaced, byte by byte, by another of the same length. */
async function named(name: Buffer | string): Promise<Buffer> {
  const bytes = Buffer.from(name);
  const zip = await zipOf({ ['x'.repeat(bytes.length)]: 'content' });
  return patched(patched(zip, LOCAL, 30, [...bytes]), CENTRAL, 46, [...bytes]);
}

async function problem(zip: Uint8Array): Promise<string | undefined> {
  return (await readArchive(zip)).problem;
}

describe('an archive is refused', () => {
  for (const name of [
    '../x',
    '/abs',
    'a/../b',
    'a//b',
    '..\\x',
    'a\\..\\b',
    '\\x',
    'C:\\x',
    'C:x',
    './../x',
    'a\u0000b',
    'a\nb',
    '..',
    '.',
  ])
    test(`an archive is refused for the file name ${JSON.stringify(name)}`, async () =>
      assert.equal(await problem(await named(name)), `archive: invalid file name ${JSON.stringify(name)}`));

  test('an archive is refused for a file name that is no text', async () =>
    assert.equal(
      await problem(await named(Buffer.from([0x61, 0xff, 0xfe]))),
      'archive: file name "aÿþ" is not valid UTF-8',
    ));

  test('an archive is refused when it is none', async () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from('manifest'), Buffer.from('PK'), Buffer.alloc(1_000)])
      assert.deepEqual(await readArchive(bytes), { problem: 'file is not a zip archive', isZip: false });
  });

  test('an archive is refused for a link', async () => {
    const zip = await zipOf({ 'manifest.yml': '/etc/passwd' });
    const mode = 0o120777 << 16;
    const link = patched(zip, CENTRAL, 38, [0, 0, (mode >>> 16) & 0xff, (mode >>> 24) & 0xff]);
    assert.equal(await problem(link), 'archive: "manifest.yml" is a link');
  });

  test('an archive is refused for an encrypted file', async () => {
    const zip = await zipOf({ 'manifest.yml': 'a' });
    assert.equal(await problem(patched(zip, CENTRAL, 8, [1, 8])), 'archive: "manifest.yml" is encrypted');
  });

  test('an archive is refused for an unknown compression', async () => {
    const zip = await zipOf({ 'manifest.yml': 'a' });
    assert.equal(
      await problem(patched(zip, CENTRAL, 10, [99])),
      'archive: "manifest.yml" uses an unsupported compression',
    );
  });

  test('an archive is refused for two files of one name, also when only their spelling differs', async () => {
    const zip = await zipOf({ 'a\u0301.lua': '1', 'xx.lua': '2' });
    const same = Buffer.from('\u00e1.lua');
    const copy = Buffer.from(zip);
    for (const header of [LOCAL, CENTRAL]) {
      const at = copy.lastIndexOf(header);
      copy.set(same, at + (header === LOCAL ? 30 : 46));
    }
    assert.equal(await problem(copy), 'archive: duplicate file name "á.lua"');
  });

  test('an archive is refused for more entries than allowed', async () => {
    const files = Object.fromEntries(
      Array.from({ length: LIMITS.blueprints.entries + 1 }, (_, index) => [`f${index}`, '']),
    );
    assert.equal(await problem(await zipOf(files)), 'archive: more than 2000 entries');
  });

  test('an archive is refused for a size that unpacking would exceed, before anything is unpacked', async () => {
    const zeros = Buffer.alloc(30 * 1_048_576);
    const zip = await zipOf({ a: zeros, b: zeros, c: zeros, d: zeros });
    assert.ok(zip.length < 200_000);
    assert.equal(await problem(zip), 'archive: unpacked size exceeds 100 MiB');
  });

  test('an archive is refused for a file that is larger than it says', async () => {
    const zip = await zipOf({ 'manifest.yml': 'a'.repeat(5_000) });
    assert.match(
      (await problem(patched(zip, CENTRAL, 24, [10, 0, 0, 0]))) ?? '',
      /^archive: "manifest.yml" is damaged: /,
    );
  });

  test('an archive is refused for a wrong checksum', async () => {
    const zip = await zipOf({ 'manifest.yml': 'a' });
    assert.equal(
      await problem(patched(zip, CENTRAL, 16, [1, 2, 3, 4])),
      'archive: "manifest.yml" is damaged: wrong checksum',
    );
  });

  test('an archive is refused when it is cut off anywhere', async () => {
    const zip = await zipOf({ 'manifest.yml': 'a: 1\n'.repeat(50), 'main.lua': 'return 1' });
    for (let length = 0; length < zip.length; length += 7)
      assert.notEqual(await problem(zip.subarray(0, length)), undefined, `${length} bytes`);
  });
});

describe('an archive of another system is read', () => {
  const read = async (zip: Uint8Array) => (await readArchive(zip)).files ?? assert.fail('it is refused');

  test('an archive with backslashes has its separators taken as folders', async () => {
    const zip = await zipOf({ 'pump_manifest.yml': 'a: 1', 'pump_lua_main.lua': 'return' });
    for (const [from, to] of [
      ['pump_manifest.yml', 'pump\\manifest.yml'],
      ['pump_lua_main.lua', 'pump\\lua\\main.lua'],
    ] as const)
      for (let at = zip.indexOf(from); at >= 0; at = zip.indexOf(from, at + 1)) zip.write(to, at);
    assert.deepEqual([...(await read(zip)).keys()].toSorted(), ['lua/main.lua', 'manifest.yml']);
  });

  test('an archive of another system is read without the files that systems add, which count as no folder beside the top one', async () => {
    const zip = await zipOf({
      'pump/manifest.yml': 'a: 1',
      'pump/Thumbs.db': 'x',
      'pump/img/desktop.ini': 'x',
      'pump/._manifest.yml': 'x',
      'pump/.DS_Store': 'x',
      '__MACOSX/pump/._main.lua': 'x',
      '$RECYCLE.BIN/old.lua': 'x',
      'System Volume Information/IndexerVolumeGuid': 'x',
      'DESKTOP.INI': 'x',
      'pump/@eaDir/manifest.yml@SynoEAStream': 'x',
      '@eaDir/pump@SynoResource': 'x',
      '.Trash-1000/info/x': 'x',
      '.directory': 'x',
    });
    assert.deepEqual([...(await read(zip)).keys()], ['manifest.yml']);
  });

  test('an archive gives texts in UTF-8 without a mark, whatever mark or UTF-16 they came with', async () => {
    const text = 'display_name: Wärme\r\n';
    const little = Buffer.from(`\ufeff${text}`, 'utf16le');
    const files = {
      'manifest.yml': Buffer.from(`\ufeff${text}`),
      'main.lua': little,
      'schema.json': Buffer.from(little).swap16(),
      'picture.bin': Buffer.from(`\ufeff${text}`),
    };
    const found = await read(await zipOf(files));
    for (const name of ['manifest.yml', 'main.lua', 'schema.json'])
      assert.equal(found.get(name)?.toString('utf8'), text, name);
    assert.deepEqual(found.get('picture.bin'), files['picture.bin']);
  });
});

describe('an archive is read', () => {
  const paths = async (zip: Uint8Array): Promise<string[]> => [
    ...((await readArchive(zip)).files?.keys() ?? []),
  ];

  test('an archive keeps names in the encoding of a packer without UTF-8', async () => {
    const marked = await named(Buffer.from([0x61, 0x84, 0xe1]));
    assert.deepEqual(await paths(patched(patched(marked, LOCAL, 6, [0, 0]), CENTRAL, 8, [0, 0])), ['aäß']);
  });

  test('an archive gives its files unchanged', async () => {
    const bytes = Buffer.from([0, 255, 10, 13]);
    const { files } = await readArchive(await zipOf({ 'a/b.bin': bytes, 'manifest.yml': 'x' }));
    assert.deepEqual(files?.get('a/b.bin'), bytes);
  });

  test('an archive is read without the files that other tools add', async () => {
    const zip = await zipOf({
      'manifest.yml': '',
      '__MACOSX/manifest.yml': '',
      'a/.DS_Store': '',
      './b.lua': '',
    });
    assert.deepEqual(await paths(zip), ['b.lua', 'manifest.yml']);
  });

  test('an archive is read without one common top folder', async () => {
    assert.deepEqual(await paths(await zipOf({ 'top/manifest.yml': '', 'top/a/b.lua': '' })), [
      'a/b.lua',
      'manifest.yml',
    ]);
    assert.deepEqual(await paths(await zipOf({ 'top/manifest.yml': '', 'readme.md': '' })), [
      'readme.md',
      'top/manifest.yml',
    ]);
    assert.deepEqual(await paths(await zipOf({ 'lib/manifest.yml': '' })), ['manifest.yml']);
  });

  test('an archive keeps the name of a file that is too large to be used, without its content', async () => {
    const { files } = await readArchive(
      await zipOf({ 'manifest.yml': '', 'movie.mp4': Buffer.alloc(3_000_000, 1) }),
    );
    assert.equal(files?.get('movie.mp4'), null);
  });

  test('an archive is read when its entries are stored without compression', async () => {
    // A stored entry is what deflate makes of bytes that do not compress: both must come back.
    const noise = deflateRawSync(Buffer.from('abc'.repeat(10)));
    const { files } = await readArchive(await zipOf({ 'a.bin': noise }));
    assert.deepEqual(files?.get('a.bin'), noise);
  });
});

test('the same files give the same bytes, in whatever order they come', async () => {
  const files = filesOf({ 'b.lua': 'return 2', 'a.yml': 'a: 1' });
  const zip = await writeArchive(files);
  assert.deepEqual(await writeArchive(new Map([...files].reverse())), zip);
});

describe('an archive without a manifest in its place', () => {
  const rows: [title: string, names: string[], cure: string][] = [
    ['whose name is another', ['Manifest.YAML', 'main.lua'], ': rename Manifest.YAML'],
    [
      'beside another folder',
      ['pump/manifest.yml', 'notes/a.txt'],
      ': pump/manifest.yml is neither in the root nor in the only folder of the root',
    ],
    ['with an archive inside', ['pump.zip'], ': upload pump.zip, which is inside, itself'],
    ['with nothing like it', ['a.txt'], ''],
  ];
  for (const [title, names, cure] of rows)
    test(`an archive without a manifest in its place is refused with the cure: ${title}`, () => {
      const files = new Map(names.map((name) => [name, Buffer.from('a: 1')]));
      const { problems } = compileFiles(files, catalogueOf(new Map()));
      assert.deepEqual(problems, [`missed file manifest.yml${cure}`]);
    });
});
