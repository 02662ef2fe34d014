/** Bodies in the encoding that scripts read: UTF-8 without a byte order mark. */

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** @param contentType the header; a charset that is not known, or none, leaves the bytes as they are */
export function bodyText(body: Buffer, contentType = ''): Buffer {
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1];
  const decoder = charset === undefined ? undefined : decoderOf(charset);
  if (decoder !== undefined) return Buffer.from(decoder.decode(body));
  return body.subarray(0, 3).equals(BYTE_ORDER_MARK) ? body.subarray(3) : body;
}

/** UTF-8 needs none, and bytes that only claim to be UTF-8 stay as they are. */
function decoderOf(charset: string): TextDecoder | undefined {
  try {
    const decoder = new TextDecoder(charset);
    return decoder.encoding === 'utf-8' ? undefined : decoder;
  } catch {
    return undefined;
  }
}
