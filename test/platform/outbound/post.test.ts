/** Requests to servers outside, and what is said of their refusals. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { describe, test, type TestContext } from 'node:test';
import { createSystemClock } from '../../../src/platform/clock/index.ts';
import { DeliveryError, post } from '../../../src/platform/outbound/index.ts';

/** The sentence about a refusal, with HOST for the address of the server. */
async function refusedBy(t: TestContext, status: number, text: string): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(status).end(text));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const clock = createSystemClock();
  t.after(() => clock.close());
  const { port } = server.address() as { port: number };
  const url = `http://127.0.0.1:${port}/services/SECRETPART1/x?token=secret-token`;
  const headers = { Authorization: 'Bearer bearer-secret' };
  const call = { url, headers, body: '{}', timeoutMs: 60_000, signal: new AbortController().signal };
  const error: unknown = await post(call, clock).catch((failure: unknown) => failure);
  assert.ok(error instanceof DeliveryError, String(error));
  return error.message.replaceAll(`127.0.0.1:${port}`, 'HOST');
}

describe('a refusal shows the words of the server', () => {
  const rows: [name: string, status: number, text: string, sentence: string][] = [
    ['as a plain text', 400, 'invalid_payload', 'HOST answered 400. It said: "invalid_payload"'],
    [
      'of JSON with a message',
      400,
      '{"message":"Cannot send an empty message","code":50006}',
      'HOST answered 400. It said: "Cannot send an empty message"',
    ],
    [
      'of JSON with an error inside',
      400,
      '{"error":{"code":400,"message":"Unknown name"}}',
      'HOST answered 400. It said: "Unknown name"',
    ],
    [
      'of JSON with an error as text',
      429,
      '{"code":42901,"error":"limit reached"}',
      'HOST answered 429: it was asked too often. It said: "limit reached"',
    ],
    [
      'on one line',
      500,
      'a\r\nb\u001b[31mc\u202ed',
      'HOST answered 500: it has a fault of its own. It said: "a b [31mc d"',
    ],
    [
      'without the secrets of the request',
      403,
      'no SECRETPART1, secret-token, bearer-secret',
      'HOST answered 403: it does not accept the token, or asks for one. It said: "no …, …, …"',
    ],
  ];
  for (const [name, status, text, sentence] of rows)
    test(name, async (t) => assert.equal(await refusedBy(t, status, text), sentence));

  test("a refusal has at most 200 characters of the server's answer", async (t) => {
    const said = await refusedBy(t, 400, 'x'.repeat(100_000));
    assert.equal(said, `HOST answered 400. It said: "${'x'.repeat(200)}"`);
  });

  test("a refusal leaves the server's answer out when it is a page or points elsewhere", async (t) => {
    assert.equal(await refusedBy(t, 400, '<html>internal</html>'), 'HOST answered 400.');
    const redirected = await refusedBy(t, 302, 'internal');
    assert.equal(redirected, 'HOST answered 302: it sends elsewhere, which is not followed.');
  });
});
