/** The local command that applies a site file to the running gateway. */
import type { Config } from '../platform/config/index.ts';
import type { Outcome } from '../site-file/index.ts';
import { type Command, localUrl, tried } from './command.ts';

export const PROVISION_COMMANDS: Record<string, Command> = {
  provision: {
    takes: ['file'],
    options: ['dry-run'],
    prepare: async (values, [path = ''], terminal) => {
      const { readSiteFile } = await loadSiteFile();
      const file = tried(() => readSiteFile(path, terminal.environment));
      const isDryRun = values['dry-run'];
      return async ({ config, clock, withState }) => {
        await requireRunning(config);
        return withState(async ({ auth, record }) => {
          const { Api, apply, withOwnToken } = await loadSiteFile();
          const outcome = await withOwnToken(auth.tokens, (token) =>
            apply(file, new Api({ origin: localUrl(config, ''), token, fetch, clock }), { isDryRun }),
          );
          if (!isDryRun) record('admin_provision', { changes: String(outcome.done.length) });
          return linesOf(outcome, isDryRun);
        });
      };
    },
  },
};

/** Loaded on demand, because it brings many forms of the interface, which other commands do not need. */
const loadSiteFile = () => import('../site-file/index.ts');

/** Checked before anything is opened, because the first start must make the database, not this command. */
async function requireRunning(config: Config): Promise<void> {
  const url = localUrl(config, '/healthz');
  try {
    await (await fetch(url)).body?.cancel();
  } catch (error) {
    throw new Error(
      `The gateway does not answer at ${url}. Start it; for its first start GATEWAY_PROVISION_FILE may name the file.`,
      { cause: error },
    );
  }
}

function linesOf({ done, failed, left }: Outcome, isDryRun: boolean): string[] {
  if (failed) throw new Error(failureText(failed, done, left));
  const count = done.length + left.length;
  if (count === 0) return ['Nothing to change: the gateway is as the file says.'];
  const changes = count === 1 ? '1 change' : `${count} changes`;
  return [...done, ...left, isDryRun ? `${changes} to make; nothing was changed.` : `${changes} made.`];
}

function failureText(
  { change, reason }: NonNullable<Outcome['failed']>,
  done: string[],
  left: string[],
): string {
  const list = (head: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : [head, ...lines.map((line) => `  ${line}`)];
  return [
    ...list('Done:', done),
    `Failed: ${change}`,
    `  ${reason}`,
    ...list('Not tried:', left),
    'Once that is mended run it again: it goes on from here.',
  ].join('\n');
}
