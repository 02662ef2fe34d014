/** What a person can do when a listener cannot have the address that an option names. */
import { isAnyAddress } from '../lib/address.ts';
import { messageOf, UnrecoverableError } from '../lib/errors.ts';

/**
 * Starts to listen. @throws UnrecoverableError for an address of IPv6 on a machine without it; Error for one that the
 * machine does not have now: a network may come up later
 */
export async function listenOn<Result>(
  option: { variable: string; host: string },
  start: () => Promise<Result>,
): Promise<Result> {
  try {
    return await start();
  } catch (error) {
    throw faultOf(error, option);
  }
}

function faultOf(error: unknown, { variable, host }: { variable: string; host: string }): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const given = `${variable} is ${host}`;
  if (code === 'EAFNOSUPPORT' || (code === 'EADDRNOTAVAIL' && isAnyAddress(host)))
    return new UnrecoverableError(
      `${given}, but this machine has no IPv6: set it to 0.0.0.0 or another address of IPv4, or turn IPv6 on`,
      { cause: error },
    );
  if (code === 'EADDRNOTAVAIL')
    return new Error(`${given}, which no network of this machine has now: ${messageOf(error)}`, {
      cause: error,
    });
  return error;
}
