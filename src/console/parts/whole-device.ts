/** The device that a page shows. */
import { computed } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { type LiveDevice, loadDevice, statusVersion, watchAll, watchValues } from '../live.ts';
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
  const read = useRef<{ live: LiveDevice; blueprintId: string } | undefined>(undefined);
  const answered = useAnswer(async (): Promise<LiveDevice | undefined> => {
    const name = await find();
    if (name === undefined) return undefined;
    const live = await loadDevice(name);
    read.current = { live, blueprintId: live.device.blueprint_id };
    const names = Object.keys(live.manifest?.telemetry ?? {});
    if (!isLeft.current) await watchValues(new Map([[live.device.id, names]]), 'these');
    return live;
  }, keys);
  const isOther = useMemo(
    () =>
      computed(() => {
        void statusVersion.value;
        return (
          read.current !== undefined && read.current.live.device.blueprint_id !== read.current.blueprintId
        );
      }),
    [],
  );
  // Another blueprint has other values.
  useEffect(() => void (isOther.value && answered.follow()), [isOther.value]);
  return answered;
}

/**
 * The device and its manifest as they are now. What is read of it otherwise stays as it was: a component that uses
 * signals is drawn again for its own alone.
 */
export const useDevice = (live: LiveDevice): Pick<LiveDevice, 'device' | 'manifest'> => ({
  device: usePart(live, ({ device }) => device),
  manifest: usePart(live, ({ manifest }) => manifest),
});

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
