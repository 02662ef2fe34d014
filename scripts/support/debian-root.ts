/** A Debian with systemd in namespaces of its own, in which packages are tried; its power can be cut. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const BOOT_ROUNDS = 600;
const ROUND_MS = 100;

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
 * A Debian in namespaces of its own: what is written goes into memory, there is no network but the machine itself, and
 * systemd is its first process. `/tmp/packages` is the folder of the packages.
 */
export class DebianRoot {
  readonly #folder: string;
  readonly #packages: string;
  readonly #unit: string;
  /** Keeps what was written while the power is off. */
  readonly #disk: ChildProcess;
  #first: ChildProcess | undefined;
  #pid = 0;

  private constructor(folder: string, packages: string, below: string) {
    this.#folder = folder;
    this.#packages = packages;
    // The services of this machine are not started a second time.
    this.#unit = below === '/' ? 'basic.target' : 'multi-user.target';
    this.#disk = spawn('unshare', ['-m', 'sh', '-c', DISK, 'sh', folder, below], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
  }

  /** @param packages a folder of them @param below the Debian itself; this machine's when it is not named */
  static async start(packages: string, below = '/'): Promise<DebianRoot> {
    const folder = mkdtempSync(join(tmpdir(), 'debian-root-'));
    mkdirSync(join(folder, 'memory'));
    // Readable for the user as whom apt reads packages.
    chmodSync(packages, 0o755);
    const root = new DebianRoot(folder, packages, below);
    try {
      await once(root.#disk.stdout as NonNullable<ChildProcess['stdout']>, 'data');
      await root.boot();
      return root;
    } catch (error) {
      root.end();
      throw error;
    }
  }

  /** Pid of its first process, by which others enter. */
  get pid(): number {
    return this.#pid;
  }

  /** Resolves when systemd has started everything. @throws Error when it does not */
  async boot(): Promise<void> {
    const disk = String(this.#disk.pid);
    const namespaces = ['-m', '-p', '-f', '-u', '-i', '-n', '--kill-child'];
    const first = spawn(
      'nsenter',
      [
        '-t',
        disk,
        '-m',
        'unshare',
        ...namespaces,
        'sh',
        '-c',
        BOOT,
        'sh',
        this.#folder,
        this.#unit,
        this.#packages,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    let said = '';
    first.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
    this.#first = first;
    for (let round = 0; round < BOOT_ROUNDS && first.exitCode === null; round += 1) {
      await pause(ROUND_MS);
      const children = spawnSync('pgrep', ['-P', String(first.pid)], { encoding: 'utf8' }).stdout.trim();
      this.#pid = Number(children);
      if (this.#pid > 0 && /^(?:running|degraded)/.test(this.run('systemctl is-system-running').output))
        return;
    }
    throw new Error(`systemd does not come up: ${said}`);
  }

  /** Every process is gone at this moment; what was written is there at the next boot. */
  async cutPower(): Promise<void> {
    const first = this.#first;
    if (!first || first.exitCode !== null || first.signalCode !== null) return;
    const isOff = once(first, 'exit');
    process.kill(this.#pid, 'SIGKILL');
    await isOff;
  }

  /** Runs a line of shell inside. */
  run(line: string): { status: number | null; output: string } {
    const { status, stdout, stderr } = spawnSync('nsenter', this.#inside(line), {
      encoding: 'utf8',
      env: ENVIRONMENT,
    });
    return { status, output: `${stdout}${stderr}` };
  }

  /** Runs curl of this machine on its network: a minimal Debian has none. */
  request(words: readonly string[]): { status: number | null; output: string } {
    const curl = ['-t', String(this.#pid), '-n', 'curl', '-sS', ...words];
    const { status, stdout, stderr } = spawnSync('nsenter', curl, { encoding: 'utf8', env: ENVIRONMENT });
    return { status, output: `${stdout}${stderr}` };
  }

  /** Runs a line that has to succeed. */
  must(line: string): string {
    const { status, output } = this.run(line);
    if (status !== 0) throw new Error(`${line}: ended with ${status}: ${output}`);
    return output;
  }

  /** Begins a line of which the end is not waited for. */
  begin(line: string): ChildProcess {
    return spawn('nsenter', this.#inside(line), { stdio: 'ignore', env: ENVIRONMENT, detached: true });
  }

  /** Ends what was begun, with all that it started itself; services go on. */
  kill({ pid, exitCode, signalCode }: ChildProcess): void {
    const hasEnded = exitCode !== null || signalCode !== null;
    if (pid !== undefined && !hasEnded) process.kill(-pid, 'SIGKILL');
  }

  end(): void {
    this.#first?.kill('SIGKILL');
    this.#disk.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #inside(line: string): string[] {
    const shell = ['sh', '-c', `exec 2>&1; cd /; ${line}`];
    return ['-t', String(this.#pid), '-m', '-p', '-u', '-i', '-n', '-r', '-w', ...shell];
  }
}

const ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

/** Ends with who began it, whose pipe it reads. */
const DISK = `
set -e
mount --make-rprivate /
mount -t tmpfs memory "$1/memory"
cd "$1/memory"
mkdir upper work root
mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/memory/upper,workdir=$1/memory/work" root
echo mounted
exec cat
`;

const BOOT = `
set -e
mount --make-rprivate /
cd "$1/memory"
ip link set lo up 2>/dev/null || true
mount -t proc proc root/proc
mount -t tmpfs -o mode=755 dev root/dev
for device in null zero full random urandom tty; do cp -a "/dev/$device" root/dev/; done
mkdir root/dev/pts root/dev/shm
mount -t devpts -o newinstance,ptmxmode=666 devpts root/dev/pts
ln -s pts/ptmx root/dev/ptmx
ln -s /proc/self/fd root/dev/fd
mount -t tmpfs shm root/dev/shm
mount -t sysfs -o ro sysfs root/sys
mount -t tmpfs cgroup root/sys/fs/cgroup
mount -t cgroup2 cgroup2 root/sys/fs/cgroup || {
  mkdir root/sys/fs/cgroup/systemd
  mount -t cgroup -o none,name=systemd cgroup root/sys/fs/cgroup/systemd
}
mount -t tmpfs run root/run
mount -t tmpfs tmp root/tmp
mkdir root/tmp/packages
mount --bind "$3" root/tmp/packages
export container=lxc
exec chroot root /lib/systemd/systemd --system "--unit=$2" --log-target=null --show-status=0
`;
