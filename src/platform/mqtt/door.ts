/**
 * Who may be inside at once. A stranger, who has not shown yet who he is, gives
 * way to the next when there is no room, the oldest first: who only holds places cannot keep out those who come
 * and log in at once.
 */
import { addressKey } from '../../lib/address.ts';
import type { MqttLimits } from './types.ts';

/** Label of the metric for what was full. */
export type Full = 'connections' | 'address_connections';

export interface Door<Guest> {
  /**
   * Lets one in, as a stranger; another stranger may be sent away for it. Answers what is full, if anything; else
   * `open` is asked for the guest.
   */
  enter(address: string | undefined, open: () => Guest): Full | undefined;
  /** Is no stranger any more. */
  settle(guest: Guest): void;
  /** May be called twice. */
  leave(guest: Guest): void;
  guests(): Iterable<Guest>;
}

interface Origin<Guest> {
  count: number;
  strangers: Set<Guest>;
}

/** @param giveWay told who has to go; he is not counted any more */
export function createDoor<Guest>(
  limits: Pick<MqttLimits, 'connections' | 'connectionsPerAddress'>,
  giveWay: (guest: Guest, limit: Full) => void,
): Door<Guest> {
  const origins = new Map<string, Origin<Guest>>();
  const addressOf = new Map<Guest, string>();
  const strangers = new Set<Guest>();

  function leave(guest: Guest): void {
    const address = addressOf.get(guest);
    if (address === undefined) return;
    addressOf.delete(guest);
    strangers.delete(guest);
    const origin = origins.get(address);
    if (!origin) return;
    origin.strangers.delete(guest);
    origin.count -= 1;
    if (origin.count === 0) origins.delete(address);
  }

  /** False when there is nobody who can go. */
  function makeRoom(candidates: ReadonlySet<Guest>, limit: Full): boolean {
    for (const oldest of candidates) {
      leave(oldest);
      giveWay(oldest, limit);
      return true;
    }
    return false;
  }

  return {
    enter: (remoteAddress, open) => {
      const address = addressKey(remoteAddress);
      const known = origins.get(address);
      if (known && known.count >= limits.connectionsPerAddress) {
        if (!makeRoom(known.strangers, 'address_connections')) return 'address_connections';
      } else if (addressOf.size >= limits.connections && !makeRoom(strangers, 'connections')) {
        return 'connections';
      }
      // The last of its address may just have gone.
      const origin = origins.get(address) ?? { count: 0, strangers: new Set<Guest>() };
      const guest = open();
      origins.set(address, origin);
      origin.count += 1;
      origin.strangers.add(guest);
      strangers.add(guest);
      addressOf.set(guest, address);
      return undefined;
    },
    settle: (guest) => {
      strangers.delete(guest);
      origins.get(addressOf.get(guest) ?? '')?.strangers.delete(guest);
    },
    leave,
    guests: () => addressOf.keys(),
  };
}
