/** A field in quotation marks (RFC 4180). */
export const quotedField = (text: string): string => `"${text.replaceAll('"', '""')}"`;

const PLAIN_FIELD = /[^,\n]*/y;

/** Rows of a CSV text (RFC 4180, lines end with LF). @throws Error for a quoted cell that does not end */
export function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at < text.length) {
    let field = '';
    if (text[at] === '"') {
      at += 1;
      for (;;) {
        const quote = text.indexOf('"', at);
        if (quote < 0) throw new Error('a quoted field does not end');
        field += text.slice(at, quote);
        at = quote + 1;
        if (text[at] !== '"') break;
        field += '"';
        at += 1;
      }
    } else {
      PLAIN_FIELD.lastIndex = at;
      field = PLAIN_FIELD.exec(text)?.[0] ?? '';
      at += field.length;
    }
    row.push(field);
    const separator = text[at];
    at += 1;
    if (separator === ',') {
      if (at === text.length) row.push('');
      continue;
    }
    if (separator !== '\n' && separator !== undefined) throw new Error('text after a quoted field');
    rows.push(row);
    row = [];
  }
  if (row.length > 0) rows.push(row);
  return rows;
}
