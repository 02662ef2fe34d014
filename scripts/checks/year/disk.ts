/**
 * The disk of a simulated box: the calls of this process are taken over, whoever makes them. No power is cut here, so
 * nothing is waited for until it lies on the medium.
 */
import fs from 'node:fs';
import { open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { devNull } from 'node:os';

export interface SimulatedDisk {
  /** No byte is left: files written beside the databases do not grow, and the system says so. */
  isFull: boolean;
  /** Syncs of state.db fail. */
  isFailing: boolean;
  syncFile: () => Promise<void>;
  /** Gives the calls back. */
  restore: () => void;
}

export async function takeOverDisk(): Promise<SimulatedDisk> {
  const handle = await open(devNull);
  const methods = Object.getPrototypeOf(handle) as {
    write: (...parameters: unknown[]) => Promise<unknown>;
    datasync: () => Promise<void>;
  };
  await handle.close();
  const { write, datasync } = methods;
  const { statfsSync } = fs;
  const failure = (code: string): Error => Object.assign(new Error(`${code}: injected`), { code });
  const disk: SimulatedDisk = {
    isFull: false,
    isFailing: false,
    syncFile: async () => {
      if (disk.isFailing) throw failure('EIO');
    },
    restore: () => {
      Object.assign(methods, { write, datasync });
      fs.statfsSync = statfsSync;
      syncBuiltinESMExports();
    },
  };
  methods.write = function (this: object, ...parameters) {
    return disk.isFull ? Promise.reject(failure('ENOSPC')) : write.apply(this, parameters);
  };
  methods.datasync = async () => undefined;
  fs.statfsSync = ((path: string) => {
    const room = statfsSync(path);
    return disk.isFull ? Object.assign(room, { bavail: 0, bfree: 0 }) : room;
  }) as typeof statfsSync;
  syncBuiltinESMExports();
  return disk;
}
