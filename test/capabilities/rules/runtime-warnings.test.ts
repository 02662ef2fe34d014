import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runtimeWarnings } from '../../../src/capabilities/rules/runtime-warnings.ts';

const namesOf = (code: string, runtimeVersion: 'V1' | 'V3'): string[] =>
  runtimeWarnings({ code, runtimeVersion, execIntervalMs: undefined }).map(
    ({ line, name }) => `${line} ${name}`,
  );

test('a script of V1 is told of everything that only V3 has, once each', () => {
  const code = `local d = enapter.device('a')
scheduler.add(1000, function() end)
scheduler . add_cron('* * * * *', function() end)
scheduler.add(2000, function() end)
d.telemetry.on_update('x', print)
d.on_online_changed(print)
storage.write('a', 1)
function enapter.main() end`;
  assert.deepEqual(namesOf(code, 'V1'), [
    '2 scheduler.add',
    '3 scheduler.add_cron',
    '5 telemetry.on_update',
    '6 on_online_changed',
    '7 storage.write',
    '8 enapter.main',
  ]);
  assert.deepEqual(namesOf(code, 'V3'), []);
});

test('a script of V3 is told of the store that only V1 has', () => {
  assert.deepEqual(namesOf("storage.public.write('a', 1)", 'V3'), ['1 storage.public']);
  assert.deepEqual(namesOf("storage.public.write('a', 1)\nstorage.shared.read('a')", 'V1'), []);
});

test('nothing in a comment or a text counts', () => {
  const code = `-- scheduler.add
--[[ scheduler.add
enapter.main ]]
local text = "scheduler.add" .. 'enapter.main' .. [[ storage.read ]]`;
  assert.deepEqual(namesOf(code, 'V1'), []);
});
