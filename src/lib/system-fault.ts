/** Refusals of the disk and the system, as sentences of the gateway: the world's fault, not ours. */
import { GatewayError, messageOf, unavailable } from './errors.ts';

const FULL_CODE = /^SQLITE_FULL|^ENOSPC$|^EDQUOT$/;
const FAILURE_CODE = /^SQLITE_IOERR|^EIO$/;

const UNCONFIRMED =
  'The disk did not confirm this change: it may have been stored. Look before you repeat it, and check the disk.';
const FAILING = 'The disk fails now, so this cannot be stored or read. Check it.';

const FORBIDDEN =
  'The system does not let the gateway use one of its files or folders. Give them back to the user of the gateway.';

const TOO_MANY_OPEN =
  'The gateway has as many files and connections open as it may. Close connections that nobody needs; it goes on then.';

const TOO_MANY_PROGRAMS =
  'The system starts nothing more now, for want of memory or because as many programs run as may. End what nobody needs; it goes on then.';

const FAULTS: [code: RegExp, message: string][] = [
  [/^EMFILE$|^ENFILE$/, TOO_MANY_OPEN],
  [
    // The runtime says so of a thread, or of code that it reads only when it is needed.
    /^ERR_(?:WORKER_INIT_FAILED|INVALID_PACKAGE_CONFIG|DLOPEN_FAILED)$/,
    `This work cannot begin now, for want of memory, of programs that may run, or of open files. If of these: ${TOO_MANY_OPEN}`,
  ],
  [/^EAGAIN$|^ENOMEM$/, TOO_MANY_PROGRAMS],
  // The index of the log has to grow, which needs room.
  [
    /^SQLITE_IOERR_SHMSIZE$/,
    'The disk is full, or fails, so this cannot be stored or read now. Make room on it, or check it.',
  ],
  [FULL_CODE, 'The disk is full, so this cannot be stored now. Make room on it.'],
  [/^EROFS$/, 'The disk is read-only now, so nothing can be stored. Check it.'],
  [
    // SQLite reads a file that the system does not let it open for writing, whatever the reason.
    /^SQLITE_READONLY/,
    'The disk is read-only now, or has refused to open a file for writing, so nothing can be stored. Check it.',
  ],
  // Nobody but the gateway and its local commands, which are quick, has business there.
  [
    /^SQLITE_BUSY/,
    'Another program keeps a database of the gateway locked, or the system gives no locks now. End that program; it goes on then.',
  ],
  // Also when no more files may be opened.
  [/^SQLITE_CANTOPEN/, `A file cannot be opened now. ${FAILING} Or: ${TOO_MANY_OPEN}`],
  // SQLite reports a page that the disk does not return as damage.
  [/^SQLITE_IOERR|^SQLITE_CORRUPT|^EIO$/, FAILING],
  [/^EACCES$|^EPERM$/, FORBIDDEN],
];

/** The error itself; or `unavailable` with it as cause, if the disk or the system refuse something for now. */
export function asSystemFault(error: unknown): unknown {
  if (error instanceof GatewayError) return error;
  const message = systemFaultOf(error);
  return message === undefined ? error : unavailable(message, { cause: error });
}

/** Any error as a sentence for a person: the refusal of the disk or system, or else the text of the error. */
export const inWords = (error: unknown): string => messageOf(asSystemFault(error));

/** The same with the system's message, which names the file: for readers who have nothing but this sentence. */
export function inWordsAndDetail(error: unknown): string {
  const [words, said] = [inWords(error), messageOf(error)];
  return words === said ? said : `${words} (${said})`;
}

/** For data that was written and is perhaps not on the disk. */
export const diskFails = (cause?: unknown): GatewayError => unavailable(FAILING, { cause });

/** For a change that was made, and that the disk did not confirm. */
export const mayBeStored = (cause?: unknown): GatewayError => unavailable(UNCONFIRMED, { cause });

/** The refusal that an error, or one of its causes, stands for, as a sentence; undefined for other errors. */
function systemFaultOf(error: unknown): string | undefined {
  const code = codeOf(error);
  return code === undefined ? undefined : FAULTS.find(([pattern]) => pattern.test(code))?.[1];
}

const SYSTEM_CODE = /^E[A-Z0-9]+$/;

/** The result of `read`, or of `refused` for an error when disk or system refuse it. @throws other errors of `read` */
export function unlessRefused<Result, Refused>(
  read: () => Result,
  refused: (error: unknown) => Refused,
): Result | Refused {
  try {
    return read();
  } catch (error) {
    if (isRefusal(error)) return refused(error);
    throw error;
  }
}

/** Whether disk or system refuse something, which says nothing of what is there. */
export function isRefusal(error: unknown): boolean {
  const fault = asSystemFault(error);
  return fault instanceof GatewayError ? fault.kind === 'unavailable' : hasCode(error, SYSTEM_CODE);
}

/** The system's code of an error or of one of its causes; undefined for other errors. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error ? String(error.code) : undefined;
  return code !== undefined && isSystemCode(code) ? code : codeOf(error.cause);
}

/** Whether disk or system refuse something with this code. */
export const isSystemCode = (code: string): boolean => FAULTS.some(([pattern]) => pattern.test(code));

const STAYS_REFUSED = /^(EACCES|EPERM|EEXIST|ENOTDIR|EISDIR|ENOENT|ELOOP|ENAMETOOLONG|EINVAL)$/;

/** Whether a path is refused until a person acts; other errors, such as those of a drive that is away, may pass. */
export function staysRefused(error: unknown): boolean {
  return !(error instanceof Error && 'code' in error) || STAYS_REFUSED.test(String(error.code));
}

/** Whether the error, or one of its causes, has such a code. */
export function hasCode(error: unknown, pattern: RegExp): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && pattern.test(String(error.code))) || hasCode(error.cause, pattern);
}

/** Whether the error, or one of its causes, says that there is no room: on the disk, or below the file's limit. */
export const isFull = (error: unknown): boolean => hasCode(error, FULL_CODE);

/** Whether the error, or one of its causes, says that reading, writing or syncing failed for another reason than a full disk. */
export const isFailure = (error: unknown): boolean => hasCode(error, FAILURE_CODE);
