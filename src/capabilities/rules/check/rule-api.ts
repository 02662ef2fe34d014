/**
 * What scripts of rules may call (docs/interface/lua-rules.md), by runtime. A function has the number of its arguments, the
 * least and the most, where a wrong number is a mistake for certain.
 */
import type { RuleScript } from '../model.ts';

type Runtime = RuleScript['runtimeVersion'];

/** Members by library; those without one under the empty name. `/1-2`: takes one or two arguments. */
const BOTH = {
  '': `RULE_ID TIMEZONE _G _VERSION assert collectgarbage coroutine debug enapter error getmetatable http inspect
    ipairs json load math next os package pairs pcall print rawequal rawget rawlen rawset require runtime_version select
    setmetatable storage string sun system table time tonumber tostring type utf8 xpcall`,
  enapter: 'device/1-1 devices/0-0 log/1-3',
  storage: 'namespaced shared',
  'storage.namespaced': 'read/1-1 write/2-2 remove/1-1',
  'storage.shared': 'read/1-1 write/2-2 remove/1-1',
  coroutine: 'close create isyieldable resume running status wrap yield',
  debug: 'traceback',
  http: 'client get post post_form request',
  json: 'decode encode',
  math: `abs acos asin atan ceil cos cosh deg exp floor fmod huge ldexp log log10 max maxinteger min mininteger modf pi
    pow rad random randomseed sin sinh sqrt tan tanh tointeger type ult`,
  os: 'clock date difftime time',
  package: 'loaded preload',
  string: 'byte char find format gmatch gsub len lower match pack packsize rep reverse sub unpack upper',
  sun: 'position/0-1 times/0-1',
  system: 'delay/1-1 uptime',
  table: 'concat insert move pack remove sort unpack',
  time: 'is_now_between/2-3',
  utf8: 'char charpattern codepoint codes len offset',
};

const ONLY: Readonly<Record<Runtime, Partial<Record<string, string>>>> = {
  V1: { storage: 'public', 'storage.public': 'read/1-1 write/2-2 remove/1-1' },
  V3: {
    '': 'output scheduler notify/1-3',
    enapter: 'main',
    storage: 'read/1-1 write/2-2 remove/1-1',
    'storage.namespaced': 'namespaced shared',
    output: 'request/2-4 release/2-3',
    scheduler: 'add/2-2 remove/1-1 add_cron/2-2 add_sun/3-3',
  },
};

/** Methods and attributes of devices and their telemetry. */
const OF_DEVICE = {
  both: `id slug name type telemetry online/0-0 implements/0-0 property/1-1 execute_command/1-3 execute/1-3`,
  telemetry: 'now/1-2 avg/2-2 min/2-2 max/2-2',
  V1: 'properties',
  V3: 'on_online_changed/1-1',
  telemetryV3: 'on_update/2-2',
};

export interface Member {
  /** Undefined: any number. */
  takes: { least: number; most: number } | undefined;
}

export type Members = ReadonlyMap<string, Member>;

export interface RuleApi {
  /** By library; globals under the empty name. */
  libraries: ReadonlyMap<string, Members>;
  device: Members;
  telemetry: Members;
}

function membersOf(...lists: (string | undefined)[]): Members {
  const words = lists.flatMap((list) => list?.split(/\s+/) ?? []).filter(Boolean);
  return new Map(
    words.map((word) => {
      const [name = '', counts] = word.split('/');
      const [least = 0, most = 0] = counts?.split('-').map(Number) ?? [];
      return [name, { takes: counts === undefined ? undefined : { least, most } }];
    }),
  );
}

function apiOf(runtime: Runtime): RuleApi {
  const names = new Set([...Object.keys(BOTH), ...Object.keys(ONLY[runtime])]);
  const { both, telemetry, telemetryV3 } = OF_DEVICE;
  return {
    libraries: new Map(
      [...names].map((name) => [
        name,
        membersOf((BOTH as Partial<Record<string, string>>)[name], ONLY[runtime][name]),
      ]),
    ),
    device: membersOf(both, OF_DEVICE[runtime]),
    telemetry: membersOf(telemetry, runtime === 'V3' ? telemetryV3 : undefined),
  };
}

/** Functions that scripts of each runtime may call. */
export const RULE_API: Readonly<Record<Runtime, RuleApi>> = { V1: apiOf('V1'), V3: apiOf('V3') };
