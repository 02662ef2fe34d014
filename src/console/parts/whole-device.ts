/** The device that a page shows. */
import { computed } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { type LiveDevice, loadDevice, watchAll, watchValues } from '../live.ts';
import { useAnswer } from '../ui.tsx';

/** Reads a device with all its values; while it is shown, no other devices are watched. @param find its id or slug */
export function useWholeDevice(find: () => Promise<string | undefined>, keys: readonly unknown[]) {
  const isLeft = useRef(false);
  useEffect(
    () => () => {
      isLeft.current = true;
      watchAll();
    },
    [],
  );
  return useAnswer(async (): Promise<LiveDevice | undefined> => {
    const name = await find();
    if (name === undefined) return undefined;
    const live = await loadDevice(name);
    const names = Object.keys(live.manifest?.telemetry ?? {});
    if (!isLeft.current) await watchValues(new Map([[live.device.id, names]]), 'these');
    return live;
  }, keys);
}

/**
 * A part of a device, for components that need not be drawn again for other changes: a device may send thousands of
 * values a few times a second. @param of names what `look` depends on
 */
export function usePart<Part>(live: LiveDevice, look: (live: LiveDevice) => Part, of = ''): Part {
  const part = useMemo(
    () =>
      computed(() => {
        void live.version.value;
        return look(live);
      }),
    [live, of],
  );
  return part.value;
}
