/** Somebody looks at what a device answers over HTTP, before there is a template of it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import { refusal, useTestGateway } from '../support/test-gateway.ts';

const READ = '/v3/http/read';
const ANSWERS: Readonly<Record<string, [status: number, text: string]>> = {
  '/status?all=1': [200, '{"emeters":[{"power":230.5}]}'],
  '/page': [200, '<html></html>'],
  '/moved': [302, '{}'],
  '/secret': [401, '{}'],
  '/large': [200, JSON.stringify('x'.repeat(LIMITS.deviceSearch.httpAnswerBytes))],
};

describe('reading JSON of a device', () => {
  let origin = '';
  const asked: string[] = [];
  const gateway = useTestGateway();
  const device = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const [status, text] = ANSWERS[request.url ?? ''] ?? [404, 'no'];
    response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end(text);
  });
  before(async () => {
    await once(device.listen(0, '127.0.0.1'), 'listening');
    origin = `http://127.0.0.1:${(device.address() as AddressInfo).port}`;
  });
  after(() => device.close());

  test('reading JSON of a device is refused to an OWNER, and for every address that is not in a network of the gateway', async () => {
    assert.equal(
      refusal(await gateway().call('OWNER', 'POST', READ, { url: origin })),
      '403 insufficient_role',
    );
    for (const url of [
      '',
      'status',
      'ftp://127.0.0.1/',
      'file:///etc/passwd',
      'http://203.0.113.7/status',
      'http://localhost/',
      'http://[::1]/',
      'http://user@127.0.0.1/',
      'http://:secret@127.0.0.1/',
    ])
      assert.equal(
        refusal(await gateway().call('INSTALLER', 'POST', READ, { url })),
        '400 invalid_body',
        url,
      );
    assert.deepEqual(asked, []);
  });

  test('reading JSON of a device gives the answer as it is, and explains one that is no JSON in a sentence', async () => {
    const readOf = async (path: string): Promise<unknown> => {
      const { read } = await gateway().ok('INSTALLER', 'POST', READ, { url: `${origin}${path}` });
      const { usable, message, text } = read as { usable: boolean; message: string; text: string | null };
      return [usable, message.replaceAll(new URL(origin).host, 'device'), text];
    };
    const none = (message: string): unknown => [false, message, null];
    assert.deepEqual(await readOf('/status?all=1'), [
      true,
      'device answers.',
      '{"emeters":[{"power":230.5}]}',
    ]);
    assert.deepEqual(await readOf('/page'), none('device answers, and not in JSON.'));
    assert.deepEqual(
      await readOf('/moved'),
      none('device answered 302: it sends elsewhere, which is not followed.'),
    );
    assert.deepEqual(
      await readOf('/secret'),
      none('device answered 401: it asks for a user and a password.'),
    );
    assert.deepEqual(await readOf('/gone'), none('device answered 404.'));
    assert.deepEqual(
      await readOf('/large'),
      none('The answer is longer than 65536 bytes: this is not the right server.'),
    );
    assert.deepEqual(
      asked.filter((request) => !request.startsWith('GET ')),
      [],
    );
  });
});
