/** What is left once the callers have gone. */
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../src/platform/clock/index.ts';
import type { StockedGateway } from '../requests/gateway.ts';

/** Each look takes processor time from what is waited for, most of a minute. */
const POLL_MS = 1_000;
/** A command to a device that does not answer ends with its time limit; a connection that fell silent earlier. */
const SETTLE_MS = 150_000;

/** Lines that a person would have to read: errors, warnings with a stack, and what is no line of the log. */
export function complaintsIn(log: string): string[] {
  return log
    .split('\n')
    .filter((line) => line !== '' && !line.includes(NOWHERE))
    .filter((line) => {
      if (!line.startsWith('{"level":')) return true;
      const { level, error } = JSON.parse(line) as { level: string; error?: unknown };
      return level === 'error' || level === 'fatal' || (level === 'warn' && error !== undefined);
    })
    .map((line) => `log: ${line.slice(0, 1_500)}`);
}

/** Sockets to the port of a server, by the number that the system gives them (proc_net_tcp). */
const socketsTo = (pid: number, port: number): string[] => {
  const [, ...rows] = readFileSync(`/proc/${pid}/net/tcp`, 'utf8').trim().split('\n');
  const columns = rows.map((row) => row.trim().split(/\s+/));
  return columns
    .filter(([, , remote = '']) => Number.parseInt(remote.split(':')[1] ?? '', 16) === port)
    .map((row) => row[9] ?? '');
};

/**
 * What the descriptors of the process are: names of files, and kinds of everything else. Without the sockets of the system
 * itself: over them it talks to programs of its own, which start and end as there is something to run. Without those to
 * the receiver either: requests make targets and channels that send to it as they like.
 */
function openFiles(pid: number, receiverPort: number): string[] {
  const folder = `/proc/${pid}/fd`;
  const own = readFileSync(`/proc/${pid}/net/unix`, 'utf8');
  const sending = new Set(socketsTo(pid, receiverPort));
  return readdirSync(folder).flatMap((name) => {
    try {
      const target = readlinkSync(join(folder, name));
      const [, kind = target, inode] = /^(.*):\[(\d+)\]$/.exec(target) ?? [];
      const isApart = own.includes(` ${inode}`) || sending.has(inode ?? '');
      return kind === 'socket' && isApart ? [] : [kind];
    } catch (error) {
      // Closed meanwhile.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  });
}

/** What is in the second list and not, or not so often, in the first one. */
export function addedTo(before: readonly string[], after: readonly string[]): string[] {
  const left = [...before];
  return after.filter((name) => {
    const at = left.indexOf(name);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

/** What the gateway keeps in `backups/`: copies of its authority and of state.db, its key for SFTP, and what was uploaded last. */
const KEPT = /^(?:authority\.pem|state-(?:hourly|daily)-\d+-\d+\.db|sftp-key(?:\.pub)?|uploaded\.backup)$/;

/** A target of the samples that does not exist; its answer says that it cannot be reached. */
const NOWHERE = 'nas.local';

/** Files that belong to an answer and not to the gateway. */
export function leftovers(dataDir: string): string[] {
  const folder = join(dataDir, 'backups');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => !KEPT.test(name))
    .map((name) => `left over: backups/${name}`);
}

/** Waits until no connection is left, and not more than `most` files are open; then answers what is open. */
export async function settled(
  { home, tokens, gateway, stock }: StockedGateway,
  clock: Clock,
  most = Number.POSITIVE_INFINITY,
): Promise<string[]> {
  const receiverPort = Number(new URL(stock.receiverUrl).port);
  const deadlineMs = clock.monotonicMs() + SETTLE_MS;
  for (;;) {
    const answer = await fetch(`${home.baseUrl}/metrics`, {
      headers: { 'X-Service-Auth-Token': tokens.INSTALLER, Connection: 'close' },
    });
    const text = await answer.text();
    // Devices and modules come and go as they like.
    let devices = gaugeOf(text, 'mqtt_sessions');
    const now = openFiles(gateway.pid, receiverPort).filter((kind) => kind !== 'socket' || devices-- <= 0);
    const isQuiet = gaugeOf(text, 'http_connections') <= 1 && gaugeOf(text, 'web_sockets') === 0;
    if ((isQuiet && now.length <= most) || clock.monotonicMs() > deadlineMs) return now;
    await clock.sleep(POLL_MS);
  }
}

function gaugeOf(metrics: string, name: string): number {
  const value = new RegExp(`^gateway_${name} (\\S+)$`, 'm').exec(metrics)?.[1];
  if (value === undefined) throw new Error(`there is no metric ${name}`);
  return Number(value);
}
