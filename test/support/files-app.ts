/** Files for browsers as the gateway serves them, without a socket. */
import assert from 'node:assert/strict';
import { Hono } from 'hono';
import { errorAnswer, responseOf } from '../../src/platform/http/answer.ts';
import { type Environment, type Exchange, handOver } from '../../src/platform/http/exchange.ts';
import { addFiles, type FilesOptions } from '../../src/platform/http/files.ts';

/** Answers requests for what is below the folder now. */
export function serveFiles(options: FilesOptions): (path: string, init?: RequestInit) => Promise<Response> {
  const app = new Hono<Environment>();
  app.onError((error, context) => handOver(context, errorAnswer(error)));
  addFiles(app, options, (error) => assert.fail(String(error)));
  return async (path, init) => {
    const exchange: Exchange = { requestId: 'one' };
    const response = await app.fetch(new Request(`http://gateway.test${path}`, init), exchange);
    return exchange.answer ? responseOf(exchange.answer) : response;
  };
}
