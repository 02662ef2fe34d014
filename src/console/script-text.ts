/** Scripts travel as base64 of UTF-8 text. */

export function encodeScript(text: string): string {
  let bytes = '';
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return btoa(bytes);
}

export function decodeScript(code: string): string {
  return new TextDecoder().decode(Uint8Array.from(atob(code), (char) => char.charCodeAt(0)));
}
