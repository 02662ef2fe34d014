/** Calls of the HTTP API, as any client makes them; the login is in a cookie that scripts cannot read. */
import { signal } from '@preact/signals';
import type { DurationMs } from '../lib/time.ts';
import { Faults } from './input-faults.ts';
import { noteGatewayTime } from './gateway-time.ts';
import type { Problem } from './shapes.ts';
import { say } from './words/index.ts';

/** A refusal of the API, in the reader's language where it has words for it, else in its own sentences. */
export class ApiError extends Error {
  readonly status: number;
  readonly problems: readonly Problem[];

  constructor(status: number, problems: readonly Problem[]) {
    super(problems.map(({ message }) => message).join('\n'));
    this.status = status;
    this.problems = problems;
  }
}

/** No answer came: whether the gateway has done what was asked is not known. */
export class NoAnswer extends Error {
  constructor(cause: unknown, effect: Effect = 'reads') {
    super(effect === 'reads' ? say.frame.noAnswer : say.frame.noAnswerToChange, { cause });
  }
}

/** Counts changes made from this page; what is stored is read again when it grows. */
export const changeCount = signal(0);

let onRefused = (_status: number): void => {};

/** Is called when the API asks for a login, or for a higher role. */
export function whenRefused(listener: (status: number) => void): void {
  onRefused = listener;
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** Whether a request changes something that lists show; after a removal the caller reads the list itself. */
type Effect = 'changes' | 'removes' | 'reads';

/** The answer as JSON. @param answerMaxMs after which it is given up @throws ApiError, NoAnswer */
export async function call<Answer>(
  method: Method,
  path: string,
  body?: unknown,
  effect: Effect = effectOf(method),
  answerMaxMs: DurationMs = ANSWER_MAX_MS,
): Promise<Answer> {
  const response = await send(method, path, { body, effect, answerMaxMs });
  return whole(response.json() as Promise<Answer>, effect);
}

/** The member `name` of the answer. @throws ApiError, NoAnswer */
export async function callFor<Member>(name: string, ...asked: Parameters<typeof call>): Promise<Member> {
  return (await call<Record<string, Member>>(...asked))[name] as Member;
}

const effectOf = (method: Method): Effect => (method === 'GET' ? 'reads' : 'changes');

/** An answer that is cut off is none. @throws NoAnswer */
async function whole<Content>(content: Promise<Content>, effect: Effect): Promise<Content> {
  try {
    return await content;
  } catch (error) {
    throw new NoAnswer(error, effect);
  }
}

const NOT_FOUND = 404;

/** The object does not exist, or not any more. */
export const isNotFound = (error: unknown): boolean =>
  error instanceof ApiError && error.status === NOT_FOUND;

/** Items of one page of a list. */
const PAGE_ITEMS = 1_000;

interface Listed<Item> {
  items: Item[];
  /** How many there are. */
  total: number;
}

/** The first items of a list, as many as are wanted. @throws ApiError, NoAnswer */
export async function callForList<Item>(
  address: string,
  name: string,
  wanted = Infinity,
): Promise<Listed<Item>> {
  const items: Item[] = [];
  let total = Infinity;
  while (items.length < Math.min(wanted, total)) {
    const limit = Math.min(PAGE_ITEMS, wanted - items.length);
    const page = `${address}${address.includes('?') ? '&' : '?'}limit=${limit}&offset=${items.length}`;
    const answer = await call<Record<string, Item[]> & { total_count: number }>('GET', page);
    const found = answer[name] ?? [];
    items.push(...found);
    total = found.length === 0 ? items.length : answer.total_count;
  }
  return { items, total };
}

/**
 * Deletes something, or finds it deleted already. @param leave goes away from its page, before what is stored is read
 * again: there is nothing of it any more @throws ApiError, NoAnswer
 */
export async function remove(address: string, leave?: () => void): Promise<void> {
  try {
    await call('DELETE', address, undefined, 'removes');
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  leave?.();
  changeCount.value += 1;
}

/** The answer as text; nothing is changed by it. @throws ApiError, NoAnswer */
export async function callForText(
  method: Method,
  path: string,
  body: unknown,
  accept: string,
): Promise<string> {
  return whole((await send(method, path, { body, accept, effect: 'reads' })).text(), 'reads');
}

/**
 * Lines of JSON as they come; nothing is changed by it. Ends when the signal is aborted, which ends it at the gateway too.
 * @throws ApiError, NoAnswer
 */
export async function callForLines(
  path: string,
  body: unknown,
  onLine: (line: never) => void,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { body: content } = await send('POST', path, { body, effect: 'reads', end: signal });
    let rest = '';
    const reader = content?.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
      const lines = `${rest}${part.value}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) onLine(JSON.parse(line) as never);
    }
  } catch (error) {
    if (signal.aborted) return;
    throw error instanceof ApiError ? error : new NoAnswer(error);
  }
}

/** The answer as a file, with the name that the gateway gives it. @throws ApiError, NoAnswer */
export async function callForFile(
  method: Method,
  path: string,
  body: unknown,
): Promise<{ name: string; content: Blob }> {
  const effect = effectOf(method);
  const response = await send(method, path, { body, effect, end: null });
  const [, name = 'file'] =
    /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '') ?? [];
  return { name, content: await whole(response.blob(), effect) };
}

/** No answer takes longer: a connection may lose a request without being lost itself. */
const ANSWER_MAX_MS = 60_000;

/** Abort the requests of the last minute, and those that were sent before the connection was lost. */
const underWay = new Set<AbortController>();
const unanswered: AbortController[] = [];

/** The connection was lost: requests sent so far may never be answered. */
export function noteLineLost(): void {
  unanswered.push(...underWay);
  underWay.clear();
}

/** The connection is back: aborts requests from before it was lost, because browsers allow only a few at once. */
export function noteLineBack(): void {
  for (const one of unanswered.splice(0)) one.abort();
}

/** Aborts after the connection was lost, or after too long a time. */
function untilGivenUp(answerMaxMs: DurationMs): AbortSignal {
  const asking = new AbortController();
  underWay.add(asking);
  setTimeout(() => {
    underWay.delete(asking);
    asking.abort();
  }, answerMaxMs);
  return asking.signal;
}

interface Question {
  body: unknown;
  accept?: string;
  effect: Effect;
  answerMaxMs?: DurationMs;
  /** Aborts the request; null for a file, which may take any time. */
  end?: AbortSignal | null;
}

async function send(
  method: Method,
  path: string,
  {
    body,
    accept,
    effect,
    answerMaxMs = ANSWER_MAX_MS,
    end = body instanceof Blob ? undefined : untilGivenUp(answerMaxMs),
  }: Question,
): Promise<Response> {
  const headers: Record<string, string> = {
    // No other site's page can send it, so the cookie counts with it.
    'X-Requested-With': 'console',
    ...(accept !== undefined && { Accept: accept }),
  };
  let content: BodyInit | undefined;
  if (body instanceof Blob) content = body;
  else if (body !== undefined) {
    content = JSON.stringify(body);
    headers['Content-Type'] = 'application/json';
  }
  // A request that cannot even be made is a fault of the page, not a gateway that does not answer.
  const request = new Request(path, {
    method,
    headers,
    ...(content !== undefined && { body: content }),
    ...(end && { signal: end }),
  });
  let response: Response;
  const askedAtMs = Date.now();
  try {
    response = await fetch(request);
  } catch (error) {
    throw new NoAnswer(error, effect);
  }
  const isOfGateway = response.headers.has(OUR_HEADER);
  if (isOfGateway) noteGatewayTime(response.headers.get('date'), askedAtMs);
  // A page to log in at a proxy, for example, is no answer to what was asked.
  const isPage = response.headers.get('content-type')?.startsWith('text/html') === true;
  if (response.ok && (isOfGateway || !isPage)) {
    if (effect === 'changes') changeCount.value += 1;
    return response;
  }
  // The status counts for a body that is cut off.
  const refusal = refusalOf(response.status, await response.text().catch(String), isOfGateway);
  if (!isOfProxy(refusal) && (response.status === 401 || response.status === 403)) onRefused(response.status);
  throw refusal;
}

/** Every answer of the gateway has it. */
export const OUR_HEADER = 'x-request-id';
const PROXY_ANSWERED = 'proxy_answered';

/** Whether a proxy answered in place of the gateway. */
export const isOfProxy = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.problems.some(({ code }) => code === PROXY_ANSWERED);

/** The error of an answer without success; only its status where the body has none, as for a page that a proxy made. */
export function refusalOf(status: number, text: string, isOfGateway: boolean): ApiError {
  const fallback = isOfGateway
    ? { code: `status_${status}`, message: say.frame.answeredWith(status) }
    : { code: PROXY_ANSWERED, message: say.frame.proxyAnswered(status) };
  try {
    const { errors = [] } = JSON.parse(text) as { errors?: Problem[] };
    return new ApiError(status, errors.length > 0 ? errors.map(inWordsOfReader) : [fallback]);
  } catch (error) {
    return new ApiError(status, [{ ...fallback, details: { cause: String(error) } }]);
  }
}

const inWordsOfReader = (problem: Problem): Problem => ({
  ...problem,
  message: say.frame.refused(problem) ?? say.frame.said(problem.message),
});

/** A path with its parts encoded: path`/v3/devices/${id}`. */
export function path(texts: TemplateStringsArray, ...parts: readonly string[]): string {
  return texts.map((text, index) => text + encodeURIComponent(parts[index] ?? '')).join('');
}

/** The sentences of any error. */
export function sentencesOf(error: unknown): readonly string[] {
  if (error instanceof Faults) return error.sentences;
  if (error instanceof ApiError) return error.problems.map(({ message }) => message);
  return [error instanceof Error ? error.message : String(error)];
}
