/**
 * Whether what is stored still lies in the data folder. Somebody may remove or replace it, or mount a disk over it: the
 * files that are open live on without a name, and what is acknowledged goes into them until the next stop.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { HeldFile, isGone } from '../platform/files/index.ts';
import type { FolderLock } from '../platform/sqlite/index.ts';
import { LIMITS } from '../lib/limits.ts';
import type { GatewayOptions, Infrastructure, StartedHook } from './infrastructure.ts';

/** Looks every few seconds; what is amiss is told, and a new start asked for, once. */
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
    // While history is set aside and begun anew, its files may be missing.
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

/** For a file that the gateway itself may put elsewhere and make anew: true once it was there and is missing twice in a row. */
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
