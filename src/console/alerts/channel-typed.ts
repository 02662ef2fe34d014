/** The input of a notification channel's form, and the body that is sent. Pure. */
import type { Channel } from '../shapes.ts';

export type Typed = Readonly<ReturnType<typeof typedOf>>;

export function typedOf(channel: Channel | undefined) {
  const { email, ntfy, webhook } = channel ?? {};
  return {
    kind: channel?.kind ?? 'EMAIL',
    name: channel?.name ?? '',
    severity: channel?.minimum_severity ?? 'warning',
    notifiesCleared: channel?.notify_cleared ?? true,
    deviceIds: (channel?.device_ids ?? []) as readonly string[],
    /** Fields of mail. */
    to: email?.to.join(', ') ?? '',
    from: email?.from ?? '',
    host: email?.host ?? '',
    port: String(email?.port ?? 587),
    encryption: email?.encryption ?? 'STARTTLS',
    username: email?.username ?? '',
    /** Fields of ntfy. */
    server: ntfy?.server ?? 'https://ntfy.sh',
    topic: ntfy?.topic ?? '',
    /** Fields of a webhook. */
    url: '',
    form: webhook?.form ?? '',
    /** Password, token or key; empty: as it is. */
    secret: '',
  };
}

export function bodyOf(typed: Typed, channel: Channel | undefined): Record<string, unknown> {
  return {
    name: typed.name,
    ...(!channel && { kind: typed.kind }),
    minimum_severity: typed.severity,
    notify_cleared: typed.notifiesCleared,
    device_ids: typed.deviceIds,
    ...targetOf(typed),
  };
}

function targetOf(typed: Typed): Record<string, unknown> {
  const secret = typed.secret === '' ? undefined : typed.secret;
  switch (typed.kind) {
    case 'EMAIL':
      return {
        email: {
          host: typed.host.trim(),
          port: Number(typed.port),
          encryption: typed.encryption,
          username: typed.username === '' ? null : typed.username,
          password: secret,
          from: typed.from.trim(),
          to: typed.to
            .split(',')
            .map((address) => address.trim())
            .filter((address) => address !== ''),
        },
      };
    case 'NTFY':
      return { ntfy: { server: typed.server.trim(), topic: typed.topic.trim(), token: secret } };
    default:
      return {
        webhook: {
          url: typed.url.trim() === '' ? undefined : typed.url.trim(),
          form: typed.form === '' ? undefined : typed.form,
          signing_secret: secret,
        },
      };
  }
}
