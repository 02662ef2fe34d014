/** The content of a picture for those who cannot see it: rows by moment, scrolled by keyboard as well. */
import type { ComponentChildren } from 'preact';

interface TableRow {
  /** Different in each row. */
  key: string | number;
  title: ComponentChildren;
  cells: readonly ComponentChildren[];
}

/** @param name accessible name of the table @param head titles of all columns, that of the rows first */
export function PictureTable({
  name,
  head,
  rows,
}: {
  name: string;
  head: readonly string[];
  rows: readonly TableRow[];
}) {
  return (
    <div class="picture-table" tabIndex={0} role="region" aria-label={name}>
      <table>
        <thead>
          <tr>
            {head.map((title) => (
              <th scope="col" key={title}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, title, cells }) => (
            <tr key={key}>
              <th scope="row">{title}</th>
              {cells.map((cell, index) => (
                <td key={index}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
