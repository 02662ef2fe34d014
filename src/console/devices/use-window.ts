/** Renders only the visible rows of a long list; empty space takes the place of the others. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Further rows above and below, so that scrolling shows no empty space. */
const BEYOND = 6;

export function useWindow<Element extends HTMLElement>(count: number, rowPx: number) {
  const place = useRef<Element>(null);
  const [{ first, last }, setRange] = useState({ first: 0, last: 2 * BEYOND });
  useLayoutEffect(() => {
    const look = (): void => {
      const top = place.current?.getBoundingClientRect().top ?? 0;
      const from = Math.max(0, Math.floor(-top / rowPx) - BEYOND);
      const to = Math.max(Math.ceil((innerHeight - top) / rowPx) + BEYOND, from + 2 * BEYOND);
      setRange((before) =>
        before.first === from && before.last === to ? before : { first: from, last: to },
      );
    };
    look();
    addEventListener('scroll', look, { passive: true });
    addEventListener('resize', look);
    // Content above may change its height.
    const resized = new ResizeObserver(look);
    resized.observe(document.body);
    return () => {
      resized.disconnect();
      removeEventListener('scroll', look);
      removeEventListener('resize', look);
    };
  }, [count, rowPx]);
  const end = Math.max(0, Math.min(count, last));
  const begin = Math.min(first, end);
  return { place, begin, end, beforePx: begin * rowPx, afterPx: (count - end) * rowPx };
}
