/**
 * Files for browsers, such as the console: only those that were there at the start, with headers that let a page use
 * nothing but its own origin (W3C Content Security Policy Level 3). The bytes are shared by all callers, so that slow
 * readers of the same file need no memory each.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { Hono } from 'hono';
import { notFound } from '../../lib/errors.ts';
import type { Environment, RequestContext } from './exchange.ts';
import { acceptsGzip } from './responses.ts';

export interface FilesOptions {
  /** Folder of the files; `index.html` answers at its folder, `name.gz` beside a file is its compressed form. */
  dir: string;
  /** Other addresses of pages: path with `{name}` parameters → address with the same names. */
  links?: Readonly<Record<string, string>>;
}

interface StaticFile {
  path: string;
  mediaType: string;
  isImmutable: boolean;
  hasGzip: boolean;
  /** Read at the first request for it, so that the start does not wait for all of them. */
  contents: { plain?: Promise<Content>; gzip?: Promise<Content> };
}

interface Content {
  bytes: Uint8Array<ArrayBuffer>;
  etag: string;
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.zip': 'application/zip',
};

/** The hash of the content in the name, as the bundler writes it: the bytes of such a name never change. */
const HASHED = /-[A-Z0-9]{8}\.[a-z]+$/;

/** Added to the headers of every answer. */
const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
  'cross-origin-opener-policy': 'same-origin',
} as const;

/** Adds the files to the routes; without the folder the start page says what is missing. */
export function addFiles(app: Hono<Environment>, { dir, links = {} }: FilesOptions): void {
  if (!existsSync(join(dir, 'index.html'))) {
    app.get('/', () => {
      throw notFound('route_not_found', 'The console has not been built; run: npm run build');
    });
    return;
  }
  for (const [name, file] of listFiles(dir))
    app.get(`/${name}`.replace(/\/index\.html$/, '') || '/', (context) => respond(context, file));
  for (const [path, target] of Object.entries(links))
    app.get(path.replace(/\{(\w+)\}/g, ':$1'), (context) =>
      context.redirect(
        target.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(context.req.param(name) ?? '')),
      ),
    );
}

function listFiles(dir: string): Map<string, StaticFile> {
  const names = new Set(
    readdirSync(dir, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1)),
  );
  const files = new Map<string, StaticFile>();
  for (const name of names) {
    const mediaType = MEDIA_TYPES[extname(name)];
    if (mediaType === undefined) continue;
    files.set(name, {
      path: join(dir, name),
      mediaType,
      isImmutable: HASHED.test(name),
      hasGzip: names.has(`${name}.gz`),
      contents: {},
    });
  }
  return files;
}

/** @throws GatewayError route_not_found (404) when the file was taken away since the start */
async function contentOf(file: StaticFile, isCompressed: boolean): Promise<Content> {
  const contents = file.contents;
  const name = isCompressed ? 'gzip' : 'plain';
  const reading = (contents[name] ??= read(isCompressed ? `${file.path}.gz` : file.path));
  try {
    return await reading;
  } catch (error) {
    delete contents[name];
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw notFound('route_not_found', 'The file was replaced; load the page again.');
  }
}

async function read(path: string): Promise<Content> {
  const bytes = new Uint8Array(await readFile(path));
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` };
}

async function respond(context: RequestContext, file: StaticFile): Promise<Response> {
  const isCompressed = file.hasGzip && acceptsGzip(context.req.header('accept-encoding'));
  const { bytes, etag } = await contentOf(file, isCompressed);
  const headers: Record<string, string> = {
    ...PAGE_HEADERS,
    'cache-control': file.isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag,
    vary: 'Accept-Encoding',
  };
  const known = context.req.header('if-none-match')?.split(',') ?? [];
  if (known.some((tag) => tag.trim().replace(/^W\//, '') === etag)) return context.body(null, 304, headers);
  headers['content-type'] = file.mediaType;
  headers['content-length'] = String(bytes.length);
  if (isCompressed) headers['content-encoding'] = 'gzip';
  return context.body(bytes, 200, headers);
}
