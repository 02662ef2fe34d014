/**
 * The caller behind reverse proxies: `X-Forwarded-…` and `Forwarded` (RFC 7239) count as far as trusted proxies have
 * written them. Anybody can send such a header, so those of others are ignored.
 */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { hostInUrl, plainAddress } from '../../lib/address.ts';

/** The caller as its own end of the way sees itself. */
export interface Caller {
  address: string;
  /** It came over TLS, to the gateway or to a trusted proxy. */
  isEncrypted: boolean;
  /** The host that it asked for, with the port where that is not the usual one; undefined when it named none. */
  host: string | undefined;
  /** A trusted proxy stands between. */
  isForwarded: boolean;
  /** Whether pages of this origin are the gateway's own. */
  isOwnOrigin: (origin: string) => boolean;
}

/** Claims of the proxies, the one nearest to the gateway last. */
interface Said {
  addresses: readonly (string | undefined)[];
  protocols: readonly string[];
  hosts: readonly string[];
}

export class Callers {
  readonly #networks = new BlockList();
  readonly #isAny: boolean;

  readonly #publicHost: string | undefined;

  /**
   * @param networks addresses and networks of trusted proxies, such as 10.0.0.0/8; what is neither counts for nothing
   * @param publicHost name or address of the gateway from outside
   */
  constructor(networks: readonly string[] = [], publicHost?: string) {
    this.#publicHost = publicHost;
    for (const network of networks) {
      const [address = '', prefix] = network.split('/');
      const family = isIP(address);
      const most = family === 4 ? 32 : 128;
      const bits = prefix === undefined ? most : Number(prefix);
      if (family === 0 || !(bits >= 0 && bits <= most)) continue;
      this.#networks.addSubnet(address, bits, family === 4 ? 'ipv4' : 'ipv6');
    }
    this.#isAny = this.#networks.rules.length > 0;
  }

