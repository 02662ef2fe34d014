/** Sends a message over each kind of channel. */
import { createHmac } from 'node:crypto';
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import { post, sendMail } from '../../platform/outbound/index.ts';
import type { AlertSeverity } from '../alerts/index.ts';
import type { Message } from './compose.ts';
import type { Channel } from './model.ts';
import { webhookBody } from './webhook-forms.ts';

/** Priorities of ntfy; 3 is the usual one, 5 the highest. */
const PRIORITY: Record<AlertSeverity, number> = { info: 3, warning: 4, error: 5 };
const TAG: Record<AlertSeverity, string> = {
  info: 'information_source',
  warning: 'warning',
  error: 'rotating_light',
};

/**
 * Resolves when the receiver has accepted it, with a sentence about those of several receivers that did not.
 * @throws DeliveryError with a sentence; the signal's reason
 */
export async function send(
  channel: Channel,
  message: Message,
  parts: { clock: Clock; limits: Limits['notifications']; signal: AbortSignal },
): Promise<string | undefined> {
  const { clock, signal, limits } = parts;
  const common = { timeoutMs: limits.timeoutMs, signal };
  const { secrets } = channel;
  switch (channel.kind) {
    case 'EMAIL': {
      const { host, port, encryption, username, from, to } = channel.settings;
      const login = username === null ? undefined : { username, password: secrets.password ?? '' };
      return sendMail(
        {
          ...common,
          host,
          port,
          encryption,
          login,
          from: { name: message.site.name, address: from },
          to,
          subject: `[${message.site.name}] ${message.title}`,
          text: message.text,
          messageId: `<${message.id}@energy-gateway.invalid>`,
        },
        clock,
      );
    }
    case 'WEBHOOK': {
      const body = JSON.stringify(webhookBody(channel.settings.form, message));
      await post(
        {
          ...common,
          url: secrets.url ?? channel.settings.origin,
          headers: {
            'Content-Type': 'application/json',
            'User-Agent': 'energy-gateway',
            'Idempotency-Key': message.id,
            ...(secrets.signingSecret !== undefined && {
              'X-Hub-Signature-256': signatureOf(body, secrets.signingSecret),
            }),
          },
          body,
        },
        clock,
      );
      return undefined;
    }
    default:
      await post({ ...common, ...ntfyRequest(channel.settings, secrets.token, message, limits) }, clock);
      return undefined;
  }
}

/** The signature that webhooks of chat services and repositories use. */
function signatureOf(body: string, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

function ntfyRequest(
  { server, topic }: { server: string; topic: string },
  token: string | undefined,
  { site, title, text, severity, isOver }: Message,
  { ntfyTextCharacters }: Limits['notifications'],
) {
  const cut =
    text.length > ntfyTextCharacters ? `${text.slice(0, ntfyTextCharacters).toWellFormed()}…` : text;
  return {
    url: server,
    headers: {
      'Content-Type': 'application/json',
      'User-Agent': 'energy-gateway',
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({
      topic,
      title: `${site.name}: ${title}`,
      message: cut,
      priority: isOver ? PRIORITY.info : PRIORITY[severity],
      tags: [isOver ? 'white_check_mark' : TAG[severity]],
    }),
  };
}
