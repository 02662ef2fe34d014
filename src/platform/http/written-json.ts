import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** From so many characters on a text is compressed for who offers it. */
const COMPRESSED_FROM = 1_400;
/**
 * M: from so many on it goes out as bytes. A shorter one goes out with its head in one write from the 16 KiB that Node has
 * ready for it, at three bytes a letter; a longer text would have room made for it first.
 */
const BYTES_FROM = 4_500;
const compress = promisify(gzip);

/** An answer whose JSON stands written already, because the same is asked for again and again. */
export class WrittenJson {
  readonly body: string | Buffer;
  #compressed: Promise<Buffer> | undefined;

  /** @param text of the shape that the route tells; nobody checks it */
  constructor(text: string) {
    this.body = text.length < BYTES_FROM ? text : Buffer.from(text);
  }

  /** Undefined when it is too short to gain by it. */
  compressed(): Promise<Buffer> | undefined {
    if (this.body.length < COMPRESSED_FROM) return undefined;
    return (this.#compressed ??= compress(this.body));
  }
}
