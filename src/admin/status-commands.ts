/** Local commands that ask the running gateway: whether everything works, and for what somebody far away needs to find a fault. */
import { spawnSync } from 'node:child_process';
import { messageOf } from '../lib/errors.ts';
import { mapped } from '../lib/members.ts';
import { withoutSecrets } from '../lib/redaction.ts';
import { askGateway, type Command, type Local, openFile } from './command.ts';

const REPORT = '/v3/problem_report';
const TOKEN_LIFETIME_MS = 60_000;
/** A gateway that does not answer within this time is not ready. */
const READY_MS = 5_000;
const ANSWER_MS = 30_000;
const OUTPUT_MAX_BYTES = 16 * 1_048_576;

/** Programs of the system whose output helps; some need root or are missing on some boxes, so each is tried. */
const ASKED: Readonly<Record<string, readonly string[]>> = {
  versions: ['energy-gateway-versions', 'status'],
  unit: [
    'systemctl',
    'show',
    'energy-gateway.service',
    '--property=ActiveState,SubState,NRestarts,Result,MemoryCurrent',
  ],
  journal: ['journalctl', '-u', 'energy-gateway', '-n', '3000', '--no-pager', '-o', 'short-iso'],
  disks: ['df', '-h'],
  kernel: ['dmesg', '--level=err,warn', '--time-format=iso'],
};

export const STATUS_COMMANDS: Record<string, Command> = {
  ready: {
    takes: [],
    prepare: () => async (local) => {
      const { ok, text } = await askGateway(local, '/readyz', { withinMs: READY_MS });
      if (ok) return ['The gateway is ready.'];
      const { errors = [] } = JSON.parse(text) as { errors?: { message: string }[] };
      throw new Error(errors.map(({ message }) => message).join(' ') || text);
    },
  },
  'problem-report': {
    takes: ['file'],
    prepare: async (_values, [path = '']) => {
      const file = await openFile(path, 'wx');
      const system = mapped(ASKED, ([program = '', ...words]) => answerOf(program, words));
      return async (local) => {
        const gateway = await reportOf(local);
        await file.writeFile(`${JSON.stringify({ gateway, system }, null, 2)}\n`);
        await file.close();
        return [
          `The report stands in ${path}. What looks like a secret was removed; read it before you send it on.`,
        ];
      };
    },
  },
};

function answerOf(program: string, words: readonly string[]): string[] {
  const { stdout, stderr, error } = spawnSync(program, words, {
    encoding: 'utf8',
    timeout: ANSWER_MS,
    maxBuffer: OUTPUT_MAX_BYTES,
  });
  return withoutSecrets(error ? messageOf(error) : stdout + stderr)
    .trim()
    .split('\n');
}

/** The report of the running gateway, or why there is none; read with a token that is revoked afterwards. */
async function reportOf(local: Local): Promise<unknown> {
  return local.withState(async ({ auth }) => {
    const request = { name: 'problem report', role: 'OWNER', lifetimeMs: TOKEN_LIFETIME_MS } as const;
    const token = auth.tokens.create(request);
    try {
      const { text } = await askGateway(local, REPORT, { withinMs: ANSWER_MS, token: token.text });
      return JSON.parse(text) as unknown;
    } catch (error) {
      return { unreachable: messageOf(error) };
    } finally {
      auth.tokens.revoke(token.record.id);
    }
  });
}
