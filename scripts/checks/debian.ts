/** `npm run check -- debian`: does the package live through installations, failures and cuts of power on a clean Debian? */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomInt } from 'node:crypto';
import { bundle } from '../build.ts';
import { parseWords, runScript, UsageError, whole } from '../support/arguments.ts';
import { DebianRoot, whyNoDebianRoot } from '../support/debian-root.ts';
import { createRandom, type Random } from '../support/random.ts';
import { Board } from './debian/board.ts';
import { cutOnce } from './debian/cuts.ts';
import { killOnce } from './debian/kills.ts';
import { LIFE } from './debian/life.ts';
import { buildVersions, FIRST } from './debian/versions.ts';

const HELP = `Tries the package on a clean Debian with systemd and without a network, in namespaces and memory.

  npm run check -- debian --root FOLDER [options]

  --root FOLDER  a Debian system, which is not changed; make one with
                 debootstrap --variant=minbase --include=systemd,systemd-sysv bookworm FOLDER
                 (or trixie); with nothing else, as the package has to be enough
  --first FILE   package of the version to upgrade from and return to (default: this one)
  --cuts N       power cuts at random moments of installations, upgrades, returns and restores (default 0)
  --kills N      kills of dpkg and its scripts at random moments while the box keeps running (default 0)
  --seed N       repeat the cuts and kills of a run (default: a new seed, printed)
  --help         this text

Builds three versions of the package: this one, one that migrates and fails, and one that migrates and works. Installs,
upgrades, downgrades, returns, removes and purges them while a device keeps sending. After a power cut one version must
serve with its own state. Needs root, unshare, nsenter and curl. The exit code is 1 if a step fails.
`;

async function main(): Promise<number> {
  const text = { type: 'string' } as const;
  const values = parseWords({
    help: { type: 'boolean' },
    root: text,
    first: text,
    cuts: text,
    kills: text,
    seed: text,
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (values.root === undefined)
    throw new UsageError('--root FOLDER is missing; --help says how one is made');
  const cuts = whole('cuts', values.cuts, 0, 10_000) ?? 0;
  const kills = whole('kills', values.kills, 0, 10_000) ?? 0;
  const seed = whole('seed', values.seed, 0, 2 ** 31) ?? randomInt(2 ** 31);
  const missing = whyNoDebianRoot();
  if (missing !== undefined) throw new UsageError(`not possible here: ${missing}`);
  const folder = mkdtempSync(join(tmpdir(), 'packages-'));
  try {
    await told('build three versions', async () => {
      const bundles = join(folder, 'dist');
      await bundle(bundles);
      buildVersions(folder, bundles, values.first);
    });
    await withBoard(folder, values.root, async (board) => {
      for (const { name, run } of LIFE) await told(name, () => run(board), board);
    });
    for (const [name, count, once] of [
      ['cut', cuts, cutOnce],
      ['kill', kills, killOnce],
    ] as const)
      if (count > 0)
        await withBoard(folder, values.root, (board) => byChance(board, { name, count, once, seed }));
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface ByChance {
  name: string;
  count: number;
  once: (board: Board, random: Random) => Promise<string>;
  seed: number;
}

async function byChance(board: Board, { name, count, once, seed }: ByChance): Promise<void> {
  process.stdout.write(`seed ${seed}\n`);
  const random = createRandom(seed);
  board.install(FIRST);
  await board.servingVersion();
  board.claim();
  for (let number = 1; number <= count; number += 1)
    process.stdout.write(`${name} ${number}: ${await once(board, random)}\n`);
}

async function withBoard(folder: string, root: string, work: (board: Board) => Promise<void>): Promise<void> {
  const debian = await DebianRoot.start(folder, root);
  const board = new Board(debian);
  debian.must('printf "GATEWAY_MDNS=false\\nGUARD_CALM_S=3\\n" >/etc/energy-gateway.env');
  try {
    await work(board);
  } finally {
    await board.end();
  }
}

/** Says what a step took, and how large the installation is after it. */
async function told(name: string, work: () => void | Promise<void>, board?: Board): Promise<void> {
  const beganMs = performance.now();
  await work();
  const tookS = ((performance.now() - beganMs) / 1_000).toFixed(1);
  const size = board?.debian.run('du -sm /usr/lib/energy-gateway 2>/dev/null | cut -f1').output.trim() ?? '';
  process.stdout.write(`${tookS.padStart(7)} s ${size.padStart(5)}${size === '' ? '   ' : ' MB'}  ${name}\n`);
}

await runScript(main);
