/**
 * Files for browsers, such as the console: only those that were there at the start, streamed from disk, with
 * headers that let a page use nothing but its own origin (W3C Content Security Policy Level 3).
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { open, readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Hono } from 'hono';
import { notFound } from '../../lib/errors.ts';
import { acceptsGzip } from './answer.ts';
import { type Environment, handOver, type RequestContext } from './exchange.ts';

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
  /** Known once it was asked for: at a start nobody waits for the reading of all. */
  content?: Promise<FileContent>;
}

interface FileContent {
  etag: string;
  sizeBytes: number;
  /** Size of the compressed form, if there is one. */
  gzipBytes: number | undefined;
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
export function addFiles(
  app: Hono<Environment>,
  { dir, links = {} }: FilesOptions,
  onFailed: (error: unknown) => void,
): void {
  if (!existsSync(join(dir, 'index.html'))) {
    app.get('/', () => {
      throw notFound('route_not_found', 'The console has not been built; run: npm run build');
    });
    return;
  }
  for (const [name, file] of listFiles(dir))
    app.get(`/${name}`.replace(/\/index\.html$/, '') || '/', (context) => answer(context, file, onFailed));
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
    });
  }
  return files;
}

/** @throws GatewayError route_not_found (404) when the file was taken away since the start */
async function contentOf(file: StaticFile): Promise<FileContent> {
  file.content ??= readContent(file);
  try {
    return await file.content;
  } catch (error) {
    delete file.content;
    throw refusalOf(error);
  }
}

async function readContent({ path, hasGzip }: StaticFile): Promise<FileContent> {
  const content = await readFile(path);
  return {
    etag: createHash('sha256').update(content).digest('base64url').slice(0, 22),
    sizeBytes: content.length,
    gzipBytes: hasGzip ? (await stat(`${path}.gz`)).size : undefined,
  };
}

async function answer(
  context: RequestContext,
  file: StaticFile,
  onFailed: (error: unknown) => void,
): Promise<Response> {
  const content = await contentOf(file);
  const isCompressed = file.hasGzip && acceptsGzip(context.req.header('accept-encoding'));
  const etag = `"${content.etag}${isCompressed ? '-gz' : ''}"`;
  const headers: Record<string, string> = {
    ...PAGE_HEADERS,
    'cache-control': file.isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag,
    vary: 'Accept-Encoding',
  };
  const known = context.req.header('if-none-match')?.split(',') ?? [];
  if (known.some((tag) => tag.trim().replace(/^W\//, '') === etag))
    return handOver(context, { status: 304, headers, body: null });
  headers['content-type'] = file.mediaType;
  const sizeBytes = (isCompressed ? content.gzipBytes : undefined) ?? content.sizeBytes;
  headers['content-length'] = String(sizeBytes);
  if (isCompressed) headers['content-encoding'] = 'gzip';
  const isHeadOnly = context.req.method === 'HEAD';
  const body = isHeadOnly ? null : await bodyOf(isCompressed ? `${file.path}.gz` : file.path, sizeBytes);
  return handOver(context, { status: 200, headers, body, onFailed });
}

/** @throws GatewayError route_not_found (404) when the file was taken away since the start */
async function bodyOf(path: string, sizeBytes: number): Promise<Readable> {
  try {
    const file = await open(path);
    // A stream that knows its end reads into memory of that size, instead of 64 KiB, and does not look for more.
    return file.createReadStream({ end: Math.max(0, sizeBytes - 1) });
  } catch (error) {
    throw refusalOf(error);
  }
}

function refusalOf(error: unknown): unknown {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
    ? notFound('route_not_found', 'The file was replaced; load the page again.')
    : error;
}
