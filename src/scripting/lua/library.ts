/**
 * The part of the runtime that is written in Lua. Each library is a chunk that begins with the locals `host`, the
 * functions of the host, `kit`, what libraries share and scripts never see, and those of `KEPT`:
 *
 *   kit.library(name, library)  makes a library known to scripts, as a global and for `require`
 *   kit.check(value, type, …)   raises the error of a bad argument when the value has another type
 *   kit.wait(name)              a function that calls host function `name`, which waits, and returns its results
 *   kit.objects(what)           how objects that scripts get are made, and what each stands for
 *   kit.entries                 what the host can start as a task, by name
 */
export interface Library {
  name: string;
  source: string;
  /**
   * Chunks that few scripts need, by name: read when the first of their functions is called. Each returns its functions by
   * name. `kit.later(owner, part, ...)` puts functions of these names into a table of the script, which look the same
   * before and after.
   */
  parts?: Readonly<Record<string, string>>;
}

/** What libraries and parts may use: a script may change any global and any metatable it can reach. */
export const KEPT: Readonly<Record<string, string>> = {
  error: 'error',
  getmetatable: 'getmetatable',
  ipairs: 'ipairs',
  next: 'next',
  pairs: 'pairs',
  pcall: 'pcall',
  rawequal: 'rawequal',
  rawget: 'rawget',
  rawlen: 'rawlen',
  setmetatable: 'setmetatable',
  tonumber: 'tonumber',
  tostring: 'tostring',
  type: 'type',
  concat: 'table.concat',
  sort: 'table.sort',
  byte: 'string.byte',
  char: 'string.char',
  find: 'string.find',
  format: 'string.format',
  gsub: 'string.gsub',
  lower: 'string.lower',
  match: 'string.match',
  rep: 'string.rep',
  sub: 'string.sub',
  exp: 'math.exp',
  floor: 'math.floor',
  log: 'math.log',
  math_type: 'math.type',
  tointeger: 'math.tointeger',
  load: 'load',
  create: 'coroutine.create',
  resume: 'coroutine.resume',
  yield: 'coroutine.yield',
  status: 'coroutine.status',
  running: 'coroutine.running',
  isyieldable: 'coroutine.isyieldable',
  close: 'coroutine.close',
};

/** What stands in front of every chunk but the base library. */
export const CHUNK_HEAD = `local host, kit, ${Object.keys(KEPT).join(', ')} = ...\n`;

/** Chunk name of all libraries; tracebacks leave it out. */
export const PRELUDE_NAME = '[host]';
