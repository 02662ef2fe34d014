import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** From so many characters on a text is compressed for who offers it, and goes out as bytes. */
const LONG_FROM = 1_400;
const compress = promisify(gzip);

/** An answer whose JSON stands written already, because the same is asked for again and again. */
export class WrittenJson {
  /** Bytes of a long one: Node would put a text behind the head first, and make room for three bytes a letter. */
  readonly body: string | Buffer;
  #compressed: Promise<Buffer> | undefined;

  /** @param text of the shape that the route tells; nobody checks it */
  constructor(text: string) {
    this.body = text.length < LONG_FROM ? text : Buffer.from(text);
  }

  /** Undefined when it is too short to gain by it. */
  compressed(): Promise<Buffer> | undefined {
    if (typeof this.body === 'string') return undefined;
    return (this.#compressed ??= compress(this.body));
  }
}
