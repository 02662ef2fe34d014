/**
 * A drop runs along each flow once when values arrived. It moves by transform and opacity alone, which browsers do
 * without the page's own thread, and only while it can be seen: not in a hidden tab, out of sight, on an untouched
 * page, or with reduced motion.
 */
import { useEffect, useRef } from 'preact/hooks';
import type { DurationMs, EpochMs } from '../../lib/time.ts';

interface Point {
  x: number;
  y: number;
}

/** A quadratic curve, in parts of the width and height of the stage. */
export interface Curve {
  from: Point;
  by: Point;
  to: Point;
}

const RUN_MS: DurationMs = 1_100;
const PAUSE_MS: DurationMs = 9_500;
/** A page that was not touched for so long is taken to be unwatched. */
const UNTOUCHED_MS: DurationMs = 30_000;
/** Positions on the way. More look smoother and cost more. */
const STEPS = 14;
const TOUCHES = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'] as const;

/** Place of the stage, whose `.drop-place` elements are in the order of the curves. @param at time of the values */
export function useDrops(at: string, curves: readonly Curve[]) {
  const stage = useRef<HTMLDivElement>(null);
  const isSeen = useRef(true);
  const touchedAtMs = useRef<EpochMs>(Date.now());
  const ranAtMs = useRef<EpochMs>(0);
  const running = useRef<readonly Animation[]>([]);
  const stop = (): void => {
    for (const animation of running.current) animation.cancel();
    running.current = [];
  };
  useEffect(() => {
    const touched = (): void => {
      touchedAtMs.current = Date.now();
    };
    const hidden = (): void => {
      if (document.visibilityState !== 'visible') stop();
    };
    const sight = new IntersectionObserver((entries) => {
      isSeen.current = entries.at(-1)?.isIntersecting === true;
      if (!isSeen.current) stop();
    });
    if (stage.current) sight.observe(stage.current);
    for (const kind of TOUCHES) document.addEventListener(kind, touched, { passive: true });
    document.addEventListener('visibilitychange', hidden);
    return () => {
      sight.disconnect();
      for (const kind of TOUCHES) document.removeEventListener(kind, touched);
      document.removeEventListener('visibilitychange', hidden);
      stop();
    };
  }, []);
  useEffect(() => {
    const nowMs = Date.now();
    const isWanted =
      isSeen.current &&
      document.visibilityState === 'visible' &&
      nowMs - touchedAtMs.current < UNTOUCHED_MS &&
      nowMs - ranAtMs.current >= PAUSE_MS &&
      !matchMedia('(prefers-reduced-motion: reduce)').matches;
    if (!isWanted) return;
    ranAtMs.current = nowMs;
    // After the clock was set forward those of before may still run.
    stop();
    const places = stage.current?.querySelectorAll<HTMLElement>('.drop-place') ?? [];
    running.current = [...places].flatMap((place, index) => {
      const curve = curves[index];
      if (!curve) return [];
      return place.animate(framesOf(curve), { duration: RUN_MS, easing: `steps(${STEPS})` });
    });
  }, [at]);
  return stage;
}

/** A place is as large as the stage, so that parts of it are percents of its own size. */
function framesOf({ from, by, to }: Curve): Keyframe[] {
  return Array.from({ length: STEPS + 1 }, (_, step) => {
    const t = step / STEPS;
    const on = (axis: 'x' | 'y'): string =>
      `${(100 * ((1 - t) ** 2 * from[axis] + 2 * t * (1 - t) * by[axis] + t ** 2 * to[axis])).toFixed(2)}%`;
    return {
      transform: `translate(${on('x')}, ${on('y')})`,
      opacity: step === 0 || step === STEPS ? 0 : 1,
    };
  });
}
