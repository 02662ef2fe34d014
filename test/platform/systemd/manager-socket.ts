/** The socket on which a service manager waits for notices: a real one, by the C library, as Node has none of its kind. */
import assert from 'node:assert/strict';
import { dlopen } from 'node:ffi';
import type { TestContext } from 'node:test';

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const MSG_DONTWAIT = 0x40;
const MOST_BYTES = 4_096;

const { functions } = dlopen(null, {
  socket: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
  bind: { arguments: ['i32', 'buffer', 'u32'], return: 'i32' },
  recv: { arguments: ['i32', 'buffer', 'u64', 'i32'], return: 'i64' },
  close: { arguments: ['i32'], return: 'i32' },
});

/** @param address name of the socket as the kernel takes it: a path, or a zero and a name */
export function managerSocket(t: TestContext, address: string): { received: () => string | undefined } {
  const socket = functions.socket(AF_UNIX, SOCK_DGRAM, 0);
  t.after(() => functions.close(socket));
  const bytes = Buffer.concat([Buffer.from(Uint16Array.of(AF_UNIX).buffer), Buffer.from(address)]);
  assert.equal(functions.bind(socket, bytes, bytes.length), 0, `bound to ${address}`);
  const room = Buffer.alloc(MOST_BYTES);
  return {
    received: () => {
      const length = Number(functions.recv(socket, room, BigInt(room.length), MSG_DONTWAIT));
      return length < 0 ? undefined : room.toString('utf8', 0, length);
    },
  };
}