  /** Whether the peer of a connection is one of them. */
  isTrusted(address: string | undefined): boolean {
    if (!this.#isAny || address === undefined) return false;
    const plain = plainAddress(address).replace(/%.*/s, '');
    const family = isIP(plain);
    return family !== 0 && this.#networks.check(plain, family === 4 ? 'ipv4' : 'ipv6');
  }

  /** The sender of a request; unknown without a socket. */
  of(incoming: IncomingMessage | undefined, headers: Headers): Caller {
    const found = this.#find(incoming, headers);
    const hosts = [headers.get('host') ?? undefined, found.host];
    return { ...found, isOwnOrigin: (origin) => isOwnOrigin(origin, hosts, this.#publicHost) };
  }

  #find(incoming: IncomingMessage | undefined, headers: Headers): Omit<Caller, 'isOwnOrigin'> {
    const peer = {
      address: plainAddress(incoming?.socket.remoteAddress ?? 'unknown'),
      isEncrypted: incoming !== undefined && 'encrypted' in incoming.socket,
      host: headers.get('host') ?? undefined,
      isForwarded: false,
    };
    if (!this.isTrusted(peer.address)) return peer;
    const usual = saidByUsualHeaders(headers);
    const standard = saidByStandardHeader(headers.get('forwarded'));
    const [hop, other] = [this.#walk(peer.address, usual), this.#walk(peer.address, standard)];
    const isBoth = usual.addresses.length > 0 && standard.addresses.length > 0;
    // A proxy writes one of the two headers and passes on the other as the caller wrote it.
    if (isBoth && hop.address !== other.address) return { ...peer, isForwarded: true };
    const isUsual = usual.addresses.length > 0 || standard.addresses.length === 0;
    const { address, depth } = isUsual ? hop : other;
    const protocol =
      atDepth(usual.protocols, depth) ??
      atDepth(standard.protocols, depth) ??
      (peer.isEncrypted ? 'https' : '');
    return {
      address,
      // Traefik names that of a WebSocket.
      isEncrypted: /^(https|wss)$/i.test(protocol),
      host: atDepth(usual.hosts, depth) ?? atDepth(standard.hosts, depth) ?? peer.host,
      isForwarded: true,
    };
  }

  /** From the connection outwards, as long as a trusted proxy says who its own caller is. */
  #walk(peer: string, { addresses }: Said): { address: string; depth: number } {
    let address = peer;
    let depth = 0;
    for (const next of addresses.toReversed()) {
      if (next === undefined || !this.isTrusted(address)) break;
      address = next;
      depth++;
    }
    return { address, depth };
  }
}

/** The claim of the outermost trusted proxy; one that replaces the header leaves a single value. */
function atDepth(values: readonly string[], depth: number): string | undefined {
  const value = values.at(-Math.max(1, depth)) ?? values[0];
  return value === '' ? undefined : value;
}

function saidByUsualHeaders(headers: Headers): Said {
  const valuesOf = (name: string): string[] =>
    headers
      .get(name)
      ?.split(',')
      .map((value) => value.trim()) ?? [];
  const port = valuesOf('x-forwarded-port').at(-1) ?? '';
  const withPort = (host: string): string =>
    host === '' || /:\d+$/.test(host) || !/^\d{1,5}$/.test(port) ? host : `${host}:${port}`;
  return {
    addresses: valuesOf('x-forwarded-for').map(nodeAddress),
    protocols: valuesOf('x-forwarded-proto'),
    hosts: valuesOf('x-forwarded-host').map(withPort),
  };
}

/**
 * RFC 7239 section 4. No value of the three has a comma or a semicolon, so that a quoted string of a caller which is
 * never closed cannot swallow what the proxies have written behind it.
 */
function saidByStandardHeader(header: string | null): Said {
  const elements = (header?.split(',') ?? []).map(
    (element) =>
      new Map(
        element.split(';').map((member) => {
          const [name = '', value = ''] = member.split('=');
          return [name.trim().toLowerCase(), value.trim().replaceAll('"', '')];
        }),
      ),
  );
  const valuesOf = (name: string): string[] => elements.map((element) => element.get(name) ?? '');
  return {
    addresses: valuesOf('for').map(nodeAddress),
    protocols: valuesOf('proto'),
    hosts: valuesOf('host'),
  };
}

/** An address, perhaps with a port; undefined for `unknown` and for names made up to hide one. */
function nodeAddress(text: string): string | undefined {
  const bare =
    /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+)(?::\d+)?$/.exec(text)?.[1] ?? text;
  const address = plainAddress(bare);
  return isIP(address) === 0 ? undefined : address;
}

// Names that a page from elsewhere cannot have. A page of `attacker.example` may let its name lead to the
// gateway's address ("DNS rebinding"): the browser then takes the gateway for a part of that page and sends
// its requests with `Host: attacker.example`. Addresses and names that no public registry gives out cannot be
// used so.

/** Ends of names that are never delegated: RFC 6761, 6762, 8375, ICANN's `internal`, and what routers use. */
const LOCAL_SUFFIX = /\.(localhost|local|home\.arpa|internal|lan|home|intranet|private|corp)$/;

/** Whether a host, without its port, is an address, a name for local networks, or one of those given. */
export function isLocalHost(host: string, ownNames: readonly string[]): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  // The zone of an IPv6 address names a network of the caller.
  if (isIP(name.replace(/%.*/s, '')) > 0) return true;
  return !name.includes('.') || LOCAL_SUFFIX.test(name) || ownNames.some((own) => own.toLowerCase() === name);
}

/**
 * Whether pages of an origin are the gateway's own. A proxy may lead to the gateway under another name than the browser
 * knows, or leave out the port.
 * @param hosts by which the gateway was asked for in this request
 * @param publicHost its name from outside, with whatever port a proxy has; except that of a page beside the gateway, which
 * shows in a host of the same name with a port of its own
 */
export function isOwnOrigin(
  origin: string,
  hosts: readonly (string | undefined)[],
  publicHost: string | undefined,
): boolean {
  const page = URL.parse(origin);
  if (!page || page.host === '') return false;
  // The usual port of the page's own protocol goes without saying.
  const asked = hosts.flatMap((host) => URL.parse(`${page.protocol}//${host}`) ?? []);
  if (asked.some(({ host }) => host === page.host)) return true;
  const isPublic = publicHost !== undefined && page.hostname === hostInUrl(publicHost.toLowerCase());
  return isPublic && !asked.some(({ hostname, port }) => hostname === page.hostname && port !== '');
}
