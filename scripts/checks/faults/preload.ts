/**
 * Preloaded into a gateway under test (`--import`): gives it another clock and a slow disk while it runs, as the file
 * named in its own address says, and takes a protection out where a check has to prove that it would notice. Nothing of
 * this is in the product.
 */
import fs, { existsSync, readFileSync } from 'node:fs';
import http from 'node:http';
import promises, { open } from 'node:fs/promises';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';
import type { FaultControl } from './control.ts';

/** As often as this the file is looked at. */
const LOOK_MS = 25;

const file = new URL(import.meta.url).searchParams.get('file') ?? '';
let control: FaultControl = readControl();

function readControl(): FaultControl {
  const nothing: FaultControl = { clockOffsetMs: 0, syncDelayMs: 0, plants: [] };
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
    if (control.plants.includes('sync')) setImmediate(() => callback(null));
    else if (control.syncDelayMs > 0) setTimeout(go, control.syncDelayMs);
    else go();
  };
  const delayed = (fd: number, callback: fs.NoParamCallback): void =>
    instead(callback, () => fdatasync(fd, callback));
  fs.fdatasync = delayed as typeof fdatasync;
  if (control.plants.includes('sync')) fs.fsyncSync = fs.fdatasyncSync = () => undefined;
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
  if (control.plants.includes('sync')) methods.sync = async () => undefined;
}

/** Files that the gateway asks for itself; those of SQLite are its own. */
function refuseFiles(): void {
  const isRefused = (path: unknown): boolean =>
    control.refusedPath !== undefined && String(path).startsWith(control.refusedPath);
  const fault = (path: unknown): Error => {
    const code = control.refusedWith ?? 'EIO';
    return Object.assign(new Error(`${code}: refused, ${String(path)}`), { code, path });
  };
  for (const name of ['readFileSync', 'openSync', 'statSync', 'statfsSync', 'readdirSync'] as const) {
    const given = fs[name] as (path: unknown, ...rest: unknown[]) => unknown;
    const refusing = (path: unknown, ...rest: unknown[]): unknown => {
      if (isRefused(path)) throw fault(path);
      return given(path, ...rest);
    };
    Object.assign(fs, { [name]: refusing });
  }
  const { existsSync: exists } = fs;
  fs.existsSync = (path) => !isRefused(path) && exists(path);
  const { open: openFile } = promises;
  promises.open = (path, ...rest) =>
    isRefused(path) ? Promise.reject(fault(path)) : openFile(path, ...rest);
  syncBuiltinESMExports();
}

/** Gives the lock of the data folder to every caller. */
function takeOutLock(): void {
  const Database = createRequire(import.meta.url)('better-sqlite3') as {
    prototype: { name: string; exec: (sql: string) => unknown };
  };
  const { exec } = Database.prototype;
  Database.prototype.exec = function (sql) {
    return this.name.endsWith('gateway.lock') ? this : exec.call(this, sql);
  };
}

/** A request whose connection closes without an answer gets no error and waits for ever. */
function takeOutCallLimit(): void {
  const prototype = http.ClientRequest.prototype as unknown as {
    on: (name: string, listener: () => void) => unknown;
  };
  const { on } = prototype;
  prototype.on = function (name, listener) {
    return name === 'close' ? this : on.call(this, name, listener);
  };
}

/** Node's own parser stays on the connections of HTTP, and takes all requests of a read at once. */
function takeOutRequestFeed(): void {
  const prototype = Socket.prototype as unknown as {
    server?: unknown;
    listeners: (name: string) => unknown[];
    off: (name: string, listener: () => void) => unknown;
  };
  const { listeners, off } = prototype;
  const isParsed = (socket: { server?: unknown }, name: string): boolean =>
    name === 'data' && socket.server instanceof http.Server;
  prototype.listeners = function (name) {
    return isParsed(this, name) ? [] : listeners.call(this, name);
  };
  prototype.off = function (name, listener) {
    return isParsed(this, name) ? this : off.call(this, name, listener);
  };
}

shiftClock();
await takeOverSyncs();
refuseFiles();
if (control.plants.includes('lock')) takeOutLock();
if (control.plants.includes('call-limit')) takeOutCallLimit();
if (control.plants.includes('request-feed')) takeOutRequestFeed();
setInterval(() => (control = readControl()), LOOK_MS).unref();
