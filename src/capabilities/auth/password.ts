/**
 * Password hashes: argon2id (RFC 9106) in PHC string form, with the cost in each hash, so that hashes of
 * another cost stay valid. One at a time, because each takes 19 MiB and a core.
 */
import { argon2, timingSafeEqual } from 'node:crypto';
import { tooManyRequests } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import { SerialQueue } from '../../lib/serial-queue.ts';
import type { AuthParts } from './store.ts';

const SALT_BYTES = 16;
const HASH_BYTES = 32;
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/;

interface Cost {
  memory: number;
  passes: number;
  parallelism: number;
}

export class Passwords {
  readonly #limits: Limits['auth'];
  readonly #random: (sizeBytes: number) => Buffer;
  readonly #cost: Cost;
  readonly #queue: { dropped: () => void };
  readonly #hashes = new SerialQueue();
  #waiting = 0;

  constructor({ limits, metrics, random }: AuthParts) {
    this.#queue = metrics.queue('password_hashes', {
      limit: limits.hashesWaiting + limits.hashesWaitingKnown,
      depth: () => this.#waiting,
    });
    this.#limits = limits;
    this.#random = random;
    this.#cost = { memory: limits.argon2MemoryKib, passes: limits.argon2Passes, parallelism: 1 };
  }

  /** @throws GatewayError too_many_requests (429) when too many wait */
  hash(password: string): Promise<string> {
    return this.#inTurn(true, async () => {
      const salt = this.#random(SALT_BYTES);
      const cost = this.#cost;
      const digest = await derive(password, salt, cost, HASH_BYTES);
      return `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${text(salt)}$${text(digest)}`;
    });
  }

  /**
   * True when the password belongs to the hash. Without a hash it is false after the same work, so that the
   * time does not tell whether a user exists. Attempts from known addresses have waiting places of their own.
   * @throws GatewayError too_many_requests (429)
   */
  verify(password: string, hash: string | undefined, isKnown: boolean): Promise<boolean> {
    return this.#inTurn(isKnown, async () => {
      const match = PHC.exec(hash ?? '');
      if (!match) {
        await derive(password, Buffer.alloc(SALT_BYTES), this.#cost, HASH_BYTES);
        return false;
      }
      const [, memory, passes, parallelism, salt = '', digest = ''] = match;
      const expected = Buffer.from(digest, 'base64');
      const given = await derive(
        password,
        Buffer.from(salt, 'base64'),
        { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) },
        expected.length,
      );
      return timingSafeEqual(given, expected);
    });
  }

  /** Runs one after another; a failure reaches its own caller only. */
  #inTurn<Result>(isKnown: boolean, work: () => Promise<Result>): Promise<Result> {
    const { hashesWaiting, hashesWaitingKnown } = this.#limits;
    if (this.#waiting >= hashesWaiting + (isKnown ? hashesWaitingKnown : 0)) {
      this.#queue.dropped();
      throw tooManyRequests('Too many logins at once; try again in a moment.', 2);
    }
    this.#waiting++;
    return this.#hashes.run(work).finally(() => this.#waiting--);
  }
}

/** The same characters typed on another system are the same password (Unicode NFC). */
function derive(password: string, salt: Buffer, cost: Cost, lengthBytes: number): Promise<Buffer> {
  const message = Buffer.from(password.normalize('NFC'), 'utf8');
  return new Promise((resolve, reject) => {
    argon2('argon2id', { message, nonce: salt, tagLength: lengthBytes, ...cost }, (error, digest) => {
      if (error) reject(error);
      else resolve(digest);
    });
  });
}

/** Base64 without padding, as the PHC form has it. */
function text(bytes: Buffer): string {
  return bytes.toString('base64').replace(/(?<!=)=+$/, '');
}
