/**
 * The part of the runtime that is written in Lua. Each library is a chunk that gets two tables: `host`, the
 * functions of the host, and `kit`, what libraries share and scripts never see:
 *
 *   kit.wait(name)     a function that calls host function `name`, which waits, and returns its results
 *   kit.objects(what)  how objects that scripts get are made, and what each stands for
 *   kit.entries        what the host can start as a task, by name
 *   kit.inspect        readable text of a value
 *
 * A script may change any global and any metatable it can reach, so libraries keep what they use in locals.
 */
export interface Library {
  name: string;
  source: string;
  /**
   * Chunks that few scripts need, by name: read when the first of their functions is called. Each begins with the locals
   * `host`, `kit` and those of `KEPT`, and returns its functions by name. `kit.later(owner, part, ...)` puts functions of
   * these names into a table of the script, which look the same before and after.
   */
  parts?: Readonly<Record<string, string>>;
}

/** What parts may use, whatever the script has made of its globals meanwhile. */
export const KEPT: Readonly<Record<string, string>> = {
  error: 'error',
  getmetatable: 'getmetatable',
  ipairs: 'ipairs',
  next: 'next',
  pcall: 'pcall',
  rawget: 'rawget',
  rawlen: 'rawlen',
  setmetatable: 'setmetatable',
  tonumber: 'tonumber',
  tostring: 'tostring',
  type: 'type',
  concat: 'table.concat',
  sort: 'table.sort',
  byte: 'string.byte',
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

/** What stands in front of a part. */
export const PART_HEAD = `local host, kit, ${Object.keys(KEPT).join(', ')} = ...\n`;

/** Chunk name of all libraries; tracebacks leave it out. */
export const PRELUDE_NAME = '[host]';
