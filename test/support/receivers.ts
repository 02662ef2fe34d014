/** Servers that take notifications, as small as they can be: SMTP, and HTTP for webhooks and ntfy. */
import { createServer as createHttpServer, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

export interface ReceivedMail {
  from: string;
  to: string[];
  /** Head and body as they came. */
  content: string;
}

export interface MailServer {
  port: number;
  mails: ReceivedMail[];
  /** What it answers to RCPT instead of 250. */
  refusal: string | undefined;
  /** The only one that it refuses so; undefined: everybody. */
  refusedReceiver: string | undefined;
}

export interface ReceivedPost {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface PostServer {
  port: number;
  url: string;
  posts: ReceivedPost[];
  /** Status of its answers. */
  status: number;
  /** It takes requests and never answers. */
  isSilent: boolean;
  /** Nobody listens any more; the port stays known. */
  close: () => Promise<void>;
  listenAgain: () => Promise<void>;
}

type Ends = Pick<TestContext, 'after'>;

/** RFC 5321 as far as a client needs it: one connection after the other, without encryption. */
export async function startMailServer(t: Ends): Promise<MailServer> {
  const received: MailServer = { port: 0, mails: [], refusal: undefined, refusedReceiver: undefined };
  const server = createServer((socket) => talk(socket, received));
  received.port = await listen(server, t);
  return received;
}

function talk(socket: Socket, received: MailServer): void {
  let waiting = '';
  let mail: ReceivedMail = { from: '', to: [], content: '' };
  let isContent = false;
  const say = (line: string): void => void socket.write(`${line}\r\n`);
  const hear = (line: string): void => {
    if (isContent) {
      if (line !== '.') mail.content += `${line.startsWith('..') ? line.slice(1) : line}\n`;
      else {
        isContent = false;
        received.mails.push(mail);
        say('250 kept');
      }
      return;
    }
    const [command = ''] = line.toUpperCase().split(/[ :]/, 1);
    const place = /<([^>]*)>/.exec(line)?.[1] ?? '';
    if (command === 'EHLO' || command === 'HELO') say('250 receiver');
    else if (command === 'MAIL') {
      mail = { from: place, to: [], content: '' };
      say('250 so be it');
    } else if (command === 'RCPT') {
      const { refusal, refusedReceiver = place } = received;
      const isRefused = refusal !== undefined && place === refusedReceiver;
      if (!isRefused) mail.to.push(place);
      say(isRefused ? refusal : '250 known');
    } else if (command === 'DATA') {
      isContent = true;
      say('354 go on');
    } else if (command === 'QUIT') {
      say('221 bye');
      socket.end();
    } else say('250 yes');
  };
  socket.on('error', () => socket.destroy());
  socket.on('data', (piece) => {
    waiting += piece.toString('utf8');
    const lines = waiting.split('\r\n');
    waiting = lines.pop() ?? '';
    for (const line of lines) hear(line);
  });
  say('220 receiver ready');
}

/** Takes any POST; ntfy publishes by JSON, so the same serves as both. */
export async function startPostServer(t: Ends): Promise<PostServer> {
  const posts: ReceivedPost[] = [];
  const server = createHttpServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (piece: string) => (body += piece));
    request.on('end', () => {
      posts.push({ path: request.url ?? '', headers: request.headers, body });
      if (!received.isSilent) response.writeHead(received.status, { Location: '/elsewhere' }).end('{}');
    });
  });
  server.keepAliveTimeout = 1;
  const port = await listen(server, t);
  const received: PostServer = {
    port,
    url: `http://127.0.0.1:${port}/alerts?key=of-the-address`,
    posts,
    status: 200,
    isSilent: false,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
    listenAgain: () => new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve())),
  };
  return received;
}

async function listen(server: Server, t: Ends): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    if ('closeAllConnections' in server)
      (server as ReturnType<typeof createHttpServer>).closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
