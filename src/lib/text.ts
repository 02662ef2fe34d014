/** Texts of bounded size. */

/** UTF-8 of `text`; half of a surrogate pair becomes U+FFFD, as every encoder would make it. */
function encode(text: string): Buffer {
  return Buffer.from(text, 'utf8');
}

/** The longest beginning of `text` whose UTF-8 has at most `bytesMax` bytes; never ends within a character. */
export function cutToBytes(text: string, bytesMax: number): string {
  // A UTF-16 unit has at most three bytes in UTF-8, so most texts need no encoding.
  if (text.length * 3 <= bytesMax) return text;
  const bytes = encode(text);
  if (bytes.length <= bytesMax) return text;
  let end = bytesMax;
  // Continuation bytes are 10xxxxxx (RFC 3629): step back to the first byte of the character that is cut.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}
