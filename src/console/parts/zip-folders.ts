/**
 * Blueprints in the zip of a whole repository: each folder with a manifest becomes a zip of its own. Compressed files
 * are copied as they are (PKWARE APPNOTE.TXT 4.3). Pure.
 */
import { Faults } from '../input-faults.ts';
import { say } from '../words/later.ts';

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const END_BYTES = 22;
const COMMENT_BYTES_MAX = 65_535;
const MANIFESTS = ['manifest.yml', 'manifest.yaml'];

interface Entry {
  path: string;
  /** Its record in the central directory. */
  central: Uint8Array<ArrayBuffer>;
  /** Compressed. */
  content: Uint8Array<ArrayBuffer>;
}

export interface Folder {
  /** Where it is in the archive; empty: its root. */
  path: string;
  zip: Blob;
}

/** @throws Faults when it is no zip */
export function blueprintFolders(archive: ArrayBuffer): Folder[] {
  const entries = entriesOf(archive);
  const roots = entries.flatMap(({ path }) => {
    const [name = ''] = path.split('/').slice(-1);
    return MANIFESTS.includes(name) ? [path.slice(0, path.length - name.length)] : [];
  });
  return [...new Set(roots)].toSorted().map((root) => ({
    path: root.replace(/\/$/, ''),
    zip: zipOf(
      entries.filter(({ path }) => path.startsWith(root) && !path.endsWith('/')),
      root,
    ),
  }));
}

const DEFLATED = 8;

/** The text of the manifest in the root of a blueprint. @throws Faults when it is no zip */
export async function manifestText(archive: ArrayBuffer): Promise<string> {
  const found = entriesOf(archive).find(({ path }) => MANIFESTS.includes(path));
  if (!found) throw new Faults([say.adding.damagedZip]);
  const content = new Blob([found.content]);
  const method = new DataView(found.central.buffer, found.central.byteOffset).getUint16(10, true);
  const plain = content.stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return method === DEFLATED ? new Response(plain).text() : content.text();
}

function entriesOf(archive: ArrayBuffer): Entry[] {
  const view = new DataView(archive);
  const endAt = endOf(view);
  if (endAt === undefined) throw new Faults([say.adding.noZip]);
  const count = view.getUint16(endAt + 10, true);
  const entries: Entry[] = [];
  let at = view.getUint32(endAt + 16, true);
  for (let index = 0; index < count; index++) {
    if (at + CENTRAL_BYTES > endAt || view.getUint32(at, true) !== CENTRAL)
      throw new Faults([say.adding.damagedZip]);
    const nameBytes = view.getUint16(at + 28, true);
    const path = new TextDecoder().decode(new Uint8Array(archive, at + CENTRAL_BYTES, nameBytes));
    entries.push({ path, central: new Uint8Array(archive, at, CENTRAL_BYTES), content: contentOf(view, at) });
    at += CENTRAL_BYTES + nameBytes + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return entries;
}

/** It follows its local header, whose fields may have other lengths. */
function contentOf(view: DataView<ArrayBuffer>, central: number): Uint8Array<ArrayBuffer> {
  const head = view.getUint32(central + 42, true);
  const bytes = view.getUint32(central + 20, true);
  if (head + LOCAL_BYTES > view.byteLength) throw new Faults([say.adding.damagedZip]);
  const start = head + LOCAL_BYTES + view.getUint16(head + 26, true) + view.getUint16(head + 28, true);
  if (start + bytes > view.byteLength) throw new Faults([say.adding.damagedZip]);
  return new Uint8Array(view.buffer, start, bytes);
}

function endOf(view: DataView): number | undefined {
  const first = Math.max(0, view.byteLength - END_BYTES - COMMENT_BYTES_MAX);
  for (let at = view.byteLength - END_BYTES; at >= first; at--)
    if (view.getUint32(at, true) === END) return at;
  return undefined;
}

/** A zip of the entries, with paths relative to the folder. */
function zipOf(entries: readonly Entry[], root: string): Blob {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const directory: Uint8Array<ArrayBuffer>[] = [];
  let offset = 0;
  let directoryBytes = 0;
  for (const { path, central, content } of entries) {
    const name = new TextEncoder().encode(path.slice(root.length));
    const record = central.slice();
    const recordView = new DataView(record.buffer);
    // The local header gets the sizes from the directory, so no data descriptor is needed.
    recordView.setUint16(8, recordView.getUint16(8, true) & ~8, true);
    recordView.setUint16(28, name.length, true);
    recordView.setUint32(30, 0, true);
    recordView.setUint32(42, offset, true);
    const head = new Uint8Array(LOCAL_BYTES);
    const headView = new DataView(head.buffer);
    headView.setUint32(0, LOCAL, true);
    // Version, flags, method, time, checksum, sizes and name length have the same order in both.
    head.set(record.subarray(6, 32), 4);
    const written = [head, name, content];
    parts.push(...written);
    directory.push(record, name);
    offset += written.reduce((sum, { length }) => sum + length, 0);
    directoryBytes += record.length + name.length;
  }
  const end = new Uint8Array(END_BYTES);
  const endView = new DataView(end.buffer);
  endView.setUint32(0, END, true);
  endView.setUint16(8, entries.length, true);
  endView.setUint16(10, entries.length, true);
  endView.setUint32(12, directoryBytes, true);
  endView.setUint32(16, offset, true);
  return new Blob([...parts, ...directory, end], { type: 'application/zip' });
}
