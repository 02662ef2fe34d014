/** Another machine over WebDAV (RFC 4918), by the program `curl`; its certificate has to be one that the system trusts. */
import { join } from 'node:path';
import { BACKUPS_FOLDER } from './layout.ts';
import { type BackupTarget, PART, ReadBack, runClient, timeoutOf } from './target.ts';

const CURL = { name: 'curl', debianPackage: 'curl' };
/** Without configuration files and patterns in addresses; a transfer that is silent for a minute is given up. */
const WORDS =
  '--disable --globoff --silent --show-error --fail --proto =https,http --config - --connect-timeout 20 --speed-limit 1 --speed-time 60'.split(
    ' ',
  );

export function webDavTarget(
  location: string,
  dataDir: string,
  {
    username,
    password,
    signal,
  }: { username: string | undefined; password: string | undefined; signal?: AbortSignal },
): BackupTarget {
  const base = location.replace(/\/$/, '');
  const home = join(dataDir, BACKUPS_FOLDER);
  // Through the standard input, as the words of a program are seen by every user of the box.
  const input = username === undefined ? '' : `user = ${quoted(`${username}:${password ?? ''}`)}\n`;
  const run = (
    words: readonly string[],
    url: string,
    more: Pick<Parameters<typeof runClient>[2], 'timeoutMs' | 'take'> = {},
  ): Promise<string> => runClient(CURL, [...WORDS, ...words, '--', url], { input, home, signal, ...more });
  return {
    store: async (path, name) => {
      const target = `${base}/${name}`;
      const sent = new ReadBack(path);
      const timeoutMs = timeoutOf(sent.sizeBytes);
      await run(['--upload-file', path], target + PART, { timeoutMs });
      await run([], target + PART, { timeoutMs, take: (piece) => sent.take(piece) });
      await sent.requireSame();
      await run(['--request', 'MOVE', '--header', `Destination: ${target}`], target + PART);
    },
    names: async () => namesIn(await run(['--request', 'PROPFIND', '--header', 'Depth: 1'], `${base}/`)),
    remove: async (name) => void (await run(['--request', 'DELETE'], `${base}/${name}`)),
  };
}

/**
 * Last part of each path in the answer to PROPFIND, whatever prefix the server gives the namespace. One pass over the text:
 * every step begins where the last one ended.
 */
export function namesIn(xml: string): string[] {
  const names: string[] = [];
  for (let at = xml.indexOf('<'); at >= 0; at = xml.indexOf('<', at)) {
    const tagEnd = xml.indexOf('>', at);
    if (tagEnd < 0) break;
    const isHref = isNamedHref(xml.slice(at + 1, tagEnd));
    at = tagEnd + 1;
    if (!isHref) continue;
    const textEnd = xml.indexOf('<', at);
    if (textEnd < 0) break;
    const path = xml.slice(at, textEnd).trim();
    names.push((path.endsWith('/') ? path.slice(0, -1) : path).split('/').at(-1) ?? '');
    at = textEnd;
  }
  return names;
}

/** A start tag as `d:href`, perhaps with attributes. */
function isNamedHref(tag: string): boolean {
  const [name = ''] = tag.split(/\s/, 1);
  return name.slice(name.indexOf(':') + 1).toLowerCase() === 'href' && !name.startsWith('/');
}

/** As curl(1) reads a value of its configuration. */
function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
