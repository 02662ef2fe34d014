/**
 * Checks that open files are still in the data folder. Somebody may remove or replace it, or mount a disk over it: open files
 * then live on without a name, and acknowledged data goes into them until the next stop.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { HeldFile, isGone } from '../platform/files/index.ts';
import type { FolderLock } from '../platform/sqlite/index.ts';
import { LIMITS } from '../lib/limits.ts';
import type { GatewayOptions, Infrastructure, StartedHook } from './infrastructure.ts';

/** Checks every few seconds; the first fault is logged, and a restart requested. */
export function watchDataFolder(
  options: GatewayOptions,
  data: Pick<Infrastructure, 'state' | 'history' | 'journalFolder'>,
  lock: FolderLock,
  started: StartedHook,
): void {
  const { config, clock, log, requestRestart } = options;
  const folder = new HeldFile(config.dataDir);
  const { state, history } = data;
  const places: [path: string, isInPlace: () => boolean][] = [
    [folder.path, () => folder.isInPlace],
    [state.path, () => state.isInPlace],
    [`${state.path}-wal`, () => state.isLogInPlace],
    [join(folder.path, 'gateway.lock'), () => lock.isInPlace],
    // The files may be missing while the history is set aside and a new one is begun.
    ...[history.path, data.journalFolder].map((path): [string, () => boolean] => {
      const isGone = goneDetector(path);
      return [path, () => !isGone(history.isOpen)];
    }),
  ];
  const timer = clock.setRepeating(LIMITS.state.placeCheckIntervalMs, () => {
    const amiss = places.find(([, isInPlace]) => !isInPlace())?.[0];
    if (amiss === undefined) return;
    timer.cancel();
    log.error('removed or replaced while the gateway ran; it starts anew on what is there', { path: amiss });
    requestRestart?.(`${amiss} was removed or replaced`);
  });
  started('watch of the data folder', () => timer.cancel());
}

/** For a file that the gateway itself may move and make again: true once it existed and is missing twice in a row. */
function goneDetector(path: string): (isExpected: boolean) => boolean {
  let wasThere = false;
  let wasMissing = false;
  return (isExpected) => {
    wasThere ||= existsSync(path);
    const isMissing = isExpected && wasThere && isGone(path);
    const isMissingTwice = isMissing && wasMissing;
    wasMissing = isMissing;
    return isMissingTwice;
  };
}
