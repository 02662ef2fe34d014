/** Where sources cite pages of the project, and where pages link to each other: what leads nowhere. */
import { posix } from 'node:path';
import { type MarkdownPage, readMarkdown } from '../../scripts/support/markdown.ts';
import { lineAt, type SourceFile } from './source-files.ts';

/** A page of the project with, perhaps, a heading of it: `docs/interface/http.md#commands`. */
const CITATION = /((?:[\w.-]+\/)*[\w-]+\.md)\b(?:#([\w-]+))?/g;
/** A heading named in another way, which nobody can follow by a key stroke. */
const IN_WORDS = /^(?:,? "|,? (?:sections?|chapters?) \d|,? \d)/;
const DECISION = /\bdecisions? (\d+)\b/gi;

/** Faults of the project's citations and links, as `path:line: what`. */
export class Citations {
  readonly #files: ReadonlySet<string>;
  readonly #pages = new Map<string, MarkdownPage>();
  readonly #textOf: (path: string) => string;

  /** @param files paths of all files; `textOf` reads one */
  constructor(files: readonly string[], textOf: (path: string) => string) {
    this.#files = new Set(files);
    this.#textOf = textOf;
  }

  /** Citations in the comments of a source and the names of its tests. */
  ofSource(source: Pick<SourceFile, 'path' | 'text' | 'code' | 'comments' | 'strings'>): string[] {
    const titles = source.strings.filter(({ index }) =>
      /\b(?:test|describe|it)\($/.test(source.code.slice(Math.max(0, index - 12), index)),
    );
    return [...source.comments, ...titles].flatMap(({ index, value }) =>
      [...this.#pagesNamed(source.path, value), ...this.#decisionsNamed(value)].map(
        (fault) => `${source.path}:${lineAt(source.text, index + fault.index)}: ${fault.message}`,
      ),
    );
  }

  /** Links of a page. */
  ofPage(path: string): string[] {
    return this.#page(path).targets.flatMap((target) => {
      if (/^[a-z]+:/.test(target)) return [];
      const [file = '', anchor] = target.split('#', 2);
      const page = file === '' ? path : posix.join(posix.dirname(path), file);
      const fault = this.#fault(page, anchor);
      return fault === undefined ? [] : [`${path}: ${target} leads nowhere: ${fault}`];
    });
  }

  *#pagesNamed(path: string, text: string): Iterable<{ index: number; message: string }> {
    for (const match of text.matchAll(CITATION)) {
      const [whole, name = '', anchor] = match;
      const beside = posix.join(posix.dirname(path), name);
      const fault = this.#fault(this.#files.has(beside) ? beside : name, anchor);
      if (fault !== undefined) yield { index: match.index, message: `${whole} leads nowhere: ${fault}` };
      else if (IN_WORDS.test(text.slice(match.index + whole.length)))
        yield { index: match.index, message: `${whole} names its heading in words: write ${name}#heading` };
    }
  }

  *#decisionsNamed(text: string): Iterable<{ index: number; message: string }> {
    for (const match of text.matchAll(DECISION)) {
      const start = `docs/decisions/${match[1] ?? ''}-`;
      if (match[1]?.length !== 4 || ![...this.#files].some((path) => path.startsWith(start)))
        yield { index: match.index, message: `there is no ${start}…, which "${match[0]}" stands for` };
    }
  }

  #fault(path: string, anchor: string | undefined): string | undefined {
    const folder = `${path.replace(/\/$/, '')}/`;
    if (!this.#files.has(path) && ![...this.#files].some((each) => each.startsWith(folder)))
      return `there is no ${path}`;
    if (anchor === undefined) return undefined;
    const anchors = this.#page(path).headings.map((heading) => heading.anchor);
    return anchors.includes(anchor) ? undefined : `${path} has no heading #${anchor}`;
  }

  #page(path: string): MarkdownPage {
    const known = this.#pages.get(path) ?? readMarkdown(this.#textOf(path));
    this.#pages.set(path, known);
    return known;
  }
}
