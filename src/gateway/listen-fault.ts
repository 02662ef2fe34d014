/** Says what a person can do when a listener cannot use the address of an option. */
import { isAnyAddress } from '../lib/address.ts';

/** Options of the operator: the address, and the ports. */
interface ListenOptions {
  variable: string;
  host: string;
  /** Port by the name of its option. */
  ports: Readonly<Record<string, number>>;
}

/**
 * Starts to listen. @throws Error naming the option for an address that the machine does not have now, one of IPv6 on a
 * machine without it, or a port that is taken: all may change by themselves, as when the network comes up late
 */
export async function listenOn<Result>(
  options: ListenOptions,
  start: () => Promise<Result>,
): Promise<Result> {
  try {
    return await start();
  } catch (error) {
    throw faultOf(error, options);
  }
}

function faultOf(error: unknown, { variable, host, ports }: ListenOptions): unknown {
  if (!(error instanceof Error && 'code' in error)) return error;
  const given = `${variable} is ${host}`;
  const port = 'port' in error ? error.port : undefined;
  const option = Object.keys(ports).find((name) => ports[name] === port) ?? 'the port';
  switch (error.code) {
    case 'EAFNOSUPPORT':
      return withoutIpv6(given, error);
    case 'EADDRNOTAVAIL':
      if (isAnyAddress(host)) return withoutIpv6(given, error);
      return new Error(`${given}, which no network of this machine has now: ${error.message}`, {
        cause: error,
      });
    case 'EADDRINUSE':
      return new Error(
        `${option} is ${String(port)}, which another program on this machine uses: end it, or choose another port`,
        { cause: error },
      );
    case 'EACCES':
      return new Error(
        `${option} is ${String(port)}, which this user may not use: choose a port from 1024 on`,
        { cause: error },
      );
    default:
      return error;
  }
}

function withoutIpv6(given: string, cause: Error): Error {
  const advice = 'set it to 0.0.0.0 or another address of IPv4, or turn IPv6 on';
  return new Error(`${given}, but this machine has no IPv6: ${advice}`, { cause });
}
