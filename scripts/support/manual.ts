/**
 * The manual: the pages of `docs/` as HTML that the gateway serves at `/docs/manual`, without the internet and
 * without a script. Links between pages lead to pages; those to other files of the project are text.
 */
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Marked, type Tokens } from 'marked';
import { anchors, type Heading, readMarkdown, textOf } from './markdown.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** Where the pages are served. */
const ADDRESS = '/docs/manual';
const STYLE = 'manual.css';
/** Pictures of its pages, in `docs/` and below its address. */
const PICTURES = 'pictures';

/** Chapters of the manual, in their order, with the pages that belong to them. */
const CHAPTERS: readonly { name: string; holds: (path: string) => boolean }[] = [
  { name: 'The interface', holds: (path) => path.startsWith('docs/interface/') },
  { name: 'Guides', holds: (path) => /^docs\/[^/]+\.md$/.test(path) },
  { name: 'Monitoring', holds: (path) => path.startsWith('docs/monitoring/') },
  { name: 'Samples', holds: (path) => path.startsWith('docs/samples/') },
  { name: 'Decisions', holds: (path) => path.startsWith('docs/decisions/') },
  { name: 'Beside', holds: (path) => !path.startsWith('docs/') },
];

/** Pages outside of `docs/` that it leads to. */
const BESIDE = ['CHANGELOG.md', 'src/telemetry-store/FORMAT.md'];

interface Page {
  /** In the project. */
  path: string;
  /** Below the address of the manual. */
  name: string;
  text: string;
  title: string;
  headings: Heading[];
}

/** Writes the manual into the folder, each file with its compressed form; returns the names of its pages. */
export function buildManual(folder: string): string[] {
  const pages = manualPages();
  const write = (name: string, text: string): void => {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    writeFileSync(`${path}.gz`, gzipSync(text, { level: 9 }));
  };
  for (const page of pages.values())
    write(page.name, wholePage(page.title, bodyOf(page, pages), pages, page));
  write('index.html', wholePage('Manual', contents(pages), pages));
  write(STYLE, readFileSync(join(import.meta.dirname, STYLE), 'utf8'));
  cpSync(join(ROOT, 'docs', PICTURES), join(folder, PICTURES), { recursive: true });
  return [...pages.values()].map(({ name }) => name);
}

function manualPages(): Map<string, Page> {
  const found = globSync('docs/**/*.md', { cwd: ROOT }).map((path) => path.replaceAll('\\', '/'));
  return new Map(
    [...found.toSorted(byReading), ...BESIDE].map((path) => {
      const text = readFileSync(join(ROOT, path), 'utf8');
      const { headings } = readMarkdown(text);
      const name = `${path.replace(/^docs\//, '').replace(/\.md$/, '')}.html`;
      return [path, { path, name, text, headings, title: headings[0]?.text ?? path }];
    }),
  );
}

/** The overview of a folder first. */
function byReading(a: string, b: string): number {
  const keyOf = (path: string): string => path.replace(/README\.md$/, '');
  return keyOf(a) < keyOf(b) ? -1 : 1;
}

function bodyOf(page: Page, pages: ReadonlyMap<string, Page>): string {
  const nextAnchor = anchors();
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth }: Tokens.Heading) {
        const id = nextAnchor(textOf(tokens));
        const inner = this.parser.parseInline(tokens);
        return depth === 1
          ? `<h1 id="${id}">${inner}</h1>\n`
          : `<h${depth} id="${id}"><a href="#${id}">${inner}</a></h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        const inner = this.parser.parseInline(tokens);
        const address = addressOf(href, page, pages);
        return address === undefined ? inner : `<a href="${escaped(address)}">${inner}</a>`;
      },
      image({ href, text }: Tokens.Image) {
        const path = posix.relative('docs', posix.join(posix.dirname(page.path), href));
        return `<img src="${escaped(`${ADDRESS}/${path}`)}" alt="${escaped(text)}" loading="lazy">`;
      },
    },
  });
  return marked.parse(page.text, { async: false });
}

/** Undefined: the file is not part of the manual. */
function addressOf(href: string, page: Page, pages: ReadonlyMap<string, Page>): string | undefined {
  if (/^(?:https?:|#)/.test(href)) return href;
  const [path = '', anchor] = href.split('#', 2);
  const target = pages.get(posix.join(posix.dirname(page.path), path));
  if (target === undefined) return undefined;
  return `${ADDRESS}/${target.name}${anchor === undefined ? '' : `#${anchor}`}`;
}

function contents(pages: ReadonlyMap<string, Page>): string {
  const chapters = chaptersOf(pages).map(
    ({ name, pages: own }) =>
      `<h2>${name}</h2>\n<ul>${own.map((page) => `<li>${linkTo(page)}</li>`).join('')}</ul>\n`,
  );
  return `<h1>Manual</h1>
<p>Every operation with its fields: <a href="/docs">reference</a>. For programs: <a href="/v3/openapi.json">OpenAPI</a>,
and for devices <a href="/v3/asyncapi.json">AsyncAPI</a>.</p>
${chapters.join('')}`;
}

function chaptersOf(pages: ReadonlyMap<string, Page>): { name: string; pages: Page[] }[] {
  return CHAPTERS.map(({ name, holds }) => ({
    name,
    pages: [...pages.values()].filter(({ path }) => holds(path)),
  }));
}

function linkTo({ name, title }: Page, current?: Page): string {
  const mark = current?.name === name ? ' aria-current="page"' : '';
  return `<a href="${ADDRESS}/${name}"${mark}>${escaped(title)}</a>`;
}

function wholePage(title: string, body: string, pages: ReadonlyMap<string, Page>, current?: Page): string {
  const sections = (current?.headings ?? []).filter(({ depth }) => depth === 2);
  const inPage = `<ul>${sections.map(({ anchor, text }) => `<li><a href="#${anchor}">${escaped(text)}</a></li>`).join('')}</ul>`;
  const menu = chaptersOf(pages).map(({ name, pages: own }) => {
    const entries = own.map(
      (page) => `<li>${linkTo(page, current)}${page.name === current?.name ? inPage : ''}</li>`,
    );
    return `<h2>${name}</h2><ul>${entries.join('')}</ul>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} – Energy gateway</title>
<link rel="stylesheet" href="${ADDRESS}/${STYLE}">
</head>
<body>
<header>
<a class="name" href="${ADDRESS}">Energy gateway manual</a>
<a href="/docs">Reference</a> <a href="/">Console</a>
<input type="checkbox" id="menu" aria-label="Show the list of pages"><label for="menu">Pages</label>
</header>
<div class="page">
<nav aria-label="Pages">${menu.join('')}</nav>
<main>
${body}</main>
</div>
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
