/** Where the forecast stands: it is read when it comes into sight, so that the start of the page does not wait for it. */
import type { ComponentType } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

const SETTLING_MS = 300;

export function ForecastPlace() {
  const place = useRef<HTMLDivElement>(null);
  const [Card, setCard] = useState<ComponentType | undefined>(undefined);
  useEffect(() => {
    let again: ReturnType<typeof setTimeout> | undefined;
    const sight = new IntersectionObserver((entries) => {
      const found = entries.find(({ isIntersecting }) => isIntersecting);
      if (!found) return;
      sight.disconnect();
      // Content above it does not have its height yet.
      if (found.target.closest('.settling')) {
        again = setTimeout(() => sight.observe(found.target), SETTLING_MS);
        return;
      }
      // Without the file, which an upgrade may have replaced, the page is what it was.
      import('./forecast.tsx').then(
        (part) => setCard(() => part.ForecastCard),
        () => undefined,
      );
    });
    if (place.current) sight.observe(place.current);
    return () => {
      clearTimeout(again);
      sight.disconnect();
    };
  }, []);
  return (
    <div ref={place} data-test="forecast-place">
      {Card && <Card />}
    </div>
  );
}
