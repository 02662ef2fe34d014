/** Files for browsers as the gateway serves them, without a socket. */
import { Hono } from 'hono';
import type { Environment } from '../../src/platform/http/exchange.ts';
import { addFiles, type FilesOptions } from '../../src/platform/http/files.ts';
import { errorResponse } from '../../src/platform/http/responses.ts';

/** Answers requests for what is below the folder now. */
export function serveFiles(options: FilesOptions): (path: string, init?: RequestInit) => Promise<Response> {
  const app = new Hono<Environment>();
  app.onError((error) => errorResponse(error));
  addFiles(app, options);
  return async (path, init) =>
    app.fetch(new Request(`http://gateway.test${path}`, init), { requestId: 'one' });
}
