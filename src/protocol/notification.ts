/** Messages of rules to people, by `notify` (docs/interface/lua-rules.md#notifications). */

const NOTIFY_SEVERITIES = ['info', 'warning', 'error'] as const;

export interface NotifyParameters {
  title: string;
  text: string;
  severity: (typeof NOTIFY_SEVERITIES)[number];
}

/** The fault of a message, for its script. */
export function notificationFault(
  { title, text, severity }: { title: string; text: string; severity: string },
  limits: { notificationTitleLength: number; notificationTextLength: number },
): string | undefined {
  const { notificationTitleLength: titleMost, notificationTextLength: textMost } = limits;
  if (title.trim() === '') return 'the title is empty';
  if (title.length > titleMost) return `the title has more than ${titleMost} characters`;
  if (text.length > textMost) return `the text has more than ${textMost} characters`;
  const isKnown = (NOTIFY_SEVERITIES as readonly string[]).includes(severity);
  return isKnown ? undefined : `the severity "${severity}" is none of ${NOTIFY_SEVERITIES.join(', ')}`;
}

/** Why one more is refused. */
export const tooManyNotifications = (perHour: number): string =>
  `too many notifications, at most ${perHour} in an hour`;
