/** The part of package yazl that is used; the package brings no types. */
declare module 'yazl' {
  import type { Readable } from 'node:stream';

  interface EntryOptions {
    mtime: Date;
    mode: number;
    compress: boolean;
    forceDosTimestamp?: boolean;
  }
  export class ZipFile {
    addBuffer(content: Uint8Array, path: string, options: EntryOptions): void;
    addReadStreamLazy(
      path: string,
      options: EntryOptions,
      open: (done: (error: Error | null, stream?: Readable) => void) => void,
    ): void;
    end(): void;
    readonly outputStream: Readable;
    on(event: 'error', listener: (error: Error) => void): this;
  }
}
