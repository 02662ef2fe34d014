/**
 * InfluxDB line protocol over HTTP, as InfluxDB 1 to 3, VictoriaMetrics, QuestDB and Telegraf accept it. A request counts as
 * sent when the server has answered 2xx. Sending it again changes nothing, because series and time identify a sample.
 */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { EpochS } from '../../../lib/time.ts';
import { type HttpAnswer, HttpFailure, type HttpClient } from '../../../platform/http-client/index.ts';
import {
  asTargetFailure,
  type InfluxdbSettings,
  type LabelledRecord,
  type LabelledSamples,
  nothingSent,
  type Pace,
  type Sent,
  type Sink,
  TargetFailure,
} from '../model.ts';
import { type Line, LineBody } from './line-body.ts';
import { linesOf, recordLines, singleLines } from './line-protocol.ts';

const compress = promisify(gzip);
/** The fastest level, because the processor is scarcer than bandwidth. */
const GZIP_LEVEL = 1;
/** Names of precisions in the write call of InfluxDB 3. */
const WORDS = { s: 'second', ns: 'nanosecond' };
const TOO_LARGE = 413;
/** Answers of a proxy while the server behind it is down. */
const FROM_BETWEEN = new Set([502, 503, 504]);
/** Answers of a server to lines that it cannot take. */
const CONTENT_REFUSED = new Set([400, 422]);
/** Enough to understand the server's answer, short enough for a status. */
const SAID_LENGTH = 300;
/** Shorter secrets occur in texts by chance, and protect nothing. */
const HIDDEN_LENGTH_MIN = 4;

interface InfluxdbSinkOptions {
  settings: InfluxdbSettings;
  secret: string | undefined;
  http: HttpClient;
  /** Size of one request before compression; the server may force a lower one. */
  bodyMaxBytes: number;
  /** Unix seconds. */
  nowS: () => EpochS;
  /** Lets other work run between two pieces. */
  pause: () => Promise<void>;
}

/** One delivery. */
interface Work {
  url: URL;
  sent: Sent;
  pace: Pace;
  signal: AbortSignal;
  /** Lines hold several attributes of a device, or several fields of a record. */
  isShared?: boolean;
  /** The server has accepted a test sample. */
  isTested?: boolean;
}

/** The server refused a line with several attributes, perhaps because of one of them. */
class SharedLinesRefused extends Error {}

export class InfluxdbSink implements Sink {
  readonly #options: InfluxdbSinkOptions;
  readonly #url: URL;
  readonly #headers: Record<string, string>;
  readonly #body = new LineBody();
  #bodyMaxBytes: number;
  /** Series that were refused and therefore get lines of their own, by device and attribute. */
  readonly #apart = new Set<string>();

  constructor(options: InfluxdbSinkOptions) {
    this.#options = options;
    const { settings, secret, bodyMaxBytes } = options;
    this.#bodyMaxBytes = bodyMaxBytes;
    this.#url = new URL(settings.url);
    // Times are in seconds, whatever precision the given address names.
    if (this.#url.searchParams.get('precision') !== WORDS.s) this.#url.searchParams.set('precision', 's');
    this.#headers = {
      'content-type': 'text/plain; charset=utf-8',
      'user-agent': 'energy-gateway',
      ...(settings.isCompressed && { 'content-encoding': 'gzip' }),
      ...authorization(settings, secret),
    };
  }

  get reconnects(): number {
    return this.#options.http.reconnects;
  }

  async send(samples: readonly LabelledSamples[], pace: Pace, signal: AbortSignal): Promise<Sent> {
    const work: Work = { url: this.#url, sent: nothingSent(), pace, signal };
    const { measurement } = this.#options.settings;
    const isApart = (series: LabelledSamples): boolean => this.#apart.has(nameOf(series));
    const apart = samples.filter(isApart);
    const shared = apart.length > 0 ? samples.filter((series) => !isApart(series)) : samples;
    await this.#sendShared(linesOf(measurement, shared), singleLines(measurement, shared), work);
    for (const series of apart) await this.#sendAll(singleLines(measurement, [series]), work);
    return work.sent;
  }

  /** @param alone the same samples, each in a line of its own */
  async #sendShared(lines: Iterable<Line>, alone: Iterable<Line>, work: Work): Promise<void> {
    try {
      await this.#sendAll(lines, { ...work, isShared: true });
    } catch (error) {
      if (!(error instanceof SharedLinesRefused)) throw error;
      // Lines that the server accepted are sent again.
      work.sent.samples = 0;
      await this.#sendAll(alone, work);
    }
  }

  async sendRecords(records: readonly LabelledRecord[], pace: Pace, signal: AbortSignal): Promise<Sent> {
    const url = new URL(this.#url);
    url.searchParams.set('precision', url.searchParams.get('precision') === WORDS.s ? WORDS.ns : 'ns');
    const work: Work = { url, sent: nothingSent(), pace, signal };
    await this.#sendShared(recordLines(records), recordLines(records, { isApart: true }), work);
    return work.sent;
  }

  async test(signal: AbortSignal): Promise<void> {
    const answer = await this.#post(
      Buffer.from(`gateway_target_test,source=gateway ok=1 ${this.#options.nowS()}\n`),
      undefined,
      signal,
    );
    if (!isGood(answer)) throw this.#failure(answer);
  }

  close(): void {
    this.#options.http.close();
  }

