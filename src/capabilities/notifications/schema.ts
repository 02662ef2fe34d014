/** Notification channels and deliveries as they stand on the wire. No secret is ever shown. */
import * as v from 'valibot';
import { plainUrl } from '../../lib/address.ts';
import { LIMITS } from '../../lib/limits.ts';
import { withoutNull } from '../../lib/members.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import { query, shape } from '../../platform/http/index.ts';
import { ALERT_SEVERITIES } from '../alerts/index.ts';
import type { ChannelChange } from './changes.ts';
import { type Channel, CHANNEL_KINDS, ENCRYPTIONS, WEBHOOK_FORMS } from './model.ts';
import { type Delivery, DELIVERY_KINDS, DELIVERY_STATUSES } from './tables.ts';

const { addresses, devicesPerChannel, deliveryItems, secretLength, urlLength } = LIMITS.notifications;

/** A host name or an address; IPv6 without brackets. */
const HOST = /^[A-Za-z0-9]([A-Za-z0-9.:-]{0,251}[A-Za-z0-9])?$/;
const ADDRESS = /^[^\s@<>",;:()[\]\\]{1,64}@[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;
const TOPIC = /^[-_A-Za-z0-9]{1,64}$/;
/** No blank, nothing that would end a header. */
const TOKEN = new RegExp(`^[\\x21-\\x7e]{1,${secretLength}}$`);

const text = (maximum: number) =>
  v.pipe(
    v.string(),
    v.minLength(1, 'must not be empty'),
    v.maxLength(maximum, `must have at most ${maximum} characters`),
    // oxlint-disable-next-line no-control-regex
    v.regex(/^[^\u0000-\u001f\u007f]*$/, 'must have no control characters'),
  );
const secret = (about: string, minimum = 1) =>
  v.nullish(
    v.pipe(
      text(secretLength),
      v.minLength(minimum, `must have at least ${minimum} characters`),
      v.description(`${about} It is never shown again. Absent: as it is; null: none.`),
    ),
  );

const url = (about: string) =>
  v.pipe(
    text(urlLength),
    v.check(
      (input) => plainUrl(input, 'http:', 'https:')?.hash === '',
      'must be an address that begins with http:// or https://, without a name, password or #',
    ),
    v.description(about),
  );

const address = () =>
  v.pipe(v.string(), v.regex(ADDRESS, 'must be a mail address'), v.examples(['anna@example.org']));

const emailBody = v.object({
  host: v.nullish(
    v.pipe(v.string(), v.regex(HOST, 'must be a host name or an address'), v.examples(['smtp.example.org'])),
  ),
  port: v.nullish(shape.about(shape.whole(1, 65_535), 'Default: 587.')),
  encryption: v.nullish(
    shape.about(
      shape.oneOf(ENCRYPTIONS),
      'Default: STARTTLS, and nothing is sent to a server that does not offer it. Port 465 wants TLS.',
    ),
  ),
  username: v.optional(
    shape.about(v.nullable(text(secretLength)), 'Absent: as it is; null: without a login.'),
  ),
  password: secret('Of the user name.'),
  from: v.nullish(address()),
  to: v.nullish(
    v.pipe(
      v.array(address()),
      v.minLength(1, 'must have at least one address'),
      v.maxLength(addresses, `must have at most ${addresses} addresses`),
    ),
  ),
});

const webhookBody = v.object({
  url: v.nullish(url('Asked for by POST. It is never shown again, but its origin.')),
  form: v.nullish(
    shape.about(
      shape.oneOf(WEBHOOK_FORMS),
      'Of the body. Default: that of the chat service at the address, else JSON.',
    ),
  ),
  signing_secret: secret('Key of the header `X-Hub-Signature-256`, HMAC of the body.', 16),
});

const ntfyBody = v.object({
  server: v.nullish(url('Default: that of ntfy.sh.')),
  topic: v.nullish(
    v.pipe(
      v.string(),
      v.regex(TOPIC, 'must have 1 to 64 letters, digits, - or _'),
      v.description('Who knows it reads along, unless the server asks for a token.'),
    ),
  ),
  token: v.nullish(
    v.pipe(
      v.string(),
      v.regex(TOKEN, `must have 1 to ${secretLength} letters, digits and signs`),
      v.description('It is never shown again. Absent: as it is; null: none.'),
    ),
  ),
});

const common = {
  enabled: shape.about(v.nullish(v.boolean()), 'Default: true.'),
  minimum_severity: v.nullish(shape.about(shape.oneOf(ALERT_SEVERITIES), 'Default: warning.')),
  device_ids: v.nullish(
    v.pipe(
      v.array(v.string()),
      v.maxLength(devicesPerChannel, `must have at most ${devicesPerChannel} devices`),
      v.description('Ids or slugs; default: [], which means all.'),
    ),
  ),
  notify_cleared: v.nullish(shape.about(v.boolean(), 'Also tell what is over. Default: true.')),
  email: shape.about(v.nullish(shape.noList(emailBody)), 'Of kind EMAIL.'),
  webhook: shape.about(v.nullish(shape.noList(webhookBody)), 'Of kind WEBHOOK.'),
  ntfy: shape.about(v.nullish(shape.noList(ntfyBody)), 'Of kind NTFY.'),
};

/** A channel as a caller names it, with its secrets. */
export const newChannelBody = v.pipe(
  v.object({
    name: shape.name(),
    kind: shape.oneOf(CHANNEL_KINDS),
    ...common,
  }),
  shape.example({ name: 'Phones', kind: 'NTFY', minimum_severity: 'warning', ntfy: { topic: 'depot-4711' } }),
  v.transform((input): ChannelChange => changeOf(input)),
);

const changeBody = v.object({
  name: v.nullish(shape.name()),
  kind: v.nullish(v.picklist(CHANNEL_KINDS)),
  ...common,
});

export const updateBody = v.pipe(
  changeBody,
  shape.example({ minimum_severity: 'error', device_ids: [] }),
  v.transform((input): ChannelChange => changeOf(input)),
);

function changeOf(input: v.InferOutput<typeof changeBody>): ChannelChange {
  const { name, kind, enabled, minimum_severity, device_ids, notify_cleared, email, webhook, ntfy } = input;
  return {
    ...withoutNull({
      name,
      kind,
      isEnabled: enabled,
      minimumSeverity: minimum_severity,
      deviceIds: device_ids,
      notifiesCleared: notify_cleared,
    }),
    ...(email && { email: withoutNull(email, 'username', 'password') }),
    ...(webhook && {
      webhook: withoutNull(
        { url: webhook.url, form: webhook.form, signingSecret: webhook.signing_secret },
        'signingSecret',
      ),
    }),
    ...(ntfy && { ntfy: withoutNull(ntfy, 'token') }),
  };
}

export const deliveryQuery = v.object({
  channel_id: query.text('Of this channel. Absent: of all.'),
  ...query.page(deliveryItems),
});

const emailShape = v.object({
  host: v.string(),
  port: v.number(),
  encryption: v.picklist(ENCRYPTIONS),
  username: v.nullable(v.string()),
  has_password: v.boolean(),
  from: v.string(),
  to: v.array(v.string()),
});

const ntfyShape = v.object({ server: v.string(), topic: v.string(), has_token: v.boolean() });

const channelShape = shape.named(
  'NotificationChannel',
  v.object({
    id: shape.id(),
    name: v.string(),
    kind: v.picklist(CHANNEL_KINDS),
    enabled: v.boolean(),
    minimum_severity: v.picklist(ALERT_SEVERITIES),
    device_ids: shape.about(v.array(shape.id()), '[]: all.'),
    notify_cleared: v.boolean(),
    email: v.optional(emailShape),
    webhook: v.optional(
      v.object({
        origin: shape.about(v.string(), 'Of its address, which is not shown.'),
        form: v.picklist(WEBHOOK_FORMS),
        has_signing_secret: v.boolean(),
      }),
    ),
    ntfy: v.optional(ntfyShape),
    created_at: shape.instant(),
  }),
  {
    id: '0f7c1c9e-6f0e-4a11-9f57-3a6b1d2e4c55',
    name: 'Service team',
    kind: 'EMAIL',
    enabled: true,
    minimum_severity: 'warning',
    device_ids: [],
    notify_cleared: true,
    email: {
      host: 'smtp.example.org',
      port: 587,
      encryption: 'STARTTLS',
      username: 'gateway',
      has_password: true,
      from: 'gateway@example.org',
      to: ['anna@example.org'],
    },
    created_at: '2026-03-01T08:00:00.123Z',
  },
);

const deliveryShape = shape.named(
  'NotificationDelivery',
  v.object({
    id: shape.about(shape.id(), 'Goes along with the message, the same for each attempt.'),
    channel_id: shape.id(),
    kind: v.picklist(DELIVERY_KINDS),
    status: v.picklist(DELIVERY_STATUSES),
    raised_count: shape.count(),
    cleared_count: shape.count(),
    omitted_count: shape.about(shape.count(), 'What it does not name, because there was too much.'),
    attempts: shape.count(),
    created_at: shape.instant(),
    attempted_at: v.nullable(shape.instant()),
    error: shape.about(
      v.nullable(v.string()),
      'Why the last attempt failed, with what the server said of it, or who of several did not get it.',
    ),
    message: shape.about(
      v.nullable(
        v.object({
          rule: v.object({ id: shape.id(), slug: v.string() }),
          severity: v.picklist(ALERT_SEVERITIES),
          title: v.string(),
          text: v.string(),
        }),
      ),
      'What a rule says by `notify`; null unless of kind RULE.',
    ),
  }),
  {
    id: '9a1f6a52-6a0e-4d0e-9b52-0c6f3f0f7a22',
    channel_id: '0f7c1c9e-6f0e-4a11-9f57-3a6b1d2e4c55',
    kind: 'ALERTS',
    status: 'RETRYING',
    raised_count: 1,
    cleared_count: 0,
    omitted_count: 0,
    attempts: 2,
    created_at: '2026-03-01T08:00:10.000Z',
    attempted_at: '2026-03-01T08:01:10.000Z',
    error: 'Nothing listens at smtp.example.org:587.',
    message: null,
  },
);

export type NotificationChannelOnWire = v.InferOutput<typeof channelShape>;
export type NotificationDeliveryOnWire = v.InferOutput<typeof deliveryShape>;

export const notificationShapes = {
  one: v.object({ notification_channel: channelShape }),
  list: shape.listOf('notification_channels', channelShape),
  delivery: v.object({ notification_delivery: deliveryShape }),
  deliveries: shape.listOf('notification_deliveries', deliveryShape),
};

export function channelToWire(channel: Channel): NotificationChannelOnWire {
  const { password, signingSecret, token } = channel.secrets;
  return {
    ...shape.filled(channelShape, channel),
    device_ids: [...channel.deviceIds],
    notify_cleared: channel.notifiesCleared,
    ...(channel.kind === 'EMAIL' && {
      email: shape.filled(emailShape, { ...channel.settings, hasPassword: password !== undefined }),
    }),
    ...(channel.kind === 'WEBHOOK' && {
      webhook: { ...channel.settings, has_signing_secret: signingSecret !== undefined },
    }),
    ...(channel.kind === 'NTFY' && {
      ntfy: shape.filled(ntfyShape, {
        ...channel.settings,
        server: shownUrl(channel.settings.server),
        hasToken: token !== undefined,
      }),
    }),
  };
}

export const deliveryToWire = (delivery: Delivery): NotificationDeliveryOnWire =>
  shape.filled(deliveryShape, delivery);
