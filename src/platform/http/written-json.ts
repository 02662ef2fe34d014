import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** Texts of this many characters or more are compressed for callers that offer it. */
const COMPRESSED_FROM = 1_400;
/**
 * M: texts of this many characters or more go out as bytes. A shorter one goes out with its head in one write from the 16 KiB that Node has
 * ready for it, at three bytes a letter; a longer text would have room made for it first.
 */
const BYTES_FROM = 4_500;
const compress = promisify(gzip);

/** An answer whose JSON is written already, because callers ask for the same again and again. */
export class WrittenJson {
  readonly body: string | Buffer;
  #compressed: Promise<Buffer> | undefined;

  /** @param text of the shape of the route; it is not checked */
  constructor(text: string) {
    this.body = text.length < BYTES_FROM ? text : Buffer.from(text);
  }

  /** Undefined for a text that is too short to gain by it. */
  compressed(): Promise<Buffer> | undefined {
    if (this.body.length < COMPRESSED_FROM) return undefined;
    return (this.#compressed ??= compress(this.body));
  }
}
