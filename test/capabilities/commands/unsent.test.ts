/** Commands whose request did not go out: what is known of it is said, and no more. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startBench } from './support.ts';

const EVERYTHING = { retention: 'ALL', descending: false, limit: 10, offset: 0 } as const;

describe('a command whose request did not go out', () => {
  test('a command whose request did not go out ends as ERROR when publishing failed', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: { ping: {} } });
    bench.publish = () => Promise.reject(new Error('broken'));
    const running = await bench.run(device, 'ping');
    await bench.clock.advance(100);
    const ended = await running.ended;
    assert.equal(ended.state, 'ERROR');
    assert.deepEqual(ended.response?.payload, {
      message: 'Sending the request failed; it is not known whether the device has received it.',
    });
    assert.deepEqual(bench.stored(running), ended);
  });

  test('a command reports that nothing was sent when that is known and the disk refuses to undo it', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: { ping: {} } });
    bench.publish = () => Promise.resolve(0);
    bench.state
      .prepare("CREATE TRIGGER full BEFORE DELETE ON execution BEGIN SELECT RAISE(ABORT, 'full'); END")
      .run();
    await assert.rejects(bench.run(device, 'ping'), { kind: 'unprocessable' });
    await bench.clock.advance(100);
    const [id = ''] = bench.commands.list(EVERYTHING, 'SYSTEM').ids;
    const { state, response } = bench.stored({ id }) ?? {};
    assert.equal(state, 'ERROR');
    assert.deepEqual(response?.payload, { message: 'The request was not sent to the device.' });
  });
});
