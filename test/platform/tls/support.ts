/** Certificates in a temporary folder, names that a test changes, and what OpenSSL says. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { Tls, type ServerNames, type TlsOptions } from '../../../src/platform/tls/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { type LogLine, recordingLog, temporaryFolder } from '../../support/workspace.ts';

export interface Bench {
  folder: string;
  clock: TestClock;
  lines: LogLine[];
  names: { dns: string[]; ips: string[] };
  /** Opens the folder, as a start of the gateway does. */
  open: (more?: Partial<TlsOptions>) => Promise<Tls>;
}

export function startBench(t: TestContext, clock = new TestClock()): Bench {
  const folder = join(temporaryFolder(t), 'tls');
  const { log, lines } = recordingLog(clock);
  const names = {
    dns: ['gateway', 'gateway.local', 'localhost'],
    ips: ['127.0.0.1', '::1', '192.0.2.7'],
  } satisfies ServerNames;
  return {
    folder,
    clock,
    lines,
    names,
    open: async (more = {}) => {
      const tls = await Tls.open({ folder, clock, log, limits: LIMITS.tls, names: () => names, ...more });
      t.after(() => tls.stop());
      return tls;
    },
  };
}

/**
 * `openssl verify -x509_strict`: asserts that the certificate is fine, or why it is not. Where the program is
 * not installed this says so; what Node itself checks is asserted by the tests in any case.
 */
export async function assertOpenssl(
  t: TestContext,
  { caPem, pem, purpose, refusal, atMs }: OpensslCheck,
): Promise<void> {
  const folder = temporaryFolder(t);
  const [ca, leaf] = [join(folder, 'ca.pem'), join(folder, 'leaf.pem')];
  writeFileSync(ca, caPem);
  writeFileSync(leaf, pem);
  const time = atMs === undefined ? [] : ['-attime', String(atMs / 1_000)];
  const options = ['verify', '-x509_strict', '-purpose', purpose, '-CAfile', ca, ...time, leaf];
  const output = await new Promise<string | undefined>((resolve) => {
    execFile('openssl', options, (error, stdout, stderr) =>
      resolve(error?.code === 'ENOENT' ? undefined : error ? stdout + stderr : ''),
    );
  });
  if (output === undefined) t.diagnostic('openssl is not installed: its opinion was not asked');
  else assert.match(output, refusal ?? /^$/);
}

export interface OpensslCheck {
  caPem: string;
  pem: string;
  purpose: 'sslclient' | 'sslserver';
  /** What the refusal says; absent: there is none. */
  refusal?: RegExp;
  /** Time that it takes for the present one. */
  atMs?: number;
}

export const newHardwareId = (): string => randomBytes(20).toString('hex').toUpperCase();
