/** The part of package yazl that is used; the package brings no types. */
declare module 'yazl' {
  export class ZipFile {
    addBuffer(
      content: Uint8Array,
      path: string,
      options: { mtime: Date; mode: number; compress: boolean; forceDosTimestamp: boolean },
    ): void;
    end(): void;
    readonly outputStream: AsyncIterable<Uint8Array>;
  }
}
