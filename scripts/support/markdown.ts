/** Markdown pages of the project: their headings with the anchors that readers cite, and their links. */
import { type Token, type Tokens, Marked } from 'marked';

export interface Heading {
  depth: number;
  /** Without marks. */
  text: string;
  /** What stands behind `#` in a link to it; the same as on GitHub. */
  anchor: string;
}

/** A page taken apart once. */
export interface MarkdownPage {
  tokens: Token[];
  headings: Heading[];
  /** Where links and images lead, as written. */
  targets: string[];
}

const marked = new Marked({ gfm: true });

export function readMarkdown(text: string): MarkdownPage {
  const tokens = marked.lexer(text);
  const headings: Heading[] = [];
  const targets: string[] = [];
  const nextAnchor = anchors();
  const note = (token: Token): void => {
    if (token.type === 'heading') {
      const heading = textOf((token as Tokens.Heading).tokens);
      headings.push({ depth: (token as Tokens.Heading).depth, text: heading, anchor: nextAnchor(heading) });
    } else if (token.type === 'link' || token.type === 'image') targets.push((token as Tokens.Link).href);
  };
  // A visitor that does not wait leaves nothing to wait for.
  void marked.walkTokens(tokens, note);
  return { tokens, headings, targets };
}

/** Gives each heading of a page its anchor: lower case, blanks as `-`, nothing but letters, digits, `-` and `_`. */
export function anchors(): (heading: string) => string {
  const counts = new Map<string, number>();
  return (heading) => {
    const anchor = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
      .replaceAll(' ', '-');
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  };
}

/** What a reader sees of inline tokens. */
export function textOf(tokens: readonly Token[]): string {
  return tokens
    .map((token) =>
      'tokens' in token && token.tokens ? textOf(token.tokens) : 'text' in token ? String(token.text) : '',
    )
    .join('');
}
