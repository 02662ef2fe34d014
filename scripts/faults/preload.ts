/**
 * Preloaded into a gateway under test (`--import`): gives it another clock and a slow disk while it runs, as the file
 * named in its own address says, and takes a protection out where a check has to prove that it would notice. Nothing of
 * this is in the product.
 */
import fs, { existsSync, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import type { FaultControl } from './control.ts';

/** As often as this the file is looked at. */
const LOOK_MS = 25;

const file = new URL(import.meta.url).searchParams.get('file') ?? '';
let control: FaultControl = readControl();

function readControl(): FaultControl {
  const nothing: FaultControl = { clockOffsetMs: 0, syncDelayMs: 0, plant: undefined };
  return existsSync(file)
    ? { ...nothing, ...(JSON.parse(readFileSync(file, 'utf8')) as FaultControl) }
    : nothing;
}

function shiftClock(): void {
  const realNow = Date.now.bind(Date);
  Date.now = () => realNow() + control.clockOffsetMs;
}

/** Syncs of files that the gateway asks for itself take longer, or are left out. */
async function takeOverSyncs(): Promise<void> {
  const { fdatasync } = fs;
  const instead = (callback: fs.NoParamCallback, go: () => void): void => {
    if (control.plant === 'sync') setImmediate(() => callback(null));
    else if (control.syncDelayMs > 0) setTimeout(go, control.syncDelayMs);
    else go();
  };
  const delayed = (fd: number, callback: fs.NoParamCallback): void =>
    instead(callback, () => fdatasync(fd, callback));
  fs.fdatasync = delayed as typeof fdatasync;
  if (control.plant === 'sync') fs.fsyncSync = fs.fdatasyncSync = () => undefined;
  syncBuiltinESMExports();
  const handle = await open(file);
  const methods = Object.getPrototypeOf(handle) as {
    datasync: () => Promise<void>;
    sync: () => Promise<void>;
  };
  await handle.close();
  const { datasync } = methods;
  methods.datasync = function (this: object) {
    return new Promise<void>((resolve, reject) => {
      const done = (error: unknown): void => (error === null ? resolve() : reject(error));
      instead(done, () => void datasync.call(this).then(resolve, reject));
    });
  };
  if (control.plant === 'sync') methods.sync = async () => undefined;
}

/** Whoever asks for the lock of the data folder gets it. */
function takeOutLock(): void {
  const Database = createRequire(import.meta.url)('better-sqlite3') as {
    prototype: { name: string; exec: (sql: string) => unknown };
  };
  const { exec } = Database.prototype;
  Database.prototype.exec = function (sql) {
    return this.name.endsWith('gateway.lock') ? this : exec.call(this, sql);
  };
}

/** Messages count as one, whatever their size. */
async function takeOutByteBudget(): Promise<void> {
  const { LIMITS } = await import('../../src/lib/limits.ts');
  Object.assign(LIMITS.mqtt, { countedBytes: Infinity, countedWorkMs: Infinity });
}

shiftClock();
await takeOverSyncs();
if (control.plant === 'lock') takeOutLock();
if (control.plant === 'byte-budget') await takeOutByteBudget();
setInterval(() => (control = readControl()), LOOK_MS).unref();
