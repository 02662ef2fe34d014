/** Notification channels over HTTP. Denials first. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import { startMailServer, startPostServer } from '../support/receivers.ts';
import { refusal, useTestGateway } from '../support/test-gateway.ts';

const CHANNELS = '/v3/notification_channels';
const gateway = useTestGateway();

const EMAIL = {
  host: '127.0.0.1',
  port: 25,
  encryption: 'NONE',
  from: 'gw@example.org',
  to: ['a@example.org'],
};
const mail = (changes: object) => ({ name: 'Mail', kind: 'EMAIL', email: { ...EMAIL, ...changes } });
const hook = (changes: object) => ({ name: 'Hook', kind: 'WEBHOOK', webhook: changes });

interface Channel {
  id: string;
  email?: { has_password: boolean; host: string };
  webhook?: { origin: string; has_signing_secret: boolean };
  ntfy?: { has_token: boolean };
}

async function created(body: object): Promise<Channel> {
  const { notification_channel: channel } = await gateway().ok('OWNER', 'POST', CHANNELS, body);
  return channel as Channel;
}

describe('a channel is refused', () => {
  for (const caller of [null, 'READONLY', 'USER'] as const)
    test(`a channel is refused when ${caller ?? 'nobody'} calls, and so is the list of them`, async () => {
      const wanted = caller === null ? '401 invalid_header' : '403 insufficient_role';
      assert.equal(refusal(await gateway().call(caller, 'POST', CHANNELS, mail({}))), wanted);
      for (const path of [CHANNELS, '/v3/notification_deliveries'])
        assert.equal(refusal(await gateway().call(caller, 'GET', path)), wanted);
    });

  for (const [title, body, wanted] of [
    ['without a kind', { name: 'x' }, '400 invalid_body'],
    ['of an unknown kind', { name: 'x', kind: 'PIGEON' }, '400 invalid_body'],
    ['with an empty name', { ...mail({}), name: ' ' }, '400 invalid_body'],
    ['with settings of another kind', { ...mail({}), ntfy: { topic: 'x' } }, '400 invalid_body'],
    ['without a server', mail({ host: null }), '400 invalid_body'],
    ['with a server that is an address of the web', mail({ host: 'http://x/' }), '400 invalid_body'],
    ['with a port that none has', mail({ port: 65_536 }), '400 invalid_body'],
    [
      'with a receiver that writes a head of its own',
      mail({ to: ['a@b.c\r\nBcc: d@e.f'] }),
      '400 invalid_body',
    ],
    ['with two addresses in one', mail({ to: ['a@b.c,d@e.f'] }), '400 invalid_body'],
    ['without receivers', mail({ to: [] }), '400 invalid_body'],
    ['with too many receivers', mail({ to: Array.from({ length: 11 }, () => 'a@b.c') }), '400 invalid_body'],
    ['without an address', hook({}), '400 invalid_body'],
    ['with an address of a file', hook({ url: 'file:///etc/passwd' }), '400 invalid_body'],
    ['with a password in the address', hook({ url: 'http://a:b@example.org/' }), '400 invalid_body'],
    [
      'with a key that can be guessed',
      hook({ url: 'http://example.org/', signing_secret: 'short' }),
      '400 invalid_body',
    ],
    ['with a topic that is a path', { name: 'x', kind: 'NTFY', ntfy: { topic: 'a/b' } }, '400 invalid_body'],
    [
      'with a token that is two lines',
      { name: 'x', kind: 'NTFY', ntfy: { topic: 'a', token: 'a b' } },
      '400 invalid_body',
    ],
    ['of an unknown severity', { ...mail({}), minimum_severity: 'fatal' }, '400 invalid_body'],
    ['of an unknown device', { ...mail({}), device_ids: ['nobody'] }, '404 device_not_found'],
  ] as const)
    test(title, async () => {
      assert.equal(refusal(await gateway().call('OWNER', 'POST', CHANNELS, body)), wanted);
      assert.equal((await gateway().ok('OWNER', 'GET', CHANNELS))['total_count'], 0);
    });

  test('a channel is refused when it is not there', async () => {
    const missing = `${CHANNELS}/5b0a3a5c-3e0b-4d4e-8a5f-0d6a4c1f2b33`;
    for (const [method, path] of [
      ['PATCH', missing],
      ['DELETE', missing],
      ['POST', `${missing}/test`],
    ] as const)
      assert.equal(
        refusal(await gateway().call('OWNER', method, path, {})),
        '404 notification_channel_not_found',
      );
  });
});

test('secrets of channels are kept, never shown, and sent to no other server', async () => {
  const secrets = [
    'password of the mail',
    'key-of-the-hook-4711',
    'token-of-the-topic',
    'path-that-is-a-key',
  ];
  const [password, signing_secret, token, path] = secrets;
  const channels = [
    await created(mail({ username: 'gw', password })),
    await created(hook({ url: `https://hooks.example.org/${path}`, signing_secret })),
    await created({ name: 'Phones', kind: 'NTFY', ntfy: { topic: 'depot', token } }),
  ];
  const [byMail, byHook, byNtfy] = channels;
  assert.equal(byMail?.email?.has_password, true);
  assert.partialDeepStrictEqual(byHook?.webhook, {
    origin: 'https://hooks.example.org',
    form: 'JSON',
    has_signing_secret: true,
  });
  assert.equal(byNtfy?.ntfy?.has_token, true);
  const change = (channel: Channel | undefined, body: object) =>
    gateway().call('OWNER', 'PATCH', `${CHANNELS}/${channel?.id}`, body);
  assert.equal(refusal(await change(byMail, { email: { host: 'evil.example' } })), '400 invalid_body');
  assert.equal(refusal(await change(byMail, { email: { encryption: 'STARTTLS' } })), '400 invalid_body');
  assert.equal(
    refusal(await change(byNtfy, { ntfy: { server: 'https://evil.example' } })),
    '400 invalid_body',
  );
  assert.equal(refusal(await change(byNtfy, { kind: 'EMAIL', email: EMAIL })), '400 invalid_body');
  const renamed = await gateway().ok('OWNER', 'PATCH', `${CHANNELS}/${byMail?.id}`, {
    name: 'New',
    email: { to: ['b@example.org'] },
  });
  assert.equal((renamed['notification_channel'] as Channel).email?.has_password, true);
  const moved = await gateway().ok('OWNER', 'PATCH', `${CHANNELS}/${byMail?.id}`, {
    email: { host: 'other.example', password: null },
  });
  assert.equal((moved['notification_channel'] as Channel).email?.has_password, false);
  const seen = JSON.stringify([
    await gateway().ok('INSTALLER', 'GET', CHANNELS),
    await gateway().ok('INSTALLER', 'GET', '/v3/notification_deliveries'),
    await gateway().ok('INSTALLER', 'GET', '/v3/audit'),
    gateway().lines,
  ]);
  for (const secret of secrets) assert.ok(!seen.includes(secret), secret);
  for (const { id } of channels) await gateway().ok('OWNER', 'DELETE', `${CHANNELS}/${id}`);
});

test('the test of a channel reports its result and the reason', async (t) => {
  const server = await startMailServer(t);
  const receiver = await startPostServer(t);
  const channels = {
    mail: await created(mail({ port: server.port })),
    hook: await created(hook({ url: receiver.url })),
  };
  t.after(async () => {
    for (const { id } of Object.values(channels)) await gateway().ok('OWNER', 'DELETE', `${CHANNELS}/${id}`);
  });
  const tried = async ({ id }: Channel): Promise<string> => {
    const { notification_delivery: delivery } = await gateway().ok('OWNER', 'POST', `${CHANNELS}/${id}/test`);
    const { status, error } = delivery as { status: string; error: string | null };
    return `${status} ${error ?? ''}`.trim();
  };
  assert.equal(await tried(channels.mail), 'DELIVERED');
  assert.match(server.mails[0]?.content ?? '', /^Subject: \[Depot\] Test of a notification channel$/m);
  assert.match(server.mails[0]?.content ?? '', /^Auto-Submitted: auto-generated$/m);
  assert.equal(await tried(channels.hook), 'DELIVERED');
  assert.equal((JSON.parse(receiver.posts[0]?.body ?? '{}') as { type: string }).type, 'test');
  server.refusal = '550 no such user';
  assert.equal(
    await tried(channels.mail),
    `FAILED 127.0.0.1:${server.port} refuses the sender or a receiver (550).`,
  );
  receiver.status = 302;
  assert.equal(
    await tried(channels.hook),
    `FAILED 127.0.0.1:${receiver.port} answered 302: it sends elsewhere, which is not followed.`,
  );
  assert.equal(receiver.posts.length, 2);
  await receiver.close();
  assert.equal(await tried(channels.hook), `FAILED Nothing listens at 127.0.0.1:${receiver.port}.`);
  await receiver.listenAgain();
  assert.equal(
    refusal(await gateway().call('OWNER', 'POST', `${CHANNELS}/${channels.hook.id}/test`)),
    '429 too_many_requests',
  );
  const { notification_deliveries: deliveries } = await gateway().ok(
    'OWNER',
    'GET',
    `/v3/notification_deliveries?channel_id=${channels.hook.id}`,
  );
  assert.deepEqual(
    (deliveries as { status: string; kind: string }[]).map(({ kind, status }) => `${kind} ${status}`),
    ['TEST FAILED', 'TEST FAILED', 'TEST DELIVERED'],
  );
});

test('channels are bounded in number', async (t) => {
  const made: Channel[] = [];
  t.after(async () => {
    for (const { id } of made) await gateway().ok('OWNER', 'DELETE', `${CHANNELS}/${id}`);
  });
  for (let count = 0; count < LIMITS.notifications.channels; count++) made.push(await created(mail({})));
  assert.equal(
    refusal(await gateway().call('OWNER', 'POST', CHANNELS, mail({}))),
    '422 notification_channel_limit_reached',
  );
});
