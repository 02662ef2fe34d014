/**
 * Modbus TCP to one address. Requests are sent without waiting for earlier answers and matched by transaction
 * id, so that a silent unit behind a gateway does not hold up its neighbours. The connection is made when
 * somebody asks, made again for ever after failures, with growing pauses, and closed when nobody asks:
 *
 *   idle ─request─▶ connecting ─open─▶ open ─60 s without requests─▶ idle
 *                       └─failed─▶ resting (requests fail at once) ─pause over, request─▶ connecting
 *   open ─closed by the device, nonsense, or silence─▶ idle
 */
import type { Duplex } from 'node:stream';
import type { Limits } from '../../../lib/limits.ts';
import type { Clock, Timer } from '../../../platform/clock/index.ts';
import type { ModbusClient } from './modbus-client.ts';
import { failed, type ModbusAnswer, type ModbusFault, reasonOf } from './modbus-fault.ts';
import { decodeAnswer, encodeRequest, type ModbusRequest, requestProblem } from './modbus-pdu.ts';
import { createTcpFrameReader, encodeTcpFrame, type TcpFrame } from './modbus-tcp-frame.ts';
import { createPipeline, type Waiting } from './pipeline.ts';
import { createRetryPause } from './retry-pause.ts';

/** Opens a connection; rejects when that fails or the signal is aborted. */
export type Dial = (signal: AbortSignal) => Promise<Duplex>;

export interface ModbusTcpOptions {
  dial: Dial;
  clock: Clock;
  limits: Limits['field'];
  /** Nobody has asked for `idleMs`; the connection is closed. */
  onIdle?: () => void;
}

interface Request extends Waiting {
  request: ModbusRequest;
  finish: (answer: ModbusAnswer) => void;
}

export function createModbusTcp({ dial, clock, limits, onIdle }: ModbusTcpOptions): ModbusClient {
  const pipeline = createPipeline<Request>(limits);
  const pause = createRetryPause(limits);
  let connection: Connection | undefined;
  let connecting: AbortController | undefined;
  let lastFailure = '';
  /** Unanswered requests since the last byte. */
  let silentRequests = 0;
  let idleTimer: Timer | undefined;

  function connect(): void {
    if (connection !== undefined || connecting !== undefined) return;
    const attempt = new AbortController();
    connecting = attempt;
    const limit = clock.setTimer(limits.connectMs, () => attempt.abort(new Error('no answer')));
    void openWithin(dial, attempt.signal).then(
      (stream) => {
        limit.cancel();
        if (connecting !== attempt) return void stream.destroy();
        connecting = undefined;
        connection = attach(stream);
        send();
      },
      (error: unknown) => {
        limit.cancel();
        if (connecting !== attempt) return;
        connecting = undefined;
        pause.failed(clock.monotonicMs());
        failAll({ kind: 'connection_failed', reason: (lastFailure = reasonOf(error)) });
      },
    );
  }

  function attach(stream: Duplex): Connection {
    return createConnection(stream, {
      onFrame: (frame) => {
        pause.succeeded();
        settle(frame);
        send();
      },
      onBytes: () => (silentRequests = 0),
      onEnd: (fault, hadFrames) => {
        connection = undefined;
        if (fault.kind === 'connection_failed') lastFailure = fault.reason;
        if (hadFrames) return reconnect(fault);
        // A device that accepts and hangs up at once is not asked faster than one that refuses.
        pause.failed(clock.monotonicMs());
        failAll(fault);
      },
    });
  }

  function send(): void {
    if (connection === undefined) return;
    for (const entry of pipeline.takeReady()) {
      const { transactionId = 0, unitId, request } = entry;
      connection.write({ transactionId, unitId, pdu: encodeRequest(request) });
    }
  }

  function settle(frame: TcpFrame): void {
    // Nobody waits for an answer that comes after its time limit.
    const entry = pipeline.answered(frame.transactionId);
    if (entry === undefined) return;
    if (frame.unitId === entry.unitId) entry.finish(decodeAnswer(entry.request, frame.pdu));
    else entry.finish(failed({ kind: 'invalid_response', reason: `unit ${frame.unitId} answers` }));
  }

  /** What was sent is lost with its connection and not sent again; what still waits gets a new one. */
  function reconnect(fault: ModbusFault): void {
    silentRequests = 0;
    for (const entry of pipeline.takeSent()) entry.finish(failed(fault));
    if (pipeline.isWaiting) connect();
  }

  function failAll(fault: ModbusFault): void {
    silentRequests = 0;
    for (const entry of pipeline.clear()) entry.finish(failed(fault));
  }

  function expire(entry: Request): void {
    const wasSent = pipeline.expired(entry);
    entry.finish(failed({ kind: 'timeout' }));
    if (!wasSent) return;
    silentRequests += 1;
    if (silentRequests >= limits.silentRequests && pipeline.hopesForNothing) {
      // Perhaps half-open: the other end was restarted and does not know this connection any more.
      connection?.drop();
      connection = undefined;
      reconnect({ kind: 'connection_failed', reason: 'the device does not answer' });
    } else send();
  }

  function restartIdleTimer(): void {
    idleTimer?.cancel();
    idleTimer = clock.setTimer(limits.idleMs, () => {
      idleTimer = undefined;
      connection?.drop();
      connection = undefined;
      onIdle?.();
    });
  }

  return {
    request: (unitId, request, timeoutMs = limits.requestMs) => {
      const problem = requestProblem(unitId, request);
      if (problem !== undefined)
        return Promise.resolve(failed({ kind: 'invalid_argument', reason: problem }));
      if (connection === undefined && pause.isResting(clock.monotonicMs()))
        return Promise.resolve(failed({ kind: 'connection_failed', reason: lastFailure }));
      return new Promise((resolve) => {
        const entry: Request = {
          unitId,
          request,
          finish: (answer) => {
            timer.cancel();
            resolve(answer);
          },
        };
        const timer = clock.setTimer(Math.min(timeoutMs, limits.requestMsMax), () => expire(entry));
        if (!pipeline.add(entry)) return entry.finish(failed({ kind: 'overloaded' }));
        restartIdleTimer();
        connect();
        send();
      });
    },
    close: () => {
      idleTimer?.cancel();
      connecting?.abort(new Error('closed'));
      connecting = undefined;
      connection?.drop();
      connection = undefined;
      pause.succeeded();
      failAll({ kind: 'connection_failed', reason: 'closed' });
    },
  };
}

