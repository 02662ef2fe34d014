export { closeServer, listen } from './listen.ts';
export { SocketsByEnds } from './sockets-by-ends.ts';
