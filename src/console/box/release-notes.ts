/** Release notes of a package: the headings, lists and paragraphs of Markdown; all else stays as it is written. */

type NotesBlock =
  | { kind: 'heading'; text: string; isOfVersion: boolean }
  | { kind: 'list'; items: string[] }
  | { kind: 'paragraph'; text: string };

const HEADING = /^(#+) (.*)$/;
const ITEM = /^[-*] (.*)$/;

export function notesBlocks(markdown: string): NotesBlock[] {
  const blocks: NotesBlock[] = [];
  let isNew = true;
  for (const line of markdown.split('\n').map((text) => text.trim())) {
    const [, marks, heading] = HEADING.exec(line) ?? [];
    const [, item] = ITEM.exec(line) ?? [];
    if (heading !== undefined)
      blocks.push({ kind: 'heading', text: heading, isOfVersion: (marks ?? '').length <= 2 });
    else if (item !== undefined) startItem(blocks, item);
    else if (line !== '') goOn(blocks, line, isNew);
    isNew = line === '' || heading !== undefined;
  }
  return blocks;
}

function startItem(blocks: NotesBlock[], item: string): void {
  const last = blocks.at(-1);
  if (last?.kind === 'list') last.items.push(item);
  else blocks.push({ kind: 'list', items: [item] });
}

/** A line without a mark continues the block above it. */
function goOn(blocks: NotesBlock[], line: string, isNew: boolean): void {
  const last = blocks.at(-1);
  if (isNew || last === undefined || last.kind === 'heading') blocks.push({ kind: 'paragraph', text: line });
  else if (last.kind === 'list') last.items.push(`${last.items.pop() ?? ''} ${line}`);
  else last.text += ` ${line}`;
}
