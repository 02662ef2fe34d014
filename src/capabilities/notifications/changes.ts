/** Changes of a channel that a person makes, and the channel that results. Pure. */
import { invalidBody } from '../../lib/errors.ts';
import { defined } from '../../lib/members.ts';
import { changedUrl } from '../../lib/shown-url.ts';
import type { AlertSeverity } from '../alerts/index.ts';
import type {
  Channel,
  ChannelKind,
  EmailSettings,
  NtfySettings,
  Secrets,
  WebhookSettings,
  WebhookForm,
} from './model.ts';
import { formOfAddress } from './webhook-forms.ts';

/** Absent members stay as they are; null removes a secret. */
export interface ChannelChange {
  name?: string | undefined;
  /** Only for a new channel. */
  kind?: ChannelKind | undefined;
  isEnabled?: boolean | undefined;
  minimumSeverity?: AlertSeverity | undefined;
  deviceIds?: readonly string[] | undefined;
  notifiesCleared?: boolean | undefined;
  email?: (Partial<EmailSettings> & { password?: string | null | undefined }) | undefined;
  webhook?:
    | { url?: string | undefined; form?: WebhookForm | undefined; signingSecret?: string | null | undefined }
    | undefined;
  ntfy?: (Partial<NtfySettings> & { token?: string | null | undefined }) | undefined;
}

type Kept<Settings> = { settings: Settings; secrets: Secrets } | undefined;

/** @throws GatewayError invalid_body */
export function newChannel(base: Pick<Channel, 'id' | 'createdAtMs'>, change: ChannelChange): Channel {
  const { kind = 'EMAIL' } = change;
  const fresh = { isEnabled: true, minimumSeverity: 'warning', deviceIds: [], notifiesCleared: true };
  return channelOf({ ...base, name: '', ...fresh }, kind, change, undefined);
}

/** @throws GatewayError invalid_body */
export function changedChannel(before: Channel, change: ChannelChange): Channel {
  if (change.kind !== undefined && change.kind !== before.kind)
    throw invalidBody('kind', 'A channel keeps its kind; make another one.');
  return channelOf(before, before.kind, change, before);
}

function channelOf(base: object, kind: ChannelKind, change: ChannelChange, before: Channel | undefined) {
  requireNoOther(kind, change);
  const { name, isEnabled, minimumSeverity, deviceIds, notifiesCleared } = change;
  const changed = defined({ name, isEnabled, minimumSeverity, deviceIds, notifiesCleared });
  return { ...base, ...changed, ...targetOf(kind, change, before) } as Channel;
}

const MEMBER = { EMAIL: 'email', WEBHOOK: 'webhook', NTFY: 'ntfy' } as const;

function requireNoOther(kind: ChannelKind, change: ChannelChange): void {
  const other = Object.values(MEMBER).find((name) => name !== MEMBER[kind] && change[name] !== undefined);
  if (other !== undefined) throw invalidBody(other, `A channel of kind ${kind} has no "${other}".`);
}

function targetOf(kind: ChannelKind, change: ChannelChange, before: Channel | undefined) {
  const kept = before as Kept<never>;
  switch (kind) {
    case 'EMAIL':
      return { kind, ...email(change.email, kept) };
    case 'WEBHOOK':
      return { kind, ...webhook(change.webhook, kept) };
    default:
      return { kind, ...ntfy(change.ntfy, kept) };
  }
}

/** The password belongs to these. */
const LOGIN = ['host', 'port', 'encryption', 'username'] as const;

function email(change: ChannelChange['email'], before: Kept<EmailSettings>) {
  const { password, ...given } = change ?? {};
  const settings = {
    port: 587,
    encryption: 'STARTTLS',
    username: null,
    ...before?.settings,
    ...defined(given),
  };
  const { host, port, encryption, username, from, to } = settings;
  if (host === undefined || from === undefined || to === undefined)
    throw invalidBody('email', 'A channel of kind EMAIL needs "email" with "host", "from" and "to".');
  const old = before?.settings;
  const isOther = old && username !== null && LOGIN.some((name) => old[name] !== settings[name]);
  const secret = keptSecret('email.password', password, before?.secrets.password, isOther);
  return {
    settings: { host, port, encryption, username, from, to },
    secrets: secret === undefined || username === null ? {} : { password: secret },
  };
}

function webhook(change: ChannelChange['webhook'], before: Kept<WebhookSettings>) {
  const url = change?.url ?? before?.secrets.url;
  if (url === undefined)
    throw invalidBody('webhook', 'A channel of kind WEBHOOK needs "webhook" with "url".');
  // The key is never sent, so another receiver does not get it.
  const key = keptSecret('webhook.signing_secret', change?.signingSecret, before?.secrets.signingSecret);
  return {
    settings: {
      origin: new URL(url).origin,
      form: change?.form ?? before?.settings.form ?? formOfAddress(url),
    },
    secrets: { url, ...(key !== undefined && { signingSecret: key }) },
  };
}

function ntfy(change: ChannelChange['ntfy'], before: Kept<NtfySettings>) {
  const { token, ...given } = change ?? {};
  const { server: named, topic } = { server: 'https://ntfy.sh', ...before?.settings, ...defined(given) };
  const server = changedUrl(before?.settings.server, named, 'ntfy.server');
  if (topic === undefined) throw invalidBody('ntfy', 'A channel of kind NTFY needs "ntfy" with "topic".');
  const isOther = before && before.settings.server !== server;
  const secret = keptSecret('ntfy.token', token, before?.secrets.token, isOther);
  return { settings: { server, topic }, secrets: secret === undefined ? {} : { token: secret } };
}

/** A secret is sent only to the server that it was entered for. */
function keptSecret(
  field: string,
  given: string | null | undefined,
  known: string | undefined,
  isOtherServer = false,
): string | undefined {
  if (given !== undefined) return given ?? undefined;
  if (isOtherServer && known !== undefined)
    throw invalidBody(
      field,
      'The server or its login is another one now: enter the secret again, or null for none.',
    );
  return known;
}
