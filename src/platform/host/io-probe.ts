/** Whether the system has a CAN interface, a GPIO chip or an analogue channel for us. */
import { access, constants, readFile } from 'node:fs/promises';
import { messageOf } from '../../lib/errors.ts';

/** As the kernel numbers kinds of interfaces (linux/if_arp.h). */
const ARPHRD_CAN = '280';

/** Undefined: it does; else why not, for people. */
export async function canProblem(interfaceName: string): Promise<string | undefined> {
  try {
    const folder = `/sys/class/net/${interfaceName}`;
    if ((await readFile(`${folder}/type`, 'utf8')).trim() !== ARPHRD_CAN) return 'is no CAN interface';
    if ((await readFile(`${folder}/operstate`, 'utf8')).trim() === 'down')
      return 'the interface is down: its bit rate and state are set by the system';
    return await programProblem('candump', 'can-utils');
  } catch (error) {
    return problemOf(error, 'no such interface');
  }
}

/** As above. */
export async function gpioProblem(chip: string): Promise<string | undefined> {
  try {
    await access(chip, constants.R_OK | constants.W_OK);
    return await programProblem('gpiomon', 'gpiod');
  } catch (error) {
    return problemOf(error, 'no such device file');
  }
}

/** As above. */
export async function analogProblem(channel: string): Promise<string | undefined> {
  try {
    await readFile(`${channel}_input`).catch(() => readFile(`${channel}_raw`));
    return undefined;
  } catch (error) {
    return problemOf(error, 'no such channel');
  }
}

async function programProblem(name: string, packageName: string): Promise<string | undefined> {
  try {
    await access(`/usr/bin/${name}`, constants.X_OK);
    return undefined;
  } catch (error) {
    return problemOf(error, `the program ${name} is not installed, the package ${packageName} brings it`);
  }
}

function problemOf(error: unknown, absent: string): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return absent;
  if (code === 'EACCES') return 'permission denied; the service must be in the group of the file';
  return messageOf(error);
}
