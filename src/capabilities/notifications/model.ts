/** Channels by which people outside are notified of alerts, and what became of each message. */
import type { EpochMs } from '../../lib/time.ts';
import type { AlertSeverity } from '../alerts/index.ts';

/** Who makes channels; they carry what this role may see. */
export const CHANNEL_ROLE = 'OWNER';

export const CHANNEL_TYPES = ['EMAIL', 'WEBHOOK', 'NTFY'] as const;
export type ChannelType = (typeof CHANNEL_TYPES)[number];

export const ENCRYPTIONS = ['TLS', 'STARTTLS', 'NONE'] as const;

export interface EmailSettings {
  /** SMTP server. */
  host: string;
  port: number;
  encryption: (typeof ENCRYPTIONS)[number];
  /** Null: without a login. */
  username: string | null;
  from: string;
  to: string[];
}

interface WebhookSettings {
  /** Of the address; the whole of it is kept as a secret, because paths of chat services are. */
  origin: string;
}

export interface NtfySettings {
  server: string;
  topic: string;
}

/** By the type of the channel. */
export type Settings = EmailSettings | WebhookSettings | NtfySettings;

/** What goes to the server of the channel and is never shown. */
export interface Secrets {
  /** Of EMAIL. */
  password?: string;
  /** Of WEBHOOK: the whole address, and the key of signatures. */
  url?: string;
  signingSecret?: string;
  /** Of NTFY. */
  token?: string;
}

interface Common {
  readonly id: string;
  readonly name: string;
  readonly isEnabled: boolean;
  readonly minimumSeverity: AlertSeverity;
  /** Empty: all. */
  readonly deviceIds: readonly string[];
  /** Whether it also gets alerts that are over. */
  readonly notifiesCleared: boolean;
  readonly secrets: Secrets;
  readonly createdAtMs: EpochMs;
}

export type Channel = Common &
  (
    | { readonly type: 'EMAIL'; readonly settings: EmailSettings }
    | { readonly type: 'WEBHOOK'; readonly settings: WebhookSettings }
    | { readonly type: 'NTFY'; readonly settings: NtfySettings }
  );
