/**
 * Repairs the head of an answer before Node's parser reads it, which takes no blank before a colon and no second
 * Content-Length. Small devices send both, and what they mean is clear (RFC 9112, 5.1 and 6.3).
 */
import type { Socket } from 'node:net';

/** A head of more bytes goes on as it is. */
const HEAD_BYTES_MAX = 65_536;
const START = 'HTTP/';
const INFORMATION = /^HTTP\/\S+ 1(?!01)/;

/** Reads the next answer of a connection; called once for each request. */
export function repairAnswerHead(socket: Socket): void {
  const push = (bytes: Buffer | null): boolean =>
    (Object.getPrototypeOf(socket) as Socket).push.call(socket, bytes);
  let head: Buffer | undefined = Buffer.alloc(0);
  socket.push = (bytes: Buffer | null): boolean => {
    if (head === undefined) return push(bytes);
    if (bytes === null) {
      if (head.length > 0) push(head);
      return push(null);
    }
    head = Buffer.concat([head, bytes]);
    const text = head.toString('latin1');
    const isHttp = text.startsWith(START.slice(0, text.length));
    const end = isHttp ? /\r?\n\r?\n/.exec(text) : undefined;
    if (end === null && head.length <= HEAD_BYTES_MAX) return true;
    const size = end ? end.index + end[0].length : 0;
    const rest = head.subarray(size);
    // Another head follows one that is for information only.
    head = size > 0 && INFORMATION.test(text) ? Buffer.alloc(0) : undefined;
    const hasRoom = push(Buffer.from(repaired(text.slice(0, size)), 'latin1'));
    return rest.length > 0 ? socket.push(rest) : hasRoom;
  };
}

/** The head with names next to their colons, and with one length where equal ones were repeated. */
function repaired(head: string): string {
  const named = head.replace(/^([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]+:/gm, '$1:');
  const lengths = [...named.matchAll(/^content-length:(.*)$/gim)].flatMap(([, value = '']) =>
    value.split(','),
  );
  const [first = '', ...more] = lengths.map((value) => value.trim());
  if (more.length === 0 || !/^\d+$/.test(first) || more.some((value) => value !== first)) return named;
  let isKept = false;
  return named.replace(/^(content-length:).*(\r?\n)/gim, (_line, name: string, end: string) => {
    if (isKept) return '';
    isKept = true;
    return `${name} ${first}${end}`;
  });
}
