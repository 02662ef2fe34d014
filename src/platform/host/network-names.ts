/** What this machine is called by others on its networks, now. */
import { hostname, networkInterfaces } from 'node:os';

/** Names and addresses, with the name given to devices and the one on the local network; the loopback ones too, link-local IPv6 ones not, because they need a zone. */
export function networkNames(
  publicHost: string | undefined,
  mdnsName?: string,
): { dns: string[]; ips: string[] } {
  const name = hostname();
  const dns = [name, `${name.split('.')[0]}.local`, 'localhost'];
  const ips = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => address)
    .filter((address) => !/^fe[89ab]/i.test(address));
  if (mdnsName !== undefined) dns.push(mdnsName);
  if (publicHost !== undefined) (isAddress(publicHost) ? ips : dns).push(publicHost);
  return { dns, ips };
}

function isAddress(host: string): boolean {
  return host.includes(':') || /^[\d.]+$/.test(host);
}
