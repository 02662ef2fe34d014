/** Bodies of webhooks, checked against what each service documents. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Message } from '../../../src/capabilities/notifications/compose.ts';
import type { WebhookForm } from '../../../src/capabilities/notifications/model.ts';
import { formOfAddress, webhookBody } from '../../../src/capabilities/notifications/webhook-forms.ts';

const message = (text: string): Message => ({
  id: '9a1f6a52-6a0e-4d0e-9b52-0c6f3f0f7a22',
  site: { id: '3f0c6a52-6a0e-4d0e-9b52-0c6f3f0f7a11', name: 'Depot' },
  title: 'Battery <!channel> & @here',
  text,
  severity: 'error',
  isOver: false,
  json: { type: 'alerts', title: 'Battery' },
});

/** What a service refuses, as its documentation says. */
const JUDGES: Partial<Record<WebhookForm, (body: Record<string, unknown>) => void>> = {
  SLACK: ({ text, ...others }) => {
    assert.deepEqual(others, {});
    assert.ok(typeof text === 'string' && text.length <= 40_000);
    assert.match(text, /&lt;!channel&gt; &amp;/);
  },
  DISCORD: ({ content, allowed_mentions: mentions, ...others }) => {
    assert.deepEqual(others, {});
    assert.ok(typeof content === 'string' && content.length > 0 && content.length <= 2_000);
    assert.deepEqual(mentions, { parse: [] });
  },
  MATTERMOST: ({ text, ...others }) => {
    assert.deepEqual(others, {});
    assert.ok(typeof text === 'string' && text.length <= 16_383);
    assert.doesNotMatch(text, /@here/);
  },
  GOOGLE_CHAT: ({ text, ...others }) => {
    assert.deepEqual(others, {});
    assert.ok(typeof text === 'string' && text.length <= 4_096);
  },
  TEAMS: (body) => {
    assert.ok(Buffer.byteLength(JSON.stringify(body)) <= 28_672);
    assert.partialDeepStrictEqual(body, {
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          content: { type: 'AdaptiveCard', body: [{ type: 'TextBlock' }, { type: 'TextBlock' }] },
        },
      ],
    });
  },
};

describe('a webhook body', () => {
  for (const [form, judge] of Object.entries(JUDGES))
    for (const [size, text] of [
      ['short', 'ERROR  Battery: low\n'],
      ['long', 'ERROR  Battery: low\n'.repeat(5_000)],
    ])
      test(`a webhook body is accepted with a ${size} text in the form ${form}`, () =>
        judge(webhookBody(form as WebhookForm, message(text ?? ''))));

  test('holds the members for programs and the texts that Slack and Discord read in the form JSON', () => {
    const body = webhookBody('JSON', message('ERROR  Battery: low\n'));
    assert.partialDeepStrictEqual(body, { type: 'alerts', title: 'Battery' });
    assert.ok(typeof body['text'] === 'string' && typeof body['content'] === 'string');
  });
});

const addresses: [url: string, form: WebhookForm][] = [
  ['https://hooks.slack.com/services/T0/B0/x', 'SLACK'],
  ['https://discord.com/api/webhooks/1/x', 'DISCORD'],
  ['https://chat.googleapis.com/v1/spaces/A/messages?key=k&token=t', 'GOOGLE_CHAT'],
  ['https://prod-1.westeurope.logic.azure.com/workflows/x', 'TEAMS'],
  ['https://chat.example.org/hooks/x', 'JSON'],
  ['https://slack.com.example.org/x', 'JSON'],
];
for (const [url, form] of addresses)
  test(`the address ${url} proposes the form ${form}`, () => assert.equal(formOfAddress(url), form));
