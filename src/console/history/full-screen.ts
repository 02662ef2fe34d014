/** A part of a page over all else, in the full screen of the browser where it has one. */
import { useEffect, useRef, useState } from 'preact/hooks';

export function useFullScreen() {
  const place = useRef<HTMLDivElement>(null);
  const [isFull, setFull] = useState(false);
  useEffect(() => {
    if (!isFull) return undefined;
    const ending = new AbortController();
    const { signal } = ending;
    addEventListener('keydown', ({ key }) => key === 'Escape' && setFull(false), { signal });
    document.addEventListener('fullscreenchange', () => document.fullscreenElement ?? setFull(false), {
      signal,
    });
    // Phones of Apple have none, and a page in a frame may be refused it.
    void place.current?.requestFullscreen?.().catch(() => undefined);
    return () => {
      ending.abort();
      if (document.fullscreenElement) void document.exitFullscreen();
    };
  }, [isFull]);
  return { place, isFull, toggle: () => setFull(!isFull) };
}
