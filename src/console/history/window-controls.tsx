/** Controls of a chart's time range: length, earlier and later, zoom. */
import type { EpochS } from '../../lib/time.ts';
import { gatewayNowMs } from '../gateway-time.ts';
import { Button } from '../ui.tsx';
import { RANGES, shifted, type Window, zoomed } from './window.ts';
import { say } from '../words/index.ts';

const nowS = (): EpochS => gatewayNowMs() / 1_000;

export function WindowControls({
  window,
  stretch,
  onWindow,
}: {
  window: Window;
  /** As it stands in the address. */
  stretch: string;
  onWindow: (window: string) => void;
}) {
  const closer = (): void => onWindow(zoomed(window, 1 / 2, nowS()));
  const wider = (): void => onWindow(zoomed(window, 2, nowS()));
  return (
    <>
      <div class="segments" role="group" aria-label={say.history.range}>
        {RANGES.map((one) => (
          <button
            type="button"
            key={one.name}
            aria-pressed={one.name === stretch}
            onClick={() => onWindow(one.name)}
          >
            {one.text}
          </button>
        ))}
      </div>
      <span class="together">
        <Button aria-label={say.history.earlier} onClick={() => onWindow(shifted(window, -1, nowS()))}>
          ‹
        </Button>
        <Button
          aria-label={say.history.later}
          disabled={window.isLive}
          onClick={() => onWindow(shifted(window, 1, nowS()))}
        >
          ›
        </Button>
        <Button aria-label={say.history.zoomOut} onClick={wider}>
          −
        </Button>
        <Button aria-label={say.history.zoomIn} onClick={closer}>
          +
        </Button>
      </span>
    </>
  );
}
