/** A good answer that comes piece by piece: lighter than a `Response`, whose stream takes every piece apart and together. */
export class StreamedAnswer {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Ended early when the caller goes away; when it fails, so does the connection. Each is given away: memory of its own
   * is given back as soon as it is written.
   */
  readonly pieces: AsyncGenerator<Uint8Array>;

  constructor(headers: Readonly<Record<string, string>>, pieces: AsyncGenerator<Uint8Array>) {
    this.headers = headers;
    this.pieces = pieces;
  }
}