  async #sendAll(lines: Iterable<Line>, work: Work): Promise<void> {
    this.#body.clear();
    for (const line of lines) {
      this.#body.add(line);
      if (this.#body.bytes >= this.#bodyMaxBytes) await this.#sendBody(work);
    }
    if (this.#body.lines > 0) await this.#sendBody(work);
  }

  async #sendBody(work: Work): Promise<void> {
    let isInUse = true;
    try {
      // A server may answer before it has read everything; a 2xx says that it has.
      isInUse = !(await this.#sendLines(0, this.#body.lines, work));
    } finally {
      this.#body.clear({ isInUse });
    }
    await this.#options.pause();
  }

  /** True when the server accepted all of them in one request. */
  async #sendLines(from: number, to: number, work: Work): Promise<boolean> {
    const { sent, signal } = work;
    const answer = await this.#post(this.#body.piece(from, to), work, signal);
    const owner = this.#body.ownerOf(from, to);
    const series = owner && 'attribute' in owner ? nameOf(owner) : undefined;
    if (isGood(answer)) {
      sent.samples += this.#body.samplesOf(from, to);
      if (series !== undefined) this.#apart.delete(series);
      return true;
    }
    const isTooLarge = answer.status === TOO_LARGE;
    if (!isTooLarge && !CONTENT_REFUSED.has(answer.status)) throw this.#failure(answer);
    const isOneLine = to - from === 1;
    if (work.isShared && (isOneLine || !isTooLarge)) throw new SharedLinesRefused();
    if (!isOneLine && (isTooLarge || !(await this.#isRefusedThroughout(from, to, work)))) {
      const middle = Math.ceil((from + to) / 2);
      const isFirstTaken = await this.#sendLines(from, middle, work);
      const isSecondTaken = await this.#sendLines(middle, to, work);
      // The samples were taken, except for single lines that are too large.
      if (isTooLarge && isFirstTaken && isSecondTaken) this.#noteTaken(from, middle, to);
      return false;
    }
    // One line, series or record is refused. It may be dropped only if the server accepts others.
    if (!work.isTested) await this.test(signal);
    work.isTested = true;
    if (series !== undefined) this.#apart.add(series);
    // A field of a record does not count as a sample.
    sent.refusedSamples += Math.max(1, this.#body.samplesOf(from, to));
    sent.refusal = `The target does not take a line: ${this.#saidBy(answer)}`;
    return false;
  }

  /** Lowers the size of requests after both halves of a too large one were accepted. */
  #noteTaken(from: number, middle: number, to: number): void {
    const halves = [this.#body.piece(from, middle), this.#body.piece(middle, to)];
    const takenBytes = Math.max(BODY_LEAST_BYTES, ...halves.map(({ length }) => length));
    this.#bodyMaxBytes = Math.min(this.#bodyMaxBytes, takenBytes);
  }

  /** Whether the server refuses all lines of one series, judged by its first, middle and last line. */
  async #isRefusedThroughout(from: number, to: number, work: Work): Promise<boolean> {
    if (to - from < PROBED_LINES || !this.#body.ownerOf(from, to)) return false;
    for (const line of [from, Math.floor((from + to) / 2), to - 1]) {
      const answer = await this.#post(this.#body.piece(line, line + 1), work, work.signal);
      if (isGood(answer)) return false;
      if (!CONTENT_REFUSED.has(answer.status)) throw this.#failure(answer);
    }
    return true;
  }

  async #post(text: Buffer, work: Work | undefined, signal: AbortSignal): Promise<HttpAnswer> {
    const { settings, http } = this.#options;
    const body = settings.isCompressed ? await compress(text, { level: GZIP_LEVEL }) : text;
    await work?.pace(body.length);
    const request = { method: 'POST', url: work?.url ?? this.#url, headers: this.#headers, body } as const;
    const answer = await asTargetFailure(HttpFailure, http.send(request, signal), true);
    if (work) work.sent.bytes += body.length;
    return answer;
  }

  #failure(answer: HttpAnswer): TargetFailure {
    const { status, retryAfterS } = answer;
    // The server behind the proxy may have restarted.
    const isConnectionLost = FROM_BETWEEN.has(status);
    const message = `${this.#url.host} ${meaningOf(status)}: ${this.#saidBy(answer)}`;
    return new TargetFailure(message, { retryAfterS, isConnectionLost });
  }

  /** Status and beginning of the answer, on one line. Secrets are hidden, because some servers repeat an unknown token. */
  #saidBy({ status, text }: HttpAnswer): string {
    const credentials = this.#headers['authorization']?.split(' ').at(-1);
    const hidden = [this.#options.secret, credentials].filter((one = '') => one.length >= HIDDEN_LENGTH_MIN);
    const words = hidden
      .reduce<string>((known, one = '') => known.replaceAll(one, '…'), text)
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .trim()
      .slice(0, SAID_LENGTH);
    return words === '' ? `HTTP ${status}.` : `HTTP ${status}, "${words}"`;
  }
}

const BODY_LEAST_BYTES = 4_096;
/** Fewer lines are not probed. */
const PROBED_LINES = 5;

const nameOf = ({ deviceId, attribute }: LabelledSamples): string => `${deviceId} ${attribute}`;
const REDIRECTED_FROM = 300;
const REDIRECTED_TO = 399;

const isGood = ({ status }: HttpAnswer): boolean => status >= 200 && status < REDIRECTED_FROM;

function meaningOf(status: number): string {
  if (status === 401 || status === 403) return 'does not accept the token or the login';
  if (status === 404) return 'does not know the address, the database or the bucket';
  if (status === 429) return 'asks for a pause';
  if (status >= REDIRECTED_FROM && status <= REDIRECTED_TO) return 'points to another address, give that one';
  return status >= 500 ? 'has a failure of its own' : 'does not take the request';
}

function authorization(
  { username, tokenScheme }: InfluxdbSettings,
  secret: string | undefined,
): Record<string, string> {
  if (username !== null)
    return { authorization: `Basic ${Buffer.from(`${username}:${secret ?? ''}`).toString('base64')}` };
  return secret === undefined ? {} : { authorization: `${tokenScheme} ${secret}` };
}
