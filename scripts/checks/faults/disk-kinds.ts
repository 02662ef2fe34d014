/** Faults of the disk under the data folder. */
import { join } from 'node:path';
import type { Problem } from '../world/journal.ts';
import { createTokens } from '../../support/gateway-process.ts';
import type { Box } from './box.ts';
import { broken, controlWorks, type FaultKind, telemetryFlows } from './kind.ts';

const POWER_ON_MS = { least: 300, most: 2_500 };
const BROKEN_MS = { least: 500, most: 2_500 };
/** Some more than the gateway waits before it tries again. */
const REFUSED_MS = { least: 500, most: 8_000 };
const START_MS_MAX = 30_000;
const POLL_MS = 50;

export const DISK_KINDS: readonly FaultKind[] = [
  {
    name: 'power-cut',
    about: 'The power goes: sectors that were not synced are old or new, by chance, in no order.',
    needsDisk: true,
    run: cutPower,
  },
  {
    name: 'full-disk',
    about:
      'No byte is left: control works, from a start as well; telemetry is acknowledged again when there is room.',
    needsDisk: true,
    run: (box) => withoutRoom(box, () => box.disk.fill()),
  },
  {
    name: 'no-inodes',
    about: 'No place for a file is left: as with a full disk.',
    needsDisk: true,
    run: (box) => withoutRoom(box, () => box.disk.useUpInodes()),
  },
  {
    name: 'failing-disk',
    about:
      'Writing fails for a while and the file system becomes read-only; then the power is cycled on a good disk.',
    needsDisk: true,
    run: failMedium,
  },
  {
    name: 'reviving-disk',
    about:
      'Writing fails for a while, the gateway is started anew on the same disk, which takes data again; then the power goes.',
    needsDisk: true,
    run: reviveMedium,
  },
  {
    name: 'read-only-disk',
    about:
      'Started on a disk that takes no writes: serves, or ends with a reason; afterwards all is as it was.',
    needsDisk: true,
    run: startReadOnly,
  },
  {
    name: 'refusing-disk',
    about:
      'Started while the disk gives no file of the history, which it gives again later: control works, nothing is begun anew.',
    run: startRefused,
  },
  {
    name: 'unreadable-folder',
    about:
      'The disk gives no file or name of the data folder while the gateway works: the status pages say so, control works.',
    run: refuseFolder,
  },
];

async function cutPower(box: Box): Promise<Problem[]> {
  await box.clock.sleep(box.random.between(POWER_ON_MS.least, POWER_ON_MS.most));
  process.kill(box.gateway.pid, 'SIGSTOP');
  const left = box.disk.cutPower(box.random);
  const { code, signal } = await box.kill();
  left.apply();
  await box.restart();
  return signal === 'SIGKILL' ? [] : [broken(`the gateway ended by itself with code ${code}`)];
}

async function withoutRoom(box: Box, take: () => void): Promise<Problem[]> {
  await box.rest();
  take();
  const problems = await controlWorks(box, 2);
  if (box.random.chance(0.5)) await box.gateway.end('SIGTERM');
  else await box.kill();
  await box.restart();
  problems.push(...(await controlWorks(box, 2)));
  box.disk.empty();
  return [...problems, ...(await telemetryFlows(box))];
}

async function failMedium(box: Box): Promise<Problem[]> {
  await breakMediumAndKill(box);
  box.disk.mendMedium();
  await box.restart();
  return [];
}

/** A file system that has given up is mounted anew, as nothing else helps. */
async function reviveMedium(box: Box): Promise<Problem[]> {
  await breakMediumAndKill(box);
  if (!box.disk.reviveMedium()) box.disk.mendMedium();
  await box.restart();
  box.resume();
  const problems = await telemetryFlows(box);
  return [...problems, ...(await cutPower(box))];
}

/** What people do meanwhile may be refused: nothing can be stored. */
async function breakMediumAndKill(box: Box): Promise<void> {
  box.disk.breakMedium();
  await box.clock.sleep(box.random.between(BROKEN_MS.least, BROKEN_MS.most));
  await box.kill();
  await box.rest();
  // Its child programs are about to leave the folder.
  await box.clock.sleep(500);
}

async function startReadOnly(box: Box): Promise<Problem[]> {
  await box.gateway.end('SIGTERM');
  await box.rest();
  const offset = box.logSize();
  box.disk.setReadOnly(true);
  box.begin();
  const problem = await servesOrSaysWhy(box, offset);
  await box.kill();
  await box.clock.sleep(500);
  box.disk.setReadOnly(false);
  await box.restart();
  return problem;
}

async function startRefused(box: Box): Promise<Problem[]> {
  await box.rest();
  await box.kill();
  const refused = box.random.pick(['history.db', 'telemetry-journal', 'telemetry-journal/0']);
  const refusedWith = box.random.pick(['EIO', 'EACCES'] as const);
  await box.set({ refusedPath: join(box.dataDir, refused), refusedWith });
  try {
    await box.restart();
    const problems = await controlWorks(box, 2);
    await box.clock.sleep(box.random.between(REFUSED_MS.least, REFUSED_MS.most));
    await box.set({ refusedPath: undefined });
    return [...problems, ...(await telemetryFlows(box))];
  } finally {
    await box.set({ refusedPath: undefined });
  }
}

async function refuseFolder(box: Box): Promise<Problem[]> {
  await box.rest();
  const [token = ''] = await createTokens(box.home, 'INSTALLER', 1);
  await box.set({ refusedPath: box.dataDir });
  try {
    const problems = [...(await statusPagesTell(box, token)), ...(await controlWorks(box, 2))];
    await box.clock.sleep(box.random.between(REFUSED_MS.least, REFUSED_MS.most));
    await box.set({ refusedPath: undefined });
    return [...problems, ...(await telemetryFlows(box)), ...(await becomesReady(box))];
  } finally {
    await box.set({ refusedPath: undefined });
  }
}

async function statusPagesTell({ home }: Box, token: string): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const path of ['/healthz', '/readyz', '/metrics', '/v3/problem_report']) {
    const answer = await fetch(home.baseUrl + path, { headers: { 'X-Service-Auth-Token': token } });
    const text = await answer.text();
    const isRight =
      path === '/readyz'
        ? answer.status === 503 && text.includes('"data_folder_unreadable"')
        : answer.status === 200;
    if (!isRight) problems.push(broken(`${path} answers ${answer.status}: ${text.slice(0, 300)}`));
  }
  return problems;
}

async function becomesReady({ home, clock }: Box): Promise<Problem[]> {
  const deadlineMs = clock.monotonicMs() + START_MS_MAX;
  for (;;) {
    const answer = await fetch(`${home.baseUrl}/readyz`);
    const text = await answer.text();
    if (answer.status === 200) return [];
    if (clock.monotonicMs() > deadlineMs) return [broken(`it is not ready again: ${text.slice(0, 300)}`)];
    await clock.sleep(POLL_MS);
  }
}

async function servesOrSaysWhy(box: Box, offset: number): Promise<Problem[]> {
  const deadlineMs = box.clock.monotonicMs() + START_MS_MAX;
  for (;;) {
    const lines = box.logSince(offset);
    if (lines.some(({ message }) => message === 'ready')) return [];
    if (box.gateway.hasExited)
      return lines.some(({ level }) => level === 'fatal')
        ? []
        : [broken('it ended on a read-only disk without a reason')];
    if (box.clock.monotonicMs() > deadlineMs)
      return [broken('on a read-only disk it neither serves nor ends')];
    await box.clock.sleep(POLL_MS);
  }
}
