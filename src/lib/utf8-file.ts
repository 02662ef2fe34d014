/** Text files as other people's machines write them: with a byte order mark, or in UTF-16. */

/** In UTF-8 and without a byte order mark; what has no mark stays as it is. */
export function asUtf8(content: Buffer): Buffer {
  const [first, second, third] = content;
  if (first === 0xef && second === 0xbb && third === 0xbf) return content.subarray(3);
  if (first === 0xff && second === 0xfe) return Buffer.from(content.subarray(2).toString('utf16le'));
  if (first !== 0xfe || second !== 0xff || content.length % 2 !== 0) return content;
  return Buffer.from(Buffer.from(content.subarray(2)).swap16().toString('utf16le'));
}
