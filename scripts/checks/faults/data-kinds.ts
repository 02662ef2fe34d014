/**
 * Faults of files: damaged, missing, from another box. What a file held may be gone with it, so each is brought about on
 * a copy of the data: a gateway on the copy serves, names the file, and has everything that lay elsewhere.
 */
import {
  closeSync,
  cpSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '../world/journal.ts';
import { verifyHistory } from '../world/verify.ts';
import { type GatewayClient, GatewayRefusal, GatewayUnreachable } from '../../support/gateway-client.ts';
import { createGatewayHome, type GatewayHome, startGateway } from '../../support/gateway-process.ts';
import type { Random } from '../../support/random.ts';
import type { Box } from './box.ts';
import { copyData } from './disk.ts';
import { broken, type FaultKind } from './kind.ts';

interface DataFault {
  name: string;
  about: string;
  /** What a line of its log, or the name of an alert, must have in it. */
  names: RegExp;
  /** What may be lost when the log names it. */
  mayLose: 'state' | 'history' | 'nothing';
  spoil: (dataDir: string, random: Random, box: Box) => Promise<void> | void;
  /** What else must hold on the copy. */
  verify?: (box: Box, home: GatewayHome) => Promise<Problem[]>;
}

const PAGE_BYTES = 4_096;
const UNRECOVERABLE = 78;
/** The gateway looks at itself every few seconds. */
const ALERT_MS_MAX = 20_000;
const STATE = /state\.db|state_re|state_rows/;
const HISTORY = /history\.db|history_damaged|history_degraded/;
const JOURNAL = /journal|history_damaged/i;
const TLS = /tls|authority|certificate/i;

const FAULTS: readonly DataFault[] = [
  {
    name: 'damaged-state',
    about: 'A page of state.db is overwritten or has a flipped bit.',
    names: STATE,
    mayLose: 'state',
    spoil: (dataDir, random) => damage(join(dataDir, 'state.db'), random),
  },
  {
    name: 'damaged-history',
    about: 'A page of history.db is overwritten or has a flipped bit.',
    names: HISTORY,
    mayLose: 'history',
    spoil: (dataDir, random) => damage(join(dataDir, 'history.db'), random),
  },
  {
    name: 'damaged-journal',
    about: 'A page of a segment of the telemetry journal is overwritten or has a flipped bit.',
    names: JOURNAL,
    mayLose: 'history',
    spoil: (dataDir, random) => {
      const folder = join(dataDir, 'telemetry-journal');
      const segments = readdirSync(folder).filter((name) => statSync(join(folder, name)).size > 0);
      if (segments.length > 0) damage(join(folder, random.pick(segments)), random);
    },
  },
  {
    name: 'damaged-certificates',
    about: 'A file of the keys and certificates is overwritten or has a flipped bit.',
    names: TLS,
    mayLose: 'nothing',
    spoil: (dataDir, random) => {
      const folder = join(dataDir, 'tls');
      const files = readdirSync(folder).filter((name) => statSync(join(folder, name)).isFile());
      if (files.length > 0) damage(join(folder, random.pick(files)), random);
    },
    verify: authorityStays,
  },
  {
    name: 'missing-state',
    about: 'state.db is gone, or empty.',
    names: STATE,
    mayLose: 'state',
    spoil: (dataDir, random) => {
      for (const suffix of ['', '-wal', '-shm']) rmSync(join(dataDir, `state.db${suffix}`), { force: true });
      if (random.chance(0.5)) closeSync(openSync(join(dataDir, 'state.db'), 'w'));
    },
  },
  {
    name: 'missing-history',
    about: 'history.db is gone.',
    names: HISTORY,
    mayLose: 'history',
    spoil: (dataDir) => {
      for (const suffix of ['', '-wal', '-shm'])
        rmSync(join(dataDir, `history.db${suffix}`), { force: true });
    },
  },
  {
    name: 'missing-journal',
    about: 'The folder of the telemetry journal is gone.',
    names: JOURNAL,
    mayLose: 'history',
    spoil: (dataDir) => rmSync(join(dataDir, 'telemetry-journal'), { recursive: true }),
  },
  {
    name: 'missing-certificates',
    about: 'The folder of keys and certificates is gone.',
    names: TLS,
    mayLose: 'nothing',
    spoil: (dataDir) => rmSync(join(dataDir, 'tls'), { recursive: true }),
    verify: authorityStays,
  },
  {
    name: 'foreign-state',
    about: 'state.db is that of another box.',
    names: /state\.db|history_of_(other_site|unknown_devices)/,
    mayLose: 'state',
    spoil: async (dataDir, _random, box) => {
      const other = await foreignState(box);
      for (const suffix of ['-wal', '-shm']) rmSync(join(dataDir, `state.db${suffix}`), { force: true });
      cpSync(join(other.folder, 'data', 'state.db'), join(dataDir, 'state.db'));
      other.remove();
    },
  },
];

export const DATA_KINDS: readonly FaultKind[] = FAULTS.map((fault) => ({
  name: fault.name,
  about: fault.about,
  run: (box) => onCopy(box, fault),
}));

async function onCopy(box: Box, fault: DataFault): Promise<Problem[]> {
  await box.rest();
  await box.kill();
  const home = await copyOf(box);
  try {
    await fault.spoil(join(home.folder, 'data'), box.random, box);
    return await judgeCopy(box, home, fault);
  } finally {
    home.remove();
    await box.restart();
  }
}

async function copyOf(box: Box): Promise<GatewayHome> {
  const made = await createGatewayHome();
  const { environment } = box.home;
  const home = { ...made, entries: box.home.entries, environment: { ...environment, ...made.environment } };
  copyData(box.dataDir, join(home.folder, 'data'));
  return home;
}

/** When the gateway reports it, that file may be lost. Without a report nothing may be missing. */
async function judgeCopy(
  box: Box,
  home: GatewayHome,
  { names, mayLose, verify }: DataFault,
): Promise<Problem[]> {
  const gateway = startGateway(home, box.clock, box.flags());
  try {
    const isLogged = (): boolean => warningsOf(box, home).some((line) => names.test(line));
    if (!(await serves(gateway.healthy()))) {
      const { code } = await gateway.end('SIGKILL');
      const isTold = mayLose === 'state' && code === UNRECOVERABLE && isLogged();
      return isTold ? [] : [broken(`does not serve; ended with ${code}: ${warningsOf(box, home).at(-1)}`)];
    }
    const client = await box.installer(home);
    const isTold = async (): Promise<boolean> => isLogged() || (await showsAlert(box, client, names));
    // Where state.db was replaced everything of it is another one.
    if (mayLose === 'state' && isLogged()) return [];
    const control = await tried(() => box.verifyControlOf(home, client));
    const history = await tried(() => verifyHistory({ ...box.world, client }));
    const lost = [...control, ...history, ...((await verify?.(box, home)) ?? [])];
    if (lost.length === 0) return [];
    // An alert is waited for only where something is missing.
    const told = await isTold();
    if (told && mayLose === 'state') return [];
    const unexpected = told && mayLose === 'history' ? control : lost;
    return unexpected.map(({ kind, item }) => ({
      kind,
      item: `${told ? '' : 'silently, '}on the copy: ${item}`,
    }));
  } finally {
    await gateway.end('SIGKILL');
  }
}

/**
 * What it does not know at all it refuses to tell. An answer that meets damage on its way ends in the middle; asked again,
 * it comes without what was damaged.
 */
async function tried(verify: () => Promise<Problem[]>, attempts = 2): Promise<Problem[]> {
  try {
    return await verify();
  } catch (error) {
    if (error instanceof GatewayRefusal) return [{ kind: 'lost', item: error.message }];
    if (error instanceof GatewayUnreachable && attempts > 1) return tried(verify, attempts - 1);
    throw error;
  }
}

function warningsOf(box: Box, home: GatewayHome): string[] {
  const lines = box.logSince(0, home.logFile);
  return lines
    .filter(({ level }) => ['warn', 'error', 'fatal'].includes(level))
    .map((line) => JSON.stringify(line));
}

/** Devices hold certificates of the authority that there was, and trust no other one. */
async function authorityStays(box: Box, home: GatewayHome): Promise<Problem[]> {
  const answer = await fetch(`${home.baseUrl}/ca.pem`);
  const served = await answer.text();
  const isThere =
    answer.status === 200 && readFileSync(join(box.dataDir, 'tls', 'authority.pem'), 'utf8').includes(served);
  return isThere ? [] : [broken(`the authority that devices trust is gone: ${answer.status}`)];
}

/** An alert of the gateway's own device, within some seconds. */
async function showsAlert(box: Box, client: GatewayClient, names: RegExp): Promise<boolean> {
  const deadlineMs = box.clock.monotonicMs() + ALERT_MS_MAX;
  while (box.clock.monotonicMs() < deadlineMs) {
    const { devices } = (await client.json({
      path: '/devices?type.in=GATEWAY&expand=raised_alert_names',
    })) as {
      devices: { raised_alert_names?: string[] }[];
    };
    if (devices.some(({ raised_alert_names: alerts = [] }) => alerts.some((name) => names.test(name))))
      return true;
    await box.clock.sleep(500);
  }
  return false;
}

async function serves(healthy: Promise<number>): Promise<boolean> {
  return healthy.then(
    () => true,
    (error: unknown) => {
      if (error instanceof Error && error.message.startsWith('the gateway ')) return false;
      throw error;
    },
  );
}

/** The state of a gateway that was started once. */
async function foreignState(box: Box): Promise<GatewayHome> {
  const home = await createGatewayHome(box.program);
  const gateway = startGateway(home, box.clock);
  await gateway.healthy();
  await gateway.end('SIGTERM');
  return home;
}

/** A page of noise, a page of zeros, or one flipped bit, anywhere. */
function damage(path: string, random: Random): void {
  if (!existsSync(path)) return;
  const { size } = statSync(path);
  const offset = Math.floor(random.between(0, size) / PAGE_BYTES) * PAGE_BYTES;
  const kind = random.integer(0, 2);
  if (kind === 2) return flipBit(path, Math.floor(random.between(0, size)), random);
  const fill = kind === 0 ? 0 : 0xa5;
  overwrite(path, offset, Buffer.alloc(Math.min(PAGE_BYTES, size - offset), fill));
}

function overwrite(path: string, offset: number, bytes: Buffer): void {
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, bytes.length, offset);
  closeSync(file);
}

function flipBit(path: string, offset: number, random: Random): void {
  const file = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, offset);
  byte.writeUInt8(byte.readUInt8() ^ (1 << random.integer(0, 7)));
  writeSync(file, byte, 0, 1, offset);
  closeSync(file);
}
