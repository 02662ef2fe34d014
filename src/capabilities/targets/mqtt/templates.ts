/** Templates of topics and payloads: names in braces stand for values of a sample. */

export const TEMPLATE_NAMES = ['site', 'device', 'attribute', 'timestamp', 'value', 'values'] as const;
/** Names in topics of records. */
export const RECORD_NAMES = ['site', 'device', 'content'] as const;
/** Names in topics of commands. */
export const SITE_NAMES = ['site'] as const;
type TemplateName = (typeof TEMPLATE_NAMES)[number] | (typeof RECORD_NAMES)[number];

const NAMES = /\{([a-z_]+)\}/g;

/** Names in braces that are not known. */
export function unknownNames(template: string, names: readonly string[] = TEMPLATE_NAMES): string[] {
  return [...template.matchAll(NAMES)]
    .map(([, name]) => name as string)
    .filter((name) => !names.includes(name));
}

export function filledTemplate(template: string, values: Partial<Record<TemplateName, string>>): string {
  return template.replaceAll(NAMES, (braced, name: string) => values[name as TemplateName] ?? braced);
}

/** A text as one level of a topic: separators and wildcards are replaced. */
export function topicLevel(text: string): string {
  return text.replaceAll(/[/+#\p{Cc}]/gu, '_');
}
