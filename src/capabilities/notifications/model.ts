/** Channels that notify people of alerts and of what rules say. */
import type { EpochMs } from '../../lib/time.ts';
import type { AlertSeverity } from '../alerts/index.ts';

/** Role that manages channels. Channels get what this role may see. */
export const CHANNEL_ROLE = 'OWNER';

export const CHANNEL_KINDS = ['EMAIL', 'WEBHOOK', 'NTFY'] as const;
export type ChannelKind = (typeof CHANNEL_KINDS)[number];

export const ENCRYPTIONS = ['TLS', 'STARTTLS', 'NONE'] as const;

export interface EmailSettings {
  /** SMTP server. */
  host: string;
  port: number;
  encryption: (typeof ENCRYPTIONS)[number];
  /** Null: no login. */
  username: string | null;
  from: string;
  to: string[];
}

/** Forms of the body of a webhook. */
export const WEBHOOK_FORMS = ['JSON', 'SLACK', 'DISCORD', 'MATTERMOST', 'GOOGLE_CHAT', 'TEAMS'] as const;
export type WebhookForm = (typeof WEBHOOK_FORMS)[number];

export interface WebhookSettings {
  /** Origin of the URL. The whole URL is a secret, because the paths of chat services are secret. */
  origin: string;
  form: WebhookForm;
}

export interface NtfySettings {
  server: string;
  topic: string;
}

/** By the kind of the channel. */
export type Settings = EmailSettings | WebhookSettings | NtfySettings;

/** Sent to the server of the channel and never shown. */
export interface Secrets {
  /** Password of EMAIL. */
  password?: string;
  /** URL and signing key of WEBHOOK. */
  url?: string;
  signingSecret?: string;
  /** Token of NTFY. */
  token?: string;
}

/** A message of a rule to people. */
export interface RuleMessage {
  readonly rule: { readonly id: string; readonly slug: string };
  readonly severity: AlertSeverity;
  readonly title: string;
  readonly text: string;
}

interface Common {
  readonly id: string;
  readonly name: string;
  readonly isEnabled: boolean;
  readonly minimumSeverity: AlertSeverity;
  /** Empty: all. */
  readonly deviceIds: readonly string[];
  /** Whether it is also notified of cleared alerts. */
  readonly notifiesCleared: boolean;
  readonly secrets: Secrets;
  readonly createdAtMs: EpochMs;
}

export type Channel = Common &
  (
    | { readonly kind: 'EMAIL'; readonly settings: EmailSettings }
    | { readonly kind: 'WEBHOOK'; readonly settings: WebhookSettings }
    | { readonly kind: 'NTFY'; readonly settings: NtfySettings }
  );
