/** Paths that a manifest names, relative to the folder of `manifest.yml`. */

/** The path from the root of the archive; `undefined` when it leaves it. */
export function resolvePath(path: string, from = ''): string | undefined {
  if (path.startsWith('/') || path.includes('\\') || path.includes('\u0000')) return undefined;
  const segments = from === '' ? [] : from.split('/');
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') segments.push(segment);
    else if (segments.pop() === undefined) return undefined;
  }
  return segments.join('/').normalize('NFC');
}

/** The folder of a file, `''` for the root. */
export function folderOf(path: string): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
}
