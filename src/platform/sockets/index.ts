export { isOpen } from './is-open.ts';
export { closeServer, listen, SocketsByEnds } from './sockets-by-ends.ts';
