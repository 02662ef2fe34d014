import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Emitter } from '../../src/lib/emitter.ts';

interface Events {
  opened: { id: number };
  closed: { id: number };
}

function recordingEmitter(): { emitter: Emitter<Events>; failures: unknown[]; seen: string[] } {
  const failures: unknown[] = [];
  const emitter = new Emitter<Events>({
    error: (_message, { owner, event, error }) => void failures.push([owner, event, error]),
  });
  return { emitter, failures, seen: [] };
}

describe('an emitter', () => {
  test('an emitter reports a listener that throws with its owner and still runs the others', () => {
    const { emitter, failures, seen } = recordingEmitter();
    const fault = new Error('broken');
    emitter.on('opened', 'telemetry', () => {
      throw fault;
    });
    emitter.on('opened', 'rules', ({ id }) => seen.push(`rules ${id}`));
    emitter.emit('opened', { id: 1 });
    assert.deepEqual(seen, ['rules 1']);
    assert.deepEqual(failures, [['telemetry', 'opened', fault]]);
  });

  test('an emitter skips listeners that have unsubscribed, even during the same event', () => {
    const { emitter, seen } = recordingEmitter();
    emitter.on('opened', 'a', () => {
      seen.push('a');
      endB();
    });
    const endB = emitter.on('opened', 'b', () => seen.push('b'));
    emitter.emit('opened', { id: 1 });
    assert.deepEqual(seen, ['a']);
  });

  test('an emitter does not give the present event to a listener that subscribes during it', () => {
    const { emitter, seen } = recordingEmitter();
    let end = (): void => undefined;
    const again = (): void => {
      seen.push('heard');
      end();
      end = emitter.on('opened', 'again', again);
    };
    end = emitter.on('opened', 'again', again);
    emitter.emit('opened', { id: 1 });
    emitter.emit('opened', { id: 2 });
    assert.deepEqual(seen, ['heard', 'heard']);
  });

  test('an emitter runs listeners in the order they subscribed, and only those of the event', () => {
    const { emitter, seen } = recordingEmitter();
    emitter.on('opened', 'a', ({ id }) => seen.push(`a ${id}`));
    emitter.on('closed', 'b', ({ id }) => seen.push(`b ${id}`));
    emitter.on('opened', 'c', ({ id }) => seen.push(`c ${id}`));
    emitter.emit('opened', { id: 3 });
    assert.deepEqual(seen, ['a 3', 'c 3']);
  });

  test('an emitter knows whether it has listeners', () => {
    const { emitter } = recordingEmitter();
    assert.equal(emitter.has('opened'), false);
    const end = emitter.on('opened', 'a', () => undefined);
    assert.equal(emitter.has('opened'), true);
    assert.equal(emitter.has('closed'), false);
    end();
    assert.equal(emitter.has('opened'), false);
  });
});
