/** Messages of rules on the whole gateway: the real sandbox runs the script, a real server gets what it says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import { sent, useNotifications } from './notification-support.ts';
import { WITH_SANDBOX, withRules } from './rule-support.ts';

const { gatherMs, messagesPerChannel } = LIMITS.notifications;
const { notificationsPerHour } = LIMITS.rules;
const { addChannel, addDevice, addWebhook, deliveriesOf, eventually, gatewayOf, pass } =
  useNotifications(WITH_SANDBOX);

/** Runs the script, and waits until its log has the text. */
async function say(slug: string, code: string, text: RegExp): Promise<void> {
  const rules = withRules(gatewayOf());
  await rules.create(slug, code);
  await eventually(async () => (await rules.count(slug, text)) > 0);
}

test('a message that no channel takes is refused with the reason', async (t) => {
  const device = await addDevice(gatewayOf());
  await addChannel(t, { name: 'Errors', kind: 'NTFY', minimum_severity: 'error', ntfy: { topic: 'a' } });
  await addChannel(t, {
    name: 'Of one device',
    kind: 'NTFY',
    minimum_severity: 'info',
    device_ids: [device.id],
    ntfy: { topic: 'a' },
  });
  await say('quiet', `notify('Washed')`, /no notification channel takes messages of severity info/);
});

test('a message reaches a webhook with its rule and severity, behind alerts', async (t) => {
  const { id, server } = await addWebhook(t, { minimum_severity: 'warning' });
  await say('speaking', `notify('Full', 'Two lines\\nof text', 'warning') print('done')`, /^done$/);
  await pass(gatherMs);
  await eventually(() => server.posts.length === 1);
  const [message] = sent(server) as unknown as Record<string, unknown>[];
  const { id: ruleId } = (await gatewayOf().ok('USER', 'GET', '/v3/site/rule_engine/rules/speaking'))[
    'rule'
  ] as { id: string };
  assert.deepEqual(
    [message?.['type'], message?.['title'], message?.['severity'], message?.['rule']],
    ['rule', 'Full', 'warning', { id: ruleId, slug: 'speaking' }],
  );
  assert.match(String(message?.['text']), /: Full\nTwo lines\nof text\n\nSent by the rule speaking\.$/);
  await eventually(async () => (await deliveriesOf(id))[0]?.status === 'DELIVERED');
  const [delivery] = (await deliveriesOf(id)) as unknown as Record<string, unknown>[];
  assert.deepEqual(
    [delivery?.['kind'], delivery?.['message']],
    [
      'RULE',
      {
        rule: { id: ruleId, slug: 'speaking' },
        severity: 'warning',
        title: 'Full',
        text: 'Two lines\nof text',
      },
    ],
  );
});

test('a rule sends a bounded number of messages in an hour, and the next one is refused', async (t) => {
  const { id } = await addWebhook(t, { minimum_severity: 'info' });
  const code = `for number = 1, ${notificationsPerHour + 1} do notify('Number ' .. number) end`;
  await say('talkative', code, new RegExp(`"Number ${notificationsPerHour + 1}" was refused: too many`));
  assert.equal((await deliveriesOf(id)).length, notificationsPerHour);
});

test('messages of a rule survive a dead receiver and a restart; the oldest of too many are given up', async (t) => {
  const gateway = gatewayOf();
  const { id, server } = await addWebhook(t, { minimum_severity: 'info' });
  server.status = 503;
  const rules = Math.ceil((messagesPerChannel + 1) / notificationsPerHour);
  for (let index = 0; index < rules; index++)
    await say(
      `waiting-${index}`,
      `for number = 1, ${notificationsPerHour} do notify('Rule ${index} ' .. number) end print('done')`,
      /^done$/,
    );
  const givenUp = (await deliveriesOf(id)).filter(({ status }) => status === 'FAILED');
  assert.equal(givenUp.length, rules * notificationsPerHour - messagesPerChannel);
  assert.match(givenUp[0]?.error ?? '', /too many newer messages/);
  await gateway.restart();
  server.posts.length = 0;
  server.status = 204;
  await pass(gatherMs);
  await eventually(() => server.posts.length > 0);
  await gateway.ok('OWNER', 'PATCH', `/v3/notification_channels/${id}`, { enabled: false });
  const waiting = (await deliveriesOf(id)).filter(({ status }) => status === 'SENDING');
  assert.deepEqual(waiting, []);
});
