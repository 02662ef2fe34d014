/** HTML from templates in which every value is text unless it was made here. */

/** HTML that is safe to insert as it is. */
export interface Markup {
  readonly markup: string;
}

/** Takes a text as HTML. Only for what this program wrote itself. */
export function markup(text: string): Markup {
  return { markup: text };
}

export function html(parts: TemplateStringsArray, ...values: readonly (string | Markup)[]): Markup {
  return markup(parts.reduce((whole, part, index) => whole + shown(values[index - 1]) + part));
}

export function join(items: readonly Markup[], separator: '\n' | '' = '\n'): Markup {
  return markup(items.map((item) => item.markup).join(separator));
}

function shown(value: string | Markup | undefined): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? escaped(value) : value.markup;
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
