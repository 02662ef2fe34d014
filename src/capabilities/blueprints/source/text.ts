/** Bytes of an uploaded file as text. */

/** The text of a UTF-8 file, byte order mark taken off; undefined when it is not UTF-8. */
export function textOfUtf8(content: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