/** Does not wait for a dial that ignores its signal; what it opens too late is closed. */
function openWithin(dial: Dial, signal: AbortSignal): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', giveUp, { once: true });
    dial(signal).then((stream) => {
      if (signal.aborted) stream.destroy();
      signal.removeEventListener('abort', giveUp);
      resolve(stream);
    }, reject);
  });
}

interface Connection {
  write(frame: TcpFrame): void;
  /** Ends it without telling `onEnd`. */
  drop(): void;
}

function createConnection(
  stream: Duplex,
  on: {
    onFrame: (frame: TcpFrame) => void;
    onBytes: () => void;
    onEnd: (fault: ModbusFault, hadFrames: boolean) => void;
  },
): Connection {
  const reader = createTcpFrameReader();
  let isOver = false;
  let hadFrames = false;
  const end = (fault: ModbusFault): void => {
    if (isOver) return;
    isOver = true;
    stream.destroy();
    on.onEnd(fault, hadFrames);
  };
  stream.on('data', (chunk: Buffer) => {
    if (isOver) return;
    on.onBytes();
    const frames = reader.read(chunk);
    if (frames === undefined) return end({ kind: 'invalid_response', reason: 'what arrived is not Modbus' });
    for (const frame of frames) {
      hadFrames = true;
      if (!isOver) on.onFrame(frame);
    }
  });
  stream.on('error', (error) => end({ kind: 'connection_failed', reason: reasonOf(error) }));
  const hungUp: ModbusFault = { kind: 'connection_failed', reason: 'closed by the device' };
  stream.on('end', () => end(hungUp));
  stream.on('close', () => end(hungUp));
  return {
    // The window of the pipeline bounds what a peer that does not read can make us hold.
    write: (frame) => void stream.write(encodeTcpFrame(frame)),
    drop: () => {
      isOver = true;
      stream.destroy();
    },
  };
}
