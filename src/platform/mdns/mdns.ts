/**
 * Announces this machine by a name of its own and its services on every network it is on, follows when networks
 * come and go, and takes another name when the name is taken (`name-2.local` and so on).
 */
import { randomBytes } from 'node:crypto';
import { messageOf } from '../../lib/errors.ts';
import { type Limits, LIMITS } from '../../lib/limits.ts';
import type { Clock, Timer } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import { createLinkResponder, type LinkResponder } from './link-responder.ts';
import { type Network, systemNetwork } from './network.ts';
import { type AnnouncedService, hostRecords } from './records.ts';

export interface Mdns {
  /** The name that it has or tries to get, with `.local`. */
  readonly hostName: string;
  /** Begins to announce; does not wait for it. `servicesAt`: what listens at that address of this machine. */
  start(servicesAt: (address: string) => readonly AnnouncedService[]): void;
  /** Says goodbye on every network. */
  stop(): void;
}

export interface MdnsOptions {
  /** One label: letters, digits, hyphens. */
  name: string;
  clock: Clock;
  log: Log;
  limits?: Limits['mdns'];
  /** Default: the machine's. */
  network?: Network;
  /** 0 to 1. */
  random?: () => number;
}

export function createMdns(options: MdnsOptions): Mdns {
  const { name, clock, limits = LIMITS.mdns, network = systemNetwork(), random = randomShare } = options;
  const log = options.log.child({ component: 'mdns' });
  /** By address; undefined while it is opened. */
  const links = new Map<string, LinkResponder | undefined>();
  let servicesAt: (address: string) => readonly AnnouncedService[] = () => [];
  let label = name;
  let conflicts = 0;
  let isRunning = false;
  let looking: Timer | undefined;

  function look(): void {
    const present = network
      .addresses()
      .filter((address) => servicesAt(address).length > 0)
      .slice(0, limits.networks);
    for (const [address, responder] of links)
      if (!present.includes(address)) {
        links.delete(address);
        responder?.stop();
      }
    for (const address of present) if (!links.has(address)) void join(address);
  }

  async function join(address: string): Promise<void> {
    links.set(address, undefined);
    try {
      const link = await network.open(address, (error) => lose(address, error));
      if (!isRunning || !links.has(address)) return link.close();
      const responder = createLinkResponder({
        link,
        clock,
        limits,
        random,
        records: hostRecords(label, address, servicesAt(address)),
        pauseMs: conflicts > limits.conflictsAtOnce ? limits.conflictPauseMs : 0,
        isOwnAddress: (other) => network.addresses().includes(other),
        onConflict: rename,
        onAnnounced: () => log.info('announced on the network', { host_name: mdns.hostName, address }),
      });
      links.set(address, responder);
    } catch (error) {
      lose(address, error);
    }
  }

  /** The next look tries again. */
  function lose(address: string, error: unknown): void {
    links.get(address)?.stop();
    links.delete(address);
    log.warnLimited(`lost ${address}`, limits.sameWarningMs, 'cannot be announced on a network now', {
      address,
      reason: messageOf(error),
    });
  }

  function rename(): void {
    conflicts += 1;
    label = `${name}-${conflicts + 1}`;
    log.warn('another machine has the name already', { taken_instead: mdns.hostName });
    leave();
    look();
  }

  function leave(): void {
    const left = [...links.values()];
    links.clear();
    for (const responder of left) responder?.stop();
  }

  const mdns: Mdns = {
    get hostName() {
      return `${label}.local`;
    },
    start: (services) => {
      servicesAt = services;
      isRunning = true;
      look();
      looking = clock.setRepeating(limits.lookMs, look);
    },
    stop: () => {
      isRunning = false;
      looking?.cancel();
      leave();
    },
  };
  return mdns;
}

function randomShare(bytes = (): Buffer => randomBytes(4)): number {
  return bytes().readUInt32LE() / 2 ** 32;
}
