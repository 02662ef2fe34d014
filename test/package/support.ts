/** Packages as `npm run build-deb` makes them, quickly, and a Debian with systemd in which they are tried. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { bundle } from '../../scripts/build.ts';
import { packDeb } from '../../scripts/build-deb/archive.ts';
import { stageGateway } from '../../scripts/build-deb/contents.ts';
import type { Processor } from '../../scripts/build-deb/runtime.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

const PACKED = 'usr/lib/energy-gateway/package';

export interface Built {
  /** The `.deb`. */
  file: string;
  /** The tree that was packed. */
  root: string;
}

/** Stages and packs the gateway; `change` may spoil the tree of a version before it is packed. */
export async function buildGateway(
  folder: string,
  options: {
    processor?: Processor;
    version?: string;
    bundles?: string;
    change?: (release: string) => void;
  } = {},
): Promise<Built> {
  const { processor = 'amd64', version = '0.1.0' } = options;
  const root = join(folder, `root-${version}-${processor}`);
  const bundles = options.bundles ?? join(folder, 'dist');
  if (!existsSync(bundles)) await bundle(bundles);
  stageGateway({ root, source: PROJECT_ROOT, bundles, processor, version });
  if (options.change) {
    options.change(join(root, PACKED));
    writeFileSync(join(root, PACKED, 'release'), `${version}-changed\n`);
  }
  const file = join(folder, `energy-gateway_${version}_${processor}.deb`);
  packDeb({ root, file, level: 0, source: PROJECT_ROOT });
  return { file, root };
}

/** What is missing for `DebianRoot`; undefined: nothing. */
export function whyNoDebianRoot(): string | undefined {
  if (process.getuid?.() !== 0) return 'not root';
  for (const program of ['unshare', 'nsenter', 'dpkg', 'systemctl'])
    if (spawnSync('which', [program]).status !== 0) return `no ${program}`;
  if (!existsSync('/lib/systemd/systemd')) return 'no systemd';
  const tried = spawnSync('unshare', ['-m', '-p', '-f', '-n', 'true']);
  return tried.status === 0 ? undefined : 'namespaces are not allowed here';
}

/**
 * The Debian of this machine in namespaces of its own: what is written goes into memory, there is no network but the
 * machine itself, and systemd is its first process.
 */
export class DebianRoot {
  readonly #first: ChildProcess;
  readonly #folder: string;
  #pid = 0;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#first = spawn(
      'unshare',
      ['-m', '-p', '-f', '-u', '-i', '-n', '--kill-child', 'sh', '-c', BOOT, 'sh', folder],
      { stdio: ['ignore', 'ignore', 'ignore'] },
    );
  }

  static async start(t: Pick<TestContext, 'after'>, packages: string): Promise<DebianRoot> {
    const folder = mkdtempSync(join(tmpdir(), 'debian-root-'));
    mkdirSync(join(folder, 'packages'));
    mkdirSync(join(folder, 'memory'));
    cpSync(packages, join(folder, 'packages'), {
      recursive: true,
      filter: (path) => !path.includes('/root-'),
    });
    const root = new DebianRoot(folder);
    t.after(() => root.end());
    await root.#booted();
    return root;
  }

  async #booted(): Promise<void> {
    for (let round = 0; round < 600; round += 1) {
      await pause(100);
      const children = spawnSync('pgrep', ['-P', String(this.#first.pid)], {
        encoding: 'utf8',
      }).stdout.trim();
      this.#pid = Number(children);
      if (this.#pid > 0 && this.run('systemctl is-system-running').output.startsWith('running')) return;
    }
    throw new Error('systemd does not come up');
  }

  /** Runs a line of shell inside. */
  run(line: string): { status: number | null; output: string } {
    const { status, stdout, stderr } = spawnSync(
      'nsenter',
      [
        '-t',
        String(this.#pid),
        '-m',
        '-p',
        '-u',
        '-i',
        '-n',
        '-r',
        '-w',
        'sh',
        '-c',
        `exec 2>&1; cd /; ${line}`,
      ],
      { encoding: 'utf8', env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' } },
    );
    return { status, output: `${stdout}${stderr}` };
  }

  /** Runs a line that has to succeed. */
  must(line: string): string {
    const { status, output } = this.run(line);
    if (status !== 0) throw new Error(`${line}: ended with ${status}: ${output}`);
    return output;
  }

  end(): void {
    this.#first.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const BOOT = `
set -e
mount --make-rprivate /
mount -t tmpfs memory "$1/memory"
cd "$1/memory"
mkdir upper work root
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/memory/upper,workdir=$1/memory/work" root
ip link set lo up 2>/dev/null || true
mount -t proc proc root/proc
mount --rbind /dev root/dev
mount -t sysfs sysfs root/sys
mount -t tmpfs cgroup root/sys/fs/cgroup
mount -t cgroup2 cgroup2 root/sys/fs/cgroup || {
  mkdir root/sys/fs/cgroup/systemd
  mount -t cgroup -o none,name=systemd cgroup root/sys/fs/cgroup/systemd
}
mount -t tmpfs run root/run
mount -t tmpfs tmp root/tmp
mkdir root/tmp/packages
mount --bind "$1/packages" root/tmp/packages
export container=lxc
exec chroot root /lib/systemd/systemd --system --unit=basic.target --log-target=null --show-status=0
`;

/** Paths in a package with mode, owner and size, as dpkg-deb lists them. */
export function listOf(file: string): { path: string; mode: string; owner: string; sizeBytes: number }[] {
  return execFileSync('dpkg-deb', ['--contents', file], { encoding: 'utf8', maxBuffer: 1e8 })
    .trim()
    .split('\n')
    .map((line) => line.split(/\s+/))
    .map(([mode = '', owner = '', size = '', , , path = '']) => ({
      path: path.replace(/^\./, ''),
      mode,
      owner,
      sizeBytes: Number(size),
    }));
}

/** Processor of a program or library by its header (elf(5)); undefined: neither. */
export function processorOf(path: string): string | undefined {
  const file = readFileSync(path);
  if (file.length < 20 || file.readUInt32BE(0) !== 0x7f454c46) return undefined;
  return { 62: 'amd64', 183: 'arm64' }[file.readUInt16LE(18)] ?? `machine ${file.readUInt16LE(18)}`;
}
