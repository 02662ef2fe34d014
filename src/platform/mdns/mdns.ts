import { randomBytes } from 'node:crypto';
import { messageOf } from '../../lib/errors.ts';
import { type Limits, LIMITS } from '../../lib/limits.ts';
import type { Clock, Timer } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import { LinkResponder } from './link-responder.ts';
import { type Network, systemNetwork } from './network.ts';
import { type AnnouncedService, hostRecords } from './records.ts';

interface MdnsOptions {
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

/**
 * Announces this machine by a name of its own and its services on every network it is on, follows when networks
 * come and go, and takes another name when the name is taken (`name-2.local` and so on).
 */
export class Mdns {
  readonly #options: Required<MdnsOptions>;
  /** By address; undefined while it is opened. */
  readonly #links = new Map<string, LinkResponder | undefined>();
  #servicesAt: (address: string) => readonly AnnouncedService[] = () => [];
  #label: string;
  #conflicts = 0;
  #isRunning = false;
  #looking: Timer | undefined;

  constructor(options: MdnsOptions) {
    this.#options = {
      limits: LIMITS.mdns,
      network: systemNetwork(),
      random: randomShare,
      ...options,
      log: options.log.child({ component: 'mdns' }),
    };
    this.#label = options.name;
  }

  /** The name that it has or tries to get, with `.local`. */
  get hostName(): string {
    return `${this.#label}.local`;
  }

  /** Begins to announce; does not wait for it. `servicesAt`: what listens at that address of this machine. */
  start(services: (address: string) => readonly AnnouncedService[]): void {
    this.#servicesAt = services;
    this.#isRunning = true;
    this.#look();
    this.#looking = this.#options.clock.setRepeating(this.#options.limits.lookMs, () => this.#look());
  }

  /** Says goodbye on every network. */
  stop(): void {
    this.#isRunning = false;
    this.#looking?.cancel();
    this.#leave();
  }

  #look(): void {
    const present = this.#options.network
      .addresses()
      .filter((address) => this.#servicesAt(address).length > 0)
      .slice(0, this.#options.limits.networks);
    for (const [address, responder] of this.#links)
      if (!present.includes(address) || responder?.isJoined() === false) {
        this.#links.delete(address);
        responder?.stop();
      }
    for (const address of present) if (!this.#links.has(address)) void this.#join(address);
  }

  async #join(address: string): Promise<void> {
    const { clock, limits, log, network, random } = this.#options;
    this.#links.set(address, undefined);
    try {
      const link = await network.open(address, (error) => this.#lose(address, error));
      if (!this.#isRunning || !this.#links.has(address)) return link.close();
      const responder = new LinkResponder({
        link,
        clock,
        limits,
        random,
        records: hostRecords(this.#label, address, this.#servicesAt(address)),
        pauseMs: this.#conflicts > limits.conflictsAtOnce ? limits.conflictPauseMs : 0,
        isOwnAddress: (other) => network.addresses().includes(other),
        onConflict: () => this.#rename(),
        onAnnounced: () => log.info('announced on the network', { host_name: this.hostName, address }),
      });
      this.#links.set(address, responder);
    } catch (error) {
      this.#lose(address, error);
    }
  }

  /** The next look tries again. */
  #lose(address: string, error: unknown): void {
    this.#links.get(address)?.stop();
    this.#links.delete(address);
    const { limits, log } = this.#options;
    log.warnLimited(`lost ${address}`, limits.sameWarningMs, 'cannot be announced on a network now', {
      address,
      reason: messageOf(error),
    });
  }

  #rename(): void {
    this.#conflicts += 1;
    this.#label = `${this.#options.name}-${this.#conflicts + 1}`;
    this.#options.log.warn('another machine has the name already', { taken_instead: this.hostName });
    this.#leave();
    this.#look();
  }

  #leave(): void {
    const left = [...this.#links.values()];
    this.#links.clear();
    for (const responder of left) responder?.stop();
  }
}

function randomShare(bytes = (): Buffer => randomBytes(4)): number {
  return bytes().readUInt32LE() / 2 ** 32;
}
