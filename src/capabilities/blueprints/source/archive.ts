/**
 * Zip archives of blueprints and profiles: read within limits whatever they contain, written so that the same
 * files give the same bytes. Source: docs/interface/blueprints.md#archive, docs/interface/http.md#blueprints-and-profiles.
 */
import { crc32 } from 'node:zlib';
import { fromBufferPromise, getFileNameLowLevel, type Entry, type ZipFile } from 'yauzl';
import { ZipFile as ZipWriter } from 'yazl';
import { messageOf } from '../../../lib/errors.ts';
import { LIMITS } from '../../../lib/limits.ts';
import { asUtf8 } from '../../../lib/utf8-file.ts';

interface ArchiveLimits {
  unpackedBytes: number;
  entries: number;
  /** A larger file counts, but its content is not kept. */
  fileBytes: number;
  /** Whether one folder around everything is wrapping, given its name and the paths in it. Default: always. */
  isWrapping?: (top: string, paths: readonly string[]) => boolean;
}

/** Files of an archive: path from the root, with `/` → content, or `null` for a file that is too large. */
export type ArchiveFiles = Map<string, Buffer | null>;

type ReadArchive =
  | { files: ArchiveFiles; problem?: undefined; isZip: true }
  | { files?: undefined; problem: string; isZip: boolean };

const DEFAULT_LIMITS: ArchiveLimits = {
  unpackedBytes: LIMITS.blueprints.unpackedBytes,
  entries: LIMITS.blueprints.entries,
  fileBytes: Math.max(LIMITS.blueprints.manifestBytes, LIMITS.blueprints.luaFileBytes),
};

const NOT_A_ZIP = 'file is not a zip archive';
const FILE_TYPE_MASK = 0o170000;
/** Bit of the general purpose flags: names are UTF-8. */
const UTF8_NAMES = 0x800;
const SYMBOLIC_LINK = 0o120000;
const NAME_BYTES_MAX = 1_024;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Files that systems add beside people's own: macOS, Windows, desktops of Linux, network stores, bins and indexes of
 * sticks.
 */
const OF_SYSTEMS = new RegExp(
  `^(?:${[
    '__MACOSX|\\.DS_Store|\\._.*|\\.AppleDouble|\\.Spotlight-V100|\\.Trashes|\\.fseventsd|\\.TemporaryItems|\\.DocumentRevisions-V100',
    'Thumbs\\.db|ehthumbs\\.db|desktop\\.ini|\\$RECYCLE\\.BIN|System Volume Information',
    '\\.directory|\\.Trash-\\d+|@eaDir|#recycle',
  ].join('|')})$`,
  'i',
);
const TEXTS = /\.(?:ya?ml|json|lua|rockspec|csv|md|txt)$/i;

class ArchiveFault extends Error {}

/** Reads every file. Never throws: what is wrong with the archive is its one `problem`. */
export async function readArchive(bytes: Uint8Array, limits = DEFAULT_LIMITS): Promise<ReadArchive> {
  let zip: ZipFile;
  try {
    zip = await fromBufferPromise(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), {
      decodeStrings: false,
      validateEntrySizes: true,
    });
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { problem: NOT_A_ZIP, isZip: false };
  }
  try {
    return { files: await readEntries(zip, limits), isZip: true };
  } catch (error) {
    return { problem: `archive: ${messageOf(error)}`, isZip: true };
  }
}

async function readEntries(zip: ZipFile, limits: ArchiveLimits): Promise<ArchiveFiles> {
  if (zip.entryCount > limits.entries) throw new ArchiveFault(`more than ${limits.entries} entries`);
  const files: ArchiveFiles = new Map();
  const names = new Set<string>();
  let unpackedBytes = 0;
  for await (const entry of zip.eachEntry()) {
    const path = checkedPath(entry);
    if (path === undefined) continue;
    if (names.has(path)) throw new ArchiveFault(`duplicate file name ${quoted(path)}`);
    names.add(path);
    // The declared size first: a bomb is refused before it is unpacked.
    if (unpackedBytes + entry.uncompressedSize > limits.unpackedBytes)
      throw new ArchiveFault(`unpacked size exceeds ${limits.unpackedBytes / 1_048_576} MiB`);
    const content = await readContent(zip, entry, path, limits);
    unpackedBytes += entry.uncompressedSize;
    files.set(path, content);
  }
  return withoutTopFolder(files, limits.isWrapping);
}

