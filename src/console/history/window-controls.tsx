/** Controls of a chart: length of its time range, earlier and later, zoom, full screen. */
import type { EpochS } from '../../lib/time.ts';
import { gatewayNowMs } from '../gateway-time.ts';
import { Button } from '../ui.tsx';
import { unitOf } from '../period.ts';
import { zone } from '../zone.ts';
import { RANGES, shifted, turned, type Window, zoomed } from './window.ts';
import { say } from '../words/index.ts';

const nowS = (): EpochS => gatewayNowMs() / 1_000;

export function WindowControls({
  window,
  stretch,
  onWindow,
  isFull,
  onFull,
}: {
  window: Window;
  /** As it stands in the address. */
  stretch: string;
  onWindow: (window: string) => void;
  isFull: boolean;
  onFull: () => void;
}) {
  const closer = (): void => onWindow(zoomed(window, 1 / 2, nowS()));
  const wider = (): void => onWindow(zoomed(window, 2, nowS()));
  return (
    <>
      <div class="segments" role="group" aria-label={say.history.range}>
        {RANGES.map((one) => (
          <button
            type="button"
            key={one}
            aria-pressed={one === (unitOf(window.period) ?? stretch)}
            onClick={() => onWindow(turned(window, one, nowS(), zone.value))}
          >
            {say.history[one]}
          </button>
        ))}
      </div>
      <span class="together">
        <Button
          aria-label={say.history.earlier}
          onClick={() => onWindow(shifted(window, -1, nowS(), zone.value))}
        >
          ‹
        </Button>
        <Button
          aria-label={say.history.later}
          disabled={window.isLive}
          onClick={() => onWindow(shifted(window, 1, nowS(), zone.value))}
        >
          ›
        </Button>
      </span>
      <span class="together">
        <Button aria-label={say.history.zoomOut} onClick={wider}>
          −
        </Button>
        <Button aria-label={say.history.zoomIn} onClick={closer}>
          +
        </Button>
        <Button aria-label={isFull ? say.history.leaveFull : say.history.full} onClick={onFull}>
          {isFull ? (
            '✕'
          ) : (
            <svg class="full-sign" viewBox="0 0 24 24" aria-hidden="true">
              <path d="M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5" />
            </svg>
          )}
        </Button>
      </span>
    </>
  );
}
