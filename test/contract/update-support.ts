/** Updates of a gateway that its package is said to have installed, behind the real HTTP server. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Updates, updateRoutes } from '../../src/capabilities/updates/index.ts';
import { UpdateFolder } from '../../src/platform/packages/index.ts';
import { signed } from '../platform/packages/support.ts';
import { serve, type Served } from '../support/serve.ts';
import { TestClock } from '../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../support/workspace.ts';

export const UPDATE = '/v3/update';
export const PROCESSOR = process.arch === 'arm64' ? 'arm64' : 'amd64';

export async function startUpdates(t: TestContext, { freeBytes = 1e12, fields = {} } = {}) {
  const clock = new TestClock();
  const dataDir = temporaryFolder(t);
  const made = await signed(t, { Architecture: PROCESSOR, ...fields });
  const keyFile = join(made.folder, 'trusted.pem');
  writeFileSync(keyFile, made.trusted);
  const updater = {
    program: join(made.folder, 'take-update'),
    dataDir,
    outcomeFile: join(made.folder, 'update-outcome'),
    trialFile: join(made.folder, 'outcome'),
    failureFile: join(made.folder, 'failure'),
  };
  writeFileSync(updater.program, '');
  const build = (version = '0.1.0'): Updates =>
    new Updates({
      clock,
      log: recordingLog(clock).log,
      folder: new UpdateFolder(dataDir, updater),
      installed: { version, keyFiles: [keyFile, join(made.folder, 'of-nobody.pem')] },
      freeBytes: () => freeBytes,
    });
  /** With another version, or the same, at an address of its own. */
  const restart = (version?: string): Promise<Served> =>
    serve(t, { clock, devices: undefined as never, routes: updateRoutes(build(version)) });
  const served = await restart();
  const call = async (method: string, path: string, body?: Uint8Array<ArrayBuffer>) => {
    const response = await fetch(served.origin + UPDATE + path, {
      method,
      headers: { 'X-Service-Auth-Token': 'INSTALLER', Connection: 'close' },
      ...(body && { body }),
    });
    const answer = (await response.json()) as Answered;
    return { status: response.status, ...answer };
  };
  const upload = (bytes: Uint8Array = readFileSync(made.file)) =>
    call('POST', '/upload', Uint8Array.from(bytes));
  return { ...made, clock, dataDir, updater, keyFile, served, call, upload, restart };
}

export interface Answered {
  update: {
    supported: boolean;
    installing: boolean;
    uploaded: { version: string; release_notes: string; size_bytes: number } | null;
    last_outcome: { at: string; message: string } | null;
    failed_trial: {
      at: string;
      version: string;
      reason: string;
      status: string | null;
      words: string | null;
    } | null;
  };
  errors: { code: string; message: string; details: { problem: string } }[];
}
