export { closeServer, listen, SocketsByEnds } from './sockets-by-ends.ts';