/** The normalised path, or undefined for an entry that is skipped. */
function checkedPath(entry: Entry): string | undefined {
  const raw = entry.fileNameRaw;
  if (raw.length > NAME_BYTES_MAX) throw new ArchiveFault('file name too long');
  const name = decodedName(entry);
  // Packers of Windows write its own separator.
  const segments = name
    .replaceAll('\\', '/')
    .replace(/^(?:\.\/)+/, '')
    .split('/');
  const isFolder = segments.at(-1) === '';
  if (isFolder) segments.pop();
  const isBad =
    segments.length === 0 ||
    segments.some((segment) => segment === '' || segment === '.' || segment === '..') ||
    // oxlint-disable-next-line no-control-regex
    /[\u0000-\u001f\u007f]|^[A-Za-z]:/.test(name);
  if (isBad) throw new ArchiveFault(`invalid file name ${quoted(name)}`);
  const path = segments.join('/').normalize('NFC');
  if (((entry.externalFileAttributes >>> 16) & FILE_TYPE_MASK) === SYMBOLIC_LINK)
    throw new ArchiveFault(`${quoted(path)} is a link`);
  if (entry.isEncrypted()) throw new ArchiveFault(`${quoted(path)} is encrypted`);
  if (!entry.canDecodeFileData()) throw new ArchiveFault(`${quoted(path)} uses an unsupported compression`);
  if (isFolder || segments.some((segment) => OF_SYSTEMS.test(segment))) return undefined;
  return path;
}

/** UTF-8, which many packers write without setting the flag; otherwise code page 437, the default of zip. */
function decodedName({ fileNameRaw: raw, generalPurposeBitFlag: flags, extraFields }: Entry): string {
  try {
    return utf8.decode(raw);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    if (!(flags & UTF8_NAMES)) return getFileNameLowLevel(flags, raw, extraFields, true);
    throw new ArchiveFault(`file name ${quoted(raw.toString('latin1'))} is not valid UTF-8`, {
      cause: error,
    });
  }
}

async function readContent(
  zip: ZipFile,
  entry: Entry,
  path: string,
  limits: ArchiveLimits,
): Promise<Buffer | null> {
  const isKept = entry.uncompressedSize <= limits.fileBytes;
  const chunks: Buffer[] = [];
  let checksum = 0;
  try {
    // The stream fails as soon as there is more or less than the entry declares.
    const stream = await zip.openReadStreamPromise(entry);
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      checksum = crc32(chunk, checksum);
      if (isKept) chunks.push(chunk);
    }
  } catch (error) {
    throw new ArchiveFault(`${quoted(path)} is damaged: ${messageOf(error)}`, { cause: error });
  }
  if (checksum >>> 0 !== entry.crc32 >>> 0)
    throw new ArchiveFault(`${quoted(path)} is damaged: wrong checksum`);
  if (!isKept) return null;
  const content = Buffer.concat(chunks);
  return TEXTS.test(path) ? asUtf8(content) : content;
}

/** One common top folder around everything is taken off, unless a file stands beside it. */
function withoutTopFolder(files: ArchiveFiles, isWrapping: ArchiveLimits['isWrapping']): ArchiveFiles {
  const tops = new Set([...files.keys()].map((path) => path.split('/', 1)[0] ?? ''));
  const [top] = tops;
  if (tops.size !== 1 || top === undefined || files.has(top)) return files;
  const inside = new Map([...files].map(([path, content]) => [path.slice(top.length + 1), content]));
  return isWrapping?.(top, [...inside.keys()]) === false ? files : inside;
}

function quoted(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name);
}

/** The text of a UTF-8 file; undefined when it is not UTF-8, as UTF-16 without a byte order mark is not. */
export function textOfUtf8(content: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(content);
    return text.includes('\0') ? undefined : text;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Zip has no time zone and begins in 1980; every entry gets this moment. */
const FIXED_TIME = new Date(1980, 0, 1);

/** A zip of the files in the order of their paths: the same files give the same bytes. */
export async function writeArchive(files: ReadonlyMap<string, Uint8Array>): Promise<Buffer> {
  const zip = new ZipWriter();
  const options = { mtime: FIXED_TIME, mode: 0o100644, compress: true, forceDosTimestamp: true };
  for (const [path, content] of [...files].sort(([a], [b]) => (a < b ? -1 : 1)))
    zip.addBuffer(content, path, options);
  zip.end();
  const chunks: Uint8Array[] = [];
  for await (const chunk of zip.outputStream) chunks.push(chunk);
  return Buffer.concat(chunks);
}
