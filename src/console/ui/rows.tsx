/** The rows of a list. */
import { type ComponentChildren, Fragment } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { openDialogs } from './dialog.tsx';

interface RowsProps<Item> {
  items: readonly Item[];
  keyOf: (item: Item) => string;
  /** One `<li>`. */
  row: (item: Item) => ComponentChildren;
  'data-test'?: string;
}

/** A row deleted elsewhere leaves the list, but not while a dialog of it is open, which would close by itself. */
export function Rows<Item>({ items, keyOf, row, ...rest }: RowsProps<Item>) {
  void openDialogs.value;
  const list = useRef<HTMLUListElement>(null);
  const drawn = useRef<readonly Item[]>([]);
  const keys = new Set(items.map(keyOf));
  const shown = [...items];
  for (const [index, item] of drawn.current.entries())
    if (!keys.has(keyOf(item)) && list.current?.children[index]?.querySelector('dialog[open]'))
      shown.splice(index, 0, item);
  useLayoutEffect(() => {
    drawn.current = shown;
  });
  return (
    <ul class="rows" ref={list} {...rest}>
      {shown.map((item) => (
        <Fragment key={keyOf(item)}>{row(item)}</Fragment>
      ))}
    </ul>
  );
}
