/**
 * Bodies of webhooks. Chat services take a form of their own each; the form JSON has everything for programs, and the members
 * in which Slack, Mattermost and Discord expect a text. Pure.
 */
import type { AlertSeverity } from '../alerts/index.ts';
import type { Message } from './compose.ts';
import type { WebhookForm } from './model.ts';

/** Servers of the services themselves; Mattermost has none. */
const HOSTS: readonly [host: RegExp, form: WebhookForm][] = [
  [/^hooks\.slack\.com$/, 'SLACK'],
  [/^(?:canary\.|ptb\.)?discord(?:app)?\.com$/, 'DISCORD'],
  [/^chat\.googleapis\.com$/, 'GOOGLE_CHAT'],
  [/\.(?:webhook\.office\.com|logic\.azure\.com|api\.powerplatform\.com)$/, 'TEAMS'],
];

/** The form that an address wants; JSON where the server is none of the services. */
export function formOfAddress(url: string): WebhookForm {
  const { hostname } = new URL(url);
  return HOSTS.find(([host]) => host.test(hostname))?.[1] ?? 'JSON';
}

/** Characters of a text that a service takes: Discord says 2 000, Google Chat 4 096, Mattermost 16 383, Slack 40 000. */
const TEXT_MAX = { DISCORD: 2_000, GOOGLE_CHAT: 4_096, MATTERMOST: 16_000, SLACK: 16_000, TEAMS: 16_000 };

/** Separates what a service would read as a mention of everybody. */
const APART = '\u200b';
const COLORS: Record<AlertSeverity, string> = { info: 'Default', warning: 'Warning', error: 'Attention' };

/** Content of the body, before it is written as JSON. */
export function webhookBody(form: WebhookForm, message: Message): Record<string, unknown> {
  const head = `${message.site.name}: ${message.title}`;
  const text = `${head}\n${message.text.trimEnd()}`;
  switch (form) {
    case 'SLACK':
      return { text: cut(escaped(text), TEXT_MAX.SLACK) };
    case 'MATTERMOST':
      return { text: cut(text.replaceAll('@', `@${APART}`), TEXT_MAX.MATTERMOST) };
    case 'DISCORD':
      return discordText(text);
    case 'GOOGLE_CHAT':
      return { text: cut(text.replaceAll('<', `<${APART}`), TEXT_MAX.GOOGLE_CHAT) };
    case 'TEAMS':
      return teamsCard(head, message);
    default:
      return { ...message.json, text: cut(escaped(text), TEXT_MAX.SLACK), ...discordText(text) };
  }
}

/** Nobody is mentioned, whatever the names of alerts hold. */
function discordText(text: string) {
  return { content: cut(text, TEXT_MAX.DISCORD), allowed_mentions: { parse: [] } };
}

/** An adaptive card, as the workflow "when a Teams webhook request is received" takes it. */
function teamsCard(head: string, { text, severity, isOver }: Message): Record<string, unknown> {
  const block = { type: 'TextBlock', wrap: true };
  const color = isOver ? 'Good' : COLORS[severity];
  // A single line break is none in its Markdown.
  const lines = cut(text.trimEnd(), TEXT_MAX.TEAMS).replaceAll('\n', '\n\n');
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.2',
    body: [
      { ...block, text: head, weight: 'Bolder', color },
      { ...block, text: lines },
    ],
  };
  const contentType = 'application/vnd.microsoft.card.adaptive';
  return { type: 'message', attachments: [{ contentType, contentUrl: null, content }] };
}

/** The three characters that Slack reads as marks of its own. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const cut = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text;
