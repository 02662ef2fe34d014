/**
 * A text that stays the same while the program runs: built when it is first asked for, kept compressed only,
 * and not sent again to a caller that has it (RFC 9110 section 13.1.2).
 */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { acceptsGzip, type Call } from '../http/index.ts';

const compress = promisify(gzip);
const expand = promisify(gunzip);

interface Kept {
  compressed: Buffer;
  /** Weak, because one tag stands for both encodings. */
  tag: string;
}

/** Answers a call with the document. @param headers besides those of type, encoding and validation */
export function createDocument(
  mediaType: string,
  build: () => string | Promise<string>,
  headers: Readonly<Record<string, string>> = {},
): (call: Pick<Call, 'header'>) => Promise<Response> {
  let kept: Promise<Kept> | undefined;

  async function keep(): Promise<Kept> {
    const text = await build();
    const tag = `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
    return { compressed: await compress(text, { level: 9 }), tag };
  }

  return async (call) => {
    const { compressed, tag } = await (kept ??= keep());
    const common = { ...headers, ETag: tag, 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding' };
    if (isKnown(call.header('if-none-match'), tag))
      return new Response(null, { status: 304, headers: common });
    const isCompressed = acceptsGzip(call.header('accept-encoding'));
    const body = isCompressed ? compressed : await expand(compressed);
    return new Response(new Uint8Array(body), {
      headers: {
        ...common,
        'Content-Type': mediaType,
        ...(isCompressed && { 'Content-Encoding': 'gzip' }),
      },
    });
  };
}

function isKnown(header: string | undefined, tag: string): boolean {
  const tags = (header ?? '').split(',').map((each) => each.trim());
  return tags.includes(tag) || tags.includes('*');
}
