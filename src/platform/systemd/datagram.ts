/**
 * Datagrams to a local socket (unix(7)), by the C library: Node has no such sockets of its own, and calls the library
 * since 26.1. The kernel tells the receiver which process sent one, so that it can tell this one from its children.
 */
import type { DynamicLibraryResult } from 'node:ffi';
import type { Clock } from '../clock/index.ts';

/** Of <sys/socket.h>, for amd64 and arm64. */
const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2_000_000;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
/** sun_path, with the zero behind it. */
const PATH_BYTES = 108;
const CALLS = {
  socket: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
  connect: { arguments: ['i32', 'buffer', 'u32'], return: 'i32' },
  send: { arguments: ['i32', 'buffer', 'u64', 'i32'], return: 'i64' },
  close: { arguments: ['i32'], return: 'i32' },
} as const;

/** While the receiver has no room for more. */
const TRIES = 20;
const TRY_AGAIN_MS = 100;

type Library = DynamicLibraryResult<typeof CALLS>;

export class LocalReceiver {
  readonly #name: string;
  readonly #clock: Pick<Clock, 'sleep'>;
  #library: Promise<Library> | undefined;

  /** @param name a path, or behind "@" a name that is no file */
  constructor(name: string, clock: Pick<Clock, 'sleep'>) {
    this.#name = name;
    this.#clock = clock;
  }

  /** The event loop does not wait for the receiver. @throws Error when nothing can be sent */
  async send(text: string): Promise<void> {
    const address = addressOf(this.#name);
    this.#library ??= callable();
    const { functions } = await this.#library;
    const socket = functions.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) throw new Error('no local socket can be made');
    try {
      if (functions.connect(socket, address, address.length) < 0)
        throw new Error(`nobody listens at ${this.#name}`);
      await this.#sendOn(functions, socket, Buffer.from(text));
    } finally {
      functions.close(socket);
    }
  }

  async #sendOn({ send }: Library['functions'], socket: number, bytes: Buffer): Promise<void> {
    const length = BigInt(bytes.length);
    for (let attempt = 1; attempt <= TRIES; attempt += 1) {
      if (send(socket, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL) === length) return;
      await this.#clock.sleep(TRY_AGAIN_MS);
    }
    throw new Error(`${this.#name} takes nothing`);
  }
}

async function callable(): Promise<Library> {
  const { dlopen } = await import('node:ffi');
  return dlopen(null, CALLS);
}

/** @throws Error for another kind of address */
function addressOf(name: string): Buffer {
  const isAbstract = name.startsWith('@');
  const path = Buffer.from(isAbstract ? `\0${name.slice(1)}` : `${name}\0`);
  if (!/^[/@]/.test(name) || path.length > PATH_BYTES) throw new Error(`${name} is no local socket`);
  const family = Buffer.alloc(2);
  family.writeUInt16LE(AF_UNIX);
  return Buffer.concat([family, path]);
}
